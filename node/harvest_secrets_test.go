//go:build slow

package node

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPasswordsOfAHarvestAreNowhere gives a template a secret header, and a configuration a login. A harvest of it gets
// past the login, and after it no file of the node and no answer of its API has either of them.
func TestPasswordsOfAHarvestAreNowhere(t *testing.T) {
	t.Parallel()
	var entered, bore atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == marker {
			bore.Add(1)
		}
		if _, password, there := r.BasicAuth(); !there || password != marker {
			w.Header().Set("WWW-Authenticate", `Basic realm="within"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		entered.Add(1)
		_, _ = io.WriteString(w, "<html>members only</html>")
	}))
	t.Cleanup(site.Close)
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	var answers []string
	ask := func(method, path string, body any) {
		t.Helper()
		eventually(t, method+" "+path, func() error {
			code, text := n.ask(t, method, "/api/v1"+path, body)
			answers = append(answers, text)
			if code == http.StatusServiceUnavailable {
				return errors.New(text)
			}
			if code >= http.StatusBadRequest {
				t.Fatalf("%s %s: %d %s", method, path, code, text)
			}
			return nil
		})
	}
	settings := func(text string) json.RawMessage { return json.RawMessage(text) }
	ask(http.MethodPost, "/templates", map[string]any{"name": "fast", "settings": settings(`{"operator_contact":
		"web@example.org","allow_private":true,"min_delay":"0s","delay_factor":0,"robots":"ignore","headers":["X-Api-Key: ` +
		marker + `"]}`)})
	ask(http.MethodPost, "/domains", map[string]any{"name": "a.org"})
	ask(http.MethodPatch, "/domains/a.org/configurations/quick", map[string]any{"template": "fast", "seeds": []string{"defaultseeds"},
		"settings": settings(`{"credentials":[{"domain":"` + "127.0.0.1" +
			`","kind":"basic","realm":"within","user":"anna","password":"` + marker + `"}]}`)})
	n.putText(t, "/api/v1/domains/a.org/seeds/defaultseeds", site.URL+"/\n")
	ask(http.MethodPost, "/harvests", map[string]any{"name": "members", "kind": "selective", "schedule": "daily"})
	ask(http.MethodPost, "/harvests/1/configurations/add", map[string]any{
		"configurations": []map[string]string{{"domain": "a.org", "configuration": "quick"}}})
	ask(http.MethodPost, "/harvests/1/activate", map[string]any{})
	harvestDone(t, n, 1)
	if entered.Load() == 0 || bore.Load() == 0 {
		t.Fatalf("the login was used %d times, the header %d times", entered.Load(), bore.Load())
	}
	for _, path := range []string{"/templates", "/templates/fast", "/templates/fast/versions", "/domains", "/domains/a.org",
		"/domains/a.org/history", "/domains/a.org/seeds/defaultseeds", "/harvests", "/harvests/1", "/harvests/1/runs",
		"/harvests/1/preview", "/harvests/1/configurations", "/harvests/1/runs/1/jobs", "/jobs", "/jobs/1",
		"/jobs/1/statistics", "/jobs/1/log", "/status", "/trail", "/files", "/config"} {
		ask(http.MethodGet, path, nil)
	}
	for _, text := range answers {
		if strings.Contains(text, marker) {
			t.Errorf("an answer shows it: %s", text)
		}
	}
	if found := showing(t, n.cfg.Data); len(found) > 0 {
		t.Errorf("these show it: %q", found)
	}
	if found := zippedShowing(t, n.cfg.Data); len(found) > 0 {
		t.Errorf("these show it when they are decompressed: %q", found)
	}
}

// zippedShowing returns the compressed files below a folder whose text has the password, or what a browser sends for it.
func zippedShowing(t *testing.T, dir string) (found []string) {
	t.Helper()
	sent := []byte("YW5uYTpx") // anna:q, in base64
	zipped := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return ignoreGone(err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(reader)
		if bytes.Contains(text, []byte(marker)) || bytes.Contains(text, sent) {
			found = append(found, path)
		}
		zipped++
		return err
	})
	if err != nil || zipped == 0 {
		t.Fatalf("%d compressed files, %v", zipped, err)
	}
	return found
}

// putText gives a node's API a list, as its local operator.
func (r running) putText(t *testing.T, path, text string) {
	t.Helper()
	token, err := os.ReadFile(r.cfg.TokenPath())
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPut, path, strings.NewReader(text))
	request.Header.Set("Content-Type", "text/plain")
	if code, answer := r.send(t, request, strings.TrimSpace(string(token))); code != http.StatusOK {
		t.Fatalf("PUT %s: %d %s", path, code, answer)
	}
}
