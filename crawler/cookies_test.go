package crawler

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A session's cookie outlives a crawl that is killed after the page that gave it is finished for good: nothing of that
// page is read again. The server had given another cookie just before, as many do with every answer.
func TestCookiesSurviveKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSite(t)
	logged := func(path string) func() bool {
		return func() bool {
			log, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
			return err == nil && strings.Contains(string(log), " "+s.URL+path+" ")
		}
	}
	waits := func(r *http.Request, holds func() bool) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for !holds() && r.Context().Err() == nil {
			<-tick.C
		}
	}
	var refused atomic.Int64
	var reach sync.Once
	reached := make(chan struct{})
	s.mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "visitor", Value: "1", Path: "/"})
	})
	s.mux.HandleFunc("/front", func(w http.ResponseWriter, r *http.Request) {
		waits(r, logged("/robots.txt"))
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/login>log in</a>")
	})
	s.mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		waits(r, logged("/front")) // the commit that had the first cookie is over
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "letmein", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/in/0>in</a>")
	})
	s.mux.HandleFunc("/in/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if c, none := r.Cookie("session"); none != nil || c.Value != "letmein" || err != nil {
			refused.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		switch n {
		case 0:
			waits(r, logged("/login"))
		case 1: // the commit of /login is over once there is another in the log
			waits(r, logged("/in/0"))
			reach.Do(func() {
				close(reached)
				<-r.Context().Done()
			})
		}
		w.Header().Set("Content-Type", "text/html")
		if n < 5 {
			fmt.Fprintf(w, "<a href=/in/%d>further in</a>", n+1)
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envCrawlDir+"="+dir, envCrawlSeed+"="+s.URL+"/front", envCrawlBytes+"="+strconv.Itoa(killBytes))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Errorf("the crawl did not get in: %v", s.requests())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	sum := run(t, dir, killJob(s.URL+"/front"))
	if n := s.counts(); sum.Reason != "completed" || n["/login"] != 1 || n["/in/5"] != 1 || refused.Load() != 0 {
		t.Errorf("%+v, requests %v, %d refused; the first crawl said %s", sum, n, refused.Load(), said.String())
	}
}
