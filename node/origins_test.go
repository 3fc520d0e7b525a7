//go:build slow

package node

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/alert"
	"holdfast/node/config"
)

// The access port shows no captures under the host name of the archivists' pages. Where the settings have one name for
// both, it does, and an alert says so.
func TestCapturesLeaveTheNameToThePages(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")[:2]
	cfgs[1].PagesURL = config.Origin{Scheme: "http", Host: "localhost", Port: 7481}
	cfgs[1].AccessURL = config.Origin{Scheme: "http", Host: "localhost", Port: 7482}
	for i, n := range startNodes(t, cfgs) {
		_, port, err := net.SplitHostPort(n.cfg.Listen.Access)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it knows the access rules", func() error { _, err := n.policy.InForce(); return err })
		status, at, _ := ask(t, n.cfg.Listen.Access, "localhost:"+port, "/web/2026/http://x.test/?a=b")
		alerts := n.state.Status(t.Context()).Alerts
		of := slices.IndexFunc(alerts, func(a alert.Alert) bool { return a.Kind == alert.SharedHost })
		if i == 0 {
			if status != http.StatusTemporaryRedirect || at != "http://127.0.0.1:"+port+"/web/2026/http://x.test/?a=b" || of >= 0 {
				t.Errorf("under localhost: %d to %q, %v", status, at, alert.Texts(alerts))
			}
		} else if status != http.StatusNotFound || at != "" || of < 0 || !strings.Contains(alerts[of].Text(), "(http://localhost:7482) have one host name, localhost") {
			t.Errorf("one name for both: %d to %q, %v", status, at, alert.Texts(alerts))
		}
		for _, host := range []string{n.cfg.Listen.Access, "archive.test"} {
			if status, _, text := ask(t, n.cfg.Listen.Access, host, "/"); status != http.StatusOK || !strings.Contains(text, "<html") {
				t.Errorf("under %s: %d %s", host, status, text)
			}
		}
	}
}

// ask asks the node that listens at the address for a path under another Host, and follows no redirect.
func ask(t *testing.T, address, host, path string) (status int, location, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Location"), string(body)
}
