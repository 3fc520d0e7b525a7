//go:build slow

package node

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/notice"
)

// hookServer is a webhook on loopback.
type hookServer struct {
	*httptest.Server
	mu  sync.Mutex
	got []http.Header
}

func newHookServer(t *testing.T) *hookServer {
	t.Helper()
	h := &hookServer{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, r.Header.Clone())
	}))
	t.Cleanup(h.Close)
	return h
}

// mailBox is a mail server on loopback that accepts everything.
func mailBox(t *testing.T) (address string, mails func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				r := bufio.NewReader(c)
				answer := "220 test"
				for in := false; ; {
					if answer != "" {
						_, _ = fmt.Fprintf(c, "%s\r\n", answer)
					}
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					mu.Lock()
					switch {
					case in && line == ".\r\n":
						in, answer = false, "250 kept"
					case in:
						all[len(all)-1], answer = all[len(all)-1]+line, ""
					case strings.HasPrefix(line, "DATA"):
						in, answer, all = true, "354 go on", append(all, "")
					case strings.HasPrefix(line, "QUIT"):
						answer = "221 bye"
					default:
						answer = "250 ok"
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// Of three nodes, one has a mail server: it sends the mails. Webhooks are sent by whichever node claims them, stay
// outside unless an operator lets them in, and no byte of their URL and secret lies in clear on a disk or is in an answer.
func TestNoticesOfThreeNodes(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	server, mails := mailBox(t)
	cfgs[1].Notices = config.Notices{SMTP: server, Security: "none", From: "holdfast@example.org"}
	nodes := startNodes(t, cfgs[:2])
	hook := newHookServer(t)
	secret := notice.Secret([]byte(marker + marker))
	var answers []string
	asks := func(method, path string, body any, want int, into any) {
		t.Helper()
		eventually(t, method+" "+path, func() error {
			code, text := nodes[0].ask(t, method, "/api/v1"+path, body)
			if code == http.StatusServiceUnavailable {
				return errors.New(text)
			}
			if code != want {
				t.Fatalf("%s %s: %d %s", method, path, code, text)
			}
			if method != http.MethodPost || strings.HasSuffix(path, "/test") { // the answer that shows a secret once is not kept
				answers = append(answers, text)
			}
			if into == nil {
				return nil
			}
			return json.Unmarshal([]byte(text), into)
		})
	}
	asks(http.MethodPost, "/notice-addresses", wire.NoticeAddressRequest{Name: "mail", Way: "mail", To: "anna@example.org", Language: "da"}, 201, nil)
	var made wire.NoticeAddress
	asks(http.MethodPost, "/notice-addresses", wire.NoticeAddressRequest{Name: "hook", Way: "webhook", To: hook.URL + "/" + marker, Secret: secret}, 201, &made)
	if made.Secret != secret || made.To != hook.URL {
		t.Errorf("%+v", made)
	}
	var test wire.NoticeTest
	asks(http.MethodPost, "/notice-addresses/mail/test", nil, 200, &test)
	if got := mails(); !test.Accepted || test.Node != nodes[1].cfg.Name || len(got) != 1 || !strings.Contains(got[0], "\r\nMessage-ID: <"+test.ID+"@") {
		t.Errorf("%+v, %q", test, got)
	}
	asks(http.MethodPost, "/notice-addresses/hook/test", nil, 200, &test)
	if test.Accepted || !strings.Contains(test.Reason, "not public") || len(hook.got) != 0 {
		t.Errorf("%+v, %d requests", test, len(hook.got))
	}
	inside := true
	asks(http.MethodPatch, "/notice-addresses/hook", wire.NoticeAddressChange{Inside: &inside}, 200, nil)
	asks(http.MethodPost, "/notice-addresses/hook/test", nil, 200, &test)
	if !test.Accepted || len(hook.got) != 1 {
		t.Fatalf("%+v, %d requests", test, len(hook.got))
	}
	if h := hook.got[0]; h.Get("webhook-id") != test.ID || !strings.HasPrefix(h.Get("webhook-signature"), "v1,") {
		t.Errorf("%v", h)
	}
	for _, path := range []string{"/notice-addresses", "/notice-addresses/hook", "/trail", "/status", "/alerts"} {
		asks(http.MethodGet, path, nil, 200, nil)
	}
	if err := joinBy(t, nodes[0], cfgs[2]); err != nil { // one that joins later gets the secret, too
		t.Fatal(err)
	}
	nodes = append(nodes, start(t, cfgs[2]))
	reseal(t, nodes)
	var backup bytes.Buffer
	nodes[0].writtenState(t, &backup)
	if all := backup.String() + strings.Join(answers, "\n"); strings.Contains(all, marker) || strings.Contains(all, secret[6:]) {
		t.Error("the URL or the secret is in the backup or in an answer")
	}
	hidden := [][]byte{[]byte(marker), []byte(secret[6:]), []byte(base64.StdEncoding.EncodeToString([]byte(marker)))}
	for _, n := range nodes {
		err := filepath.WalkDir(n.cfg.Data, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return ignoreGone(err)
			}
			text, err := os.ReadFile(path)
			for _, h := range hidden {
				if bytes.Contains(text, h) {
					t.Errorf("%s shows a secret in %s", n.cfg.Name, path)
				}
			}
			return ignoreGone(err)
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// reseal waits until every node can open the webhook.
func reseal(t *testing.T, nodes []running) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, n.cfg.Name+" can open the webhook", func() error {
			return n.raft.View(func(v catalog.View) error {
				a, err := catalog.NoticesIn(v).Address("hook")
				if err != nil {
					return err
				}
				_, err = n.hooks.Secrets.Open(a.Sealed)
				return err
			})
		})
	}
}
