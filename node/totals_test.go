//go:build slow

package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

// sender is a web server that counts what it sends: answers, and their bytes with their heads.
type sender struct {
	mu             sync.Mutex
	documents      int64 // without robots.txt and logins
	bytes          int64 // of these
	robots, logins int
}

func (s *sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, kind, more, body := "200 OK", "text/html", "", "<a href=/missing>x</a><img src=/a.png><img src=/b.png>"
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := true
	switch r.URL.Path {
	case "/":
	case "/robots.txt":
		kind, body, counts = "text/plain", "User-agent: *\nDisallow: /private\n", false
		s.robots++
	case "/login":
		more, body, counts = "Set-Cookie: session=in\r\n", "welcome", false
		s.logins++
	case "/a.png", "/b.png":
		kind, body = "image/png", strings.Repeat("the same picture", 500)
	default:
		status = "404 Not Found"
	}
	answer := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, kind, more,
		len(body), body)
	c, out, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = c.Close() }()
	if counts {
		s.documents, s.bytes = s.documents+1, s.bytes+int64(len(answer))
	}
	_, _ = out.WriteString(answer)
	_ = out.Flush()
}

// TestTheTotalsOfAJobByHandAreItsDocuments compares a job's totals with what the server sent: every answer counts once, of any status,
// revisits too, and neither names of hosts, nor robots.txt, nor logins do.
func TestTheTotalsOfAJobByHandAreItsDocuments(t *testing.T) {
	t.Parallel()
	sent := &sender{}
	server := httptest.NewServer(sent)
	t.Cleanup(server.Close)
	site := strings.Replace(server.URL, "127.0.0.1", "a.localhost", 1) // a name, which is looked up
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	settings := harvest.DefaultSettings()
	settings.AllowPrivate, settings.MinDelay, settings.DelayFactor, settings.Workers = true, 0, 0, 1
	settings.Deduplicate = "digest"
	settings.Credentials = []harvest.Credential{{Domain: "a.localhost", Kind: "form", URL: site + "/login",
		Fields: map[string]string{"password": "p"}}}
	var job wire.Job
	eventually(t, "create a job", func() error {
		request := wire.JobRequest{Name: "j", Seeds: []string{site + "/"}, Settings: &wire.Settings{Settings: settings}}
		code, text := n.ask(t, http.MethodPost, "/api/v1/jobs", request)
		if code != http.StatusCreated {
			return fmt.Errorf("%d %s", code, text)
		}
		return json.Unmarshal([]byte(text), &job)
	})
	eventually(t, "the job is done", func() error {
		switch j := n.job(t, job.ID); j.State {
		case catalog.JobFailed:
			t.Fatalf("the job failed: %s", j.Why())
		case catalog.JobDone:
			return nil
		}
		return errors.New("not yet")
	})
	sent.mu.Lock()
	defer sent.mu.Unlock()
	if sent.robots == 0 || sent.logins == 0 || sent.documents != 4 {
		t.Errorf("the server sent %d documents, %d robots.txt, %d answers to a login", sent.documents, sent.robots, sent.logins)
	}
	if text := textsOf(t, n, fmt.Sprint(job.ID, "-0-")); !bytes.Contains(text, []byte("WARC-Type: revisit")) ||
		!bytes.Contains(text, []byte("dns:a.localhost")) {
		t.Error("no name of a host, or no revisit, was recorded")
	}
	if got := n.job(t, job.ID).Stats; got.Objects != sent.documents || got.Bytes != sent.bytes {
		t.Errorf("the job has %d objects of %d bytes; the server sent %d of %d", got.Objects, got.Bytes, sent.documents, sent.bytes)
	}
}
