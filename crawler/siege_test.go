package crawler

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"holdfast/crawler/control"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// endlessAliases is a name server whose every answer is an alias.
func endlessAliases(t *testing.T) string {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	s := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if rr, err := dns.NewRR(fmt.Sprintf("%s 60 IN CNAME a%d.test.", q.Question[0].Name, n.Add(1))); err == nil {
			m.Answer = append(m.Answer, rr)
		}
		_ = w.WriteMsg(m) // who asked went away
	})}
	go func() { _ = s.ActivateAndServe() }() // ends with Shutdown
	t.Cleanup(func() { _ = s.Shutdown() })
	return pc.LocalAddr().String()
}

// endless writes a piece again and again until the other side has gone, or that many bytes.
func endless(w io.Writer, piece string, most int64) {
	for n := int64(0); most <= 0 || n < most; n += int64(len(piece)) {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// heapPeak tells the most that the heap held while do ran, in MiB.
func heapPeak(do func()) uint64 {
	done, out := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-tick.C:
			case <-done:
				out <- peak >> 20
				return
			}
		}
	}()
	do()
	close(done)
	return <-out
}

// hostile is a server to be crawled, and what the log has to say of it.
type hostile struct{ url, want string }

// hostiles are servers that do what they can to a crawler; self counts the links of one to itself.
func hostiles(t *testing.T, self *atomic.Int64) map[string]hostile {
	bomb := &bytes.Buffer{}
	z := gzip.NewWriter(bomb)
	endless(z, strings.Repeat("<p>spaces and spaces ", 1<<15), 300<<20)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	page := func(answer func(net.Conn)) string { return rawServer(t, reading(answer)) + "/" }
	site := func(set func(mux *http.ServeMux)) string {
		s := newSite(t)
		set(s.mux)
		return s.URL + "/"
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	return map[string]hostile{
		"a header of 1 GiB": {page(func(c net.Conn) {
			io.WriteString(c, head)
			endless(c, "X-Filler: "+strings.Repeat("a", 8000)+"\r\n", 1<<30)
		}), "-3 headerTrunc"},
		"one header line of 1 GiB": {page(func(c net.Conn) { io.WriteString(c, head+"X: "); endless(c, strings.Repeat("a", 8000), 1<<30) }), "-3 headerTrunc"},
		"an endless body": {page(func(c net.Conn) {
			io.WriteString(c, head+"\r\n")
			endless(c, strings.Repeat("<a href=/>x</a>", 1000), 0)
		}), "200 lenTrunc"},
		"a slow drip": {page(func(c net.Conn) {
			io.WriteString(c, head+"\r\n")
			for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
				if _, err := io.WriteString(c, "."); err != nil {
					return
				}
			}
		}), "200 timeTrunc"},
		"a length that is too long":  {page(func(c net.Conn) { io.WriteString(c, head+"Content-Length: 1000000\r\n\r\nshort") }), "200 midFetchTrunc"},
		"a length that is too short": {page(func(c net.Conn) { io.WriteString(c, head+"Content-Length: 2\r\n\r\nmuch more than that") }), "200 bodyExcess"},
		"a bomb": {page(func(c net.Conn) {
			fmt.Fprintf(c, "%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", head, bomb.Len())
			c.Write(bomb.Bytes())
		}), "200 "},
		"endless redirects": {site(func(mux *http.ServeMux) {
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, fmt.Sprintf("/to/%d", time.Now().UnixNano()), http.StatusFound)
			})
		}), "302 "},
		"links to itself": {site(func(mux *http.ServeMux) {
			mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				for range 10 {
					fmt.Fprintf(w, "<a href='/?q=%d'>x</a>", self.Add(1))
				}
			})
		}), "200 "},
		"a robots.txt of 100 MiB": {site(func(mux *http.ServeMux) {
			mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "User-agent: *\nDisallow: /forbidden\n")
				endless(w, strings.Repeat("Disallow: /x\n", 1000), 100<<20)
			})
			mux.HandleFunc("/{$}", hello)
		}), "200 "},
		"endless aliases": {"http://aliased.test/", "-6 "},
	}
}

// files are what the process has open.
func files(t *testing.T) (open []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.Contains(to, "/Test") {
			open = append(open, to)
		}
	}
	return open
}

// When Run returns, nothing of the crawl is left: no goroutine, timer or open file; also after a stop, a cut and
// orders.
func TestNothingIsLeft(t *testing.T) {
	if !alone(t) {
		return
	}
	s, gate := heldSite(t)
	before := runtime.NumGoroutine()
	for i := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := New(Config{Dir: t.TempDir(), Job: heldJob(s.URL + "/"), Node: "node1"})
		if err != nil {
			t.Fatal(err)
		}
		c.course.Pause(control.ForOperator, control.Hold{Reason: "lunch", By: "anna"}, time.Hour)
		l := &live{Crawl: c, t: t, ended: make(chan struct{})}
		go func() {
			defer close(l.ended)
			if _, err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		switch i {
		case 0:
			l.obey(act.Stop{For: harvest.Duration(time.Hour)})
		case 1:
			cancel()
		case 2:
			l.obey(act.Resume{})
			until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
			l.obey(act.Stop{For: harvest.Duration(50 * time.Millisecond)})
		case 3:
			l.obey(act.Resume{})
			close(gate)
			l.obey(act.Change{Settings: patch("workers", 20)})
		}
		l.end()
		cancel()
		if open := files(t); len(open) > 0 {
			t.Errorf("case %d: open: %v", i, open)
		}
	}
	s.CloseClientConnections()
	until(t, "all goroutines have ended", func() bool {
		if runtime.NumGoroutine() <= before+2 { // the server's own for connections that it has not seen closed
			return true
		}
		return false
	})
}

// All reports that Heritrix writes are there at the end, with what they are about.
func TestReports(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	job := newJob(s.URL+"/", "no url at all")
	dir := t.TempDir()
	run(t, dir, job)
	for name, want := range map[string]string{
		"crawl-report.txt":             `(?s)test.*Finished.*novel URIs: 10\n.*novel crawled bytes: 1\d\d\d `,
		"hosts-report.txt":             `(?m)^\d+ \d+ 127\.0\.0\.1 1 0 10 `,
		"domains-report.txt":           `(?m)^9 \d+ 127\.0\.0\.1 -$`,
		"mimetype-report.txt":          `(?m)^\d+ \d+ text/html`,
		"responsecode-report.txt":      `(?m)^7 200$|^8 200$`,
		"seeds-report.txt":             `(?m)^200 CRAWLED ` + regexp.QuoteMeta(s.URL) + `/$`,
		"source-report.txt":            `(?m)^` + regexp.QuoteMeta(s.URL) + `/ `,
		"processors-report.txt":        `(?s)preFetch.*postProcess`,
		"frontier-summary-report.txt":  `(?s)Frontier report.*Queued: +0\n`,
		"frontier-nonempty-report.txt": ``,
		"threads-report.txt":           `(?i)toe|worker|thread`,
	} {
		text, err := os.ReadFile(filepath.Join(dir, "reports", name))
		if err != nil || !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	progress, err := os.ReadFile(filepath.Join(dir, "logs", "progress-statistics.log"))
	if err != nil || !strings.Contains(string(progress), "discovered") || strings.Count(string(progress), "\n") < 3 {
		t.Errorf("%v\n%s", err, progress)
	}
	for _, log := range []string{"crawl.log", "uri-errors.log", "runtime-errors.log", "nonfatal-errors.log", "alerts.log", "job.log"} {
		if _, err := os.Stat(filepath.Join(dir, "logs", log)); err != nil {
			t.Error(err)
		}
	}
}
