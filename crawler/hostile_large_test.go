//go:build slow && !race

package crawler

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
)

// A gzip bomb is stored as sent, unpacked to a bound, and the links at its start are found.
func TestGzipBomb(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.WriteString(z, "<a href=/found>")
	spaces := strings.Repeat(" ", 1<<20)
	for range 100 {
		io.WriteString(z, spaces)
	}
	z.Close()
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	})
	s.html("/found", "here")
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	if captures(t, dir)[s.URL+"/found"] != 1 {
		t.Error("the link in the bomb was not followed")
	}
	for _, l := range logLines(t, dir) {
		if l[3] == s.URL+"/" && (len(l[2]) > 6 || l[1] != "200") {
			t.Errorf("stored %s bytes, status %s", l[2], l[1])
		}
	}
}

// One crawl of all that a server can do to a crawler: it ends, its memory stays bounded, and the log has each with its
// reason.
func TestSiege(t *testing.T) {
	if !alone(t) {
		return
	}
	debug.SetGCPercent(100) // what is in use counts, not what a setting of the tests lets lie about
	var self atomic.Int64
	all := hostiles(t, &self)
	job := newJob()
	for _, h := range all {
		job.Seeds = append(job.Seeds, h.url)
	}
	job.Settings.OperatorContact = "https://library.example/crawls"
	job.Settings.Nameserver = endlessAliases(t)
	job.Settings.Workers, job.Settings.MaxDocumentBytes = 8, 30<<20
	job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(time.Minute), harvest.Duration(20*time.Second)
	job.Settings.MaxDomainObjects, job.Settings.MaxRetries = 1500, 0
	// What answers everything in one way answers robots.txt so, too.
	job.Settings.Sheets = nil
	job.Settings.Robots = harvest.RobotsObey
	for name, h := range all {
		if strings.Contains(name, "header") || strings.Contains(name, "body") || strings.Contains(name, "drip") || strings.Contains(name, "length") || name == "a bomb" {
			var port int
			fmt.Sscan(regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(h.url)[1], &port)
			set := patch("robots", "ignore")
			if strings.Contains(name, "drip") {
				set = patch("robots", "ignore", "fetch_timeout", "3s")
			}
			job.Settings.Sheets = append(job.Settings.Sheets, harvest.Sheet{Name: fmt.Sprint("port ", port), Ports: []int{port}, Settings: set})
		}
	}
	dir := t.TempDir()
	var sum Summary
	peak := heapPeak(func() { sum = run(t, dir, job) })
	t.Logf("the heap held up to %d MiB; %+v", peak, sum.Counters)
	if peak > 250 {
		t.Errorf("the heap held up to %d MiB", peak)
	}
	if sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
	for name, h := range all {
		status, notes := logged(t, dir, h.url)
		if got := status + " " + notes; !strings.HasPrefix(got, h.want) {
			t.Errorf("%s: %s, want %s", name, got, h.want)
		}
	}
	if n := self.Load(); n > 30_000 {
		t.Errorf("%d links of a page to itself", n)
	}
}
