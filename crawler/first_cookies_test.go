package crawler

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/harvest"
)

// A crawl begins with the cookies of a cookies.txt, sends them where they belong, and tells no document of them.
func TestFirstCookies(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("Cookie")
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	job := newJob(s.URL + "/reading/room")
	job.Settings.FirstCookies = "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/reading\tFALSE\t0\tcard\thunter2\nother.test\tFALSE\t/\tFALSE\t0\tcard\tother\n"
	dir := t.TempDir()
	run(t, dir, job)
	close(asked)
	got := []string{}
	for a := range asked {
		got = append(got, a)
	}
	if strings.Join(got, "; ") != "/robots.txt ; /reading/room card=hunter2" {
		t.Errorf("%q", got)
	}
	written, err := os.ReadFile(filepath.Join(dir, "settings", "job.json"))
	if err != nil || strings.Contains(string(written), "hunter2") || !strings.Contains(string(written), harvest.Redaction) {
		t.Errorf("%v %s", err, written)
	}
	job.Settings.FirstCookies = "127.0.0.1\tFALSE\t/\n"
	if err := Check(job); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), "first_cookies") || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{Dir: t.TempDir(), Job: job}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// A proxy at no port is refused before a crawl begins.
func TestProxyAstray(t *testing.T) {
	t.Parallel()
	job := newJob("http://127.0.0.1/")
	job.Settings.Proxies = []harvest.Route{{Hosts: []string{"*"}, Via: "http://127.0.0.1:65536"}}
	if err := Check(job); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("%v", err)
	}
}
