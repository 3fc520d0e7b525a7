package crawler

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/warc"
)

// reading reads a request's head, then goes on.
func reading(then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				then(c)
				return
			}
		}
	}
}

// Each bad server gets its status and annotation in the log, and a record where there is something to record; the crawl
// ends.
func TestHostileServers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	tests := []struct {
		name          string
		answer        func(net.Conn)
		status, notes string
		recorded      bool
		truncated     string
	}{
		{"never answers", func(c net.Conn) { io.Copy(io.Discard, c) }, "-4", "2t", false, ""},
		{"closes at once", func(c net.Conn) {}, "-3", "2t", false, ""},
		{"endless head", func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "X-Filler: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}, "-3", "headerTrunc", false, ""},
		{"endless status line", func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, strings.Repeat("a", 1000)); err != nil {
					return
				}
			}
		}, "-3", "headerTrunc", false, ""},
		{"not HTTP", func(c net.Conn) { io.WriteString(c, "220 ftp ready\r\n\r\n") }, "-3", "badStatusLine", false, ""},
		{"body shorter than declared", func(c net.Conn) { io.WriteString(c, head+"Content-Length: 100\r\n\r\nshort") }, "200", "midFetchTrunc", true, "disconnect"},
		{"body longer than declared", func(c net.Conn) { io.WriteString(c, head+"Content-Length: 5\r\n\r\nshort and more") }, "200", "bodyExcess", true, ""},
		{"two lengths", func(c net.Conn) { io.WriteString(c, head+"Content-Length: 5\r\nContent-Length: 9\r\n\r\n123456789") }, "200", "contradictingLength", true, "unspecified"},
		{"broken chunks", func(c net.Conn) {
			io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nzz\r\n")
		}, "200", "badChunk", true, "unspecified"},
		{"chunks cut off", func(c net.Conn) {
			io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n10\r\nab")
		}, "200", "midFetchTrunc", true, "disconnect"},
		{"good chunks", func(c net.Conn) {
			io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\n0\r\nT: v\r\n\r\n")
		}, "200", "-", true, ""},
		{"endless body", func(c net.Conn) {
			io.WriteString(c, head+"\r\n")
			for {
				if _, err := io.WriteString(c, strings.Repeat("<a href=/>x</a>", 1000)); err != nil {
					return
				}
			}
		}, "200", "lenTrunc", true, "length"},
		{"slow drip", func(c net.Conn) {
			io.WriteString(c, head+"\r\n")
			for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
				if _, err := io.WriteString(c, "."); err != nil {
					return
				}
			}
		}, "200", "timeTrunc", true, "time"},
		{"interim responses", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"+head+"Content-Length: 2\r\n\r\nok")
		}, "200", "-", true, ""},
		{"no content", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n") }, "204", "-", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, reading(tt.answer)) + "/"
			job := newJob(url)
			job.Settings.Robots = harvest.RobotsIgnore
			job.Settings.MaxDocumentBytes = 3 << 20
			job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(time.Minute), harvest.Duration(time.Minute)
			if tt.name == "never answers" || tt.truncated == "time" { // the others end by themselves, on a busy machine too
				job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(2*time.Second), harvest.Duration(time.Second)
			}
			dir := t.TempDir()
			if sum := run(t, dir, job); sum.Reason != "completed" {
				t.Errorf("summary %+v", sum)
			}
			status, notes := logged(t, dir, url)
			if status != tt.status || notes != tt.notes {
				t.Errorf("status %s, annotations %s; want %s, %s", status, notes, tt.status, tt.notes)
			}
			truncated := ""
			for _, f := range warcFiles(t, dir) {
				eachRecord(t, f, func(r *warc.Record) {
					if r.Type == warc.TypeResponse {
						truncated = r.Header.Get("WARC-Truncated")
					}
				})
			}
			if n := captures(t, dir)[url]; (n == 1) != tt.recorded || truncated != tt.truncated {
				t.Errorf("recorded %d times, truncated %q; want %v, %q", n, truncated, tt.recorded, tt.truncated)
			}
		})
	}
}

// Redirects without end, and a page that links to itself with ever changing queries, come to an end.
func TestTraps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("/r", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/r?"+r.URL.RawQuery+"x", http.StatusFound)
	})
	s.mux.HandleFunc("/q", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="?%sy">on</a>`, r.URL.RawQuery)
	})
	job := newJob(s.URL+"/r", s.URL+"/q")
	sum := run(t, t.TempDir(), job)
	if sum.Reason != "completed" || sum.Counters.Finished > 60 {
		t.Errorf("summary %+v", sum)
	}
}

// Seeds that are no URLs, and hosts that are not there, are in the log with their reason.
func TestBadSeeds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", "fine")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String() + "/"
	l.Close()
	job := newJob("http://", "ftp://127.0.0.1/x", "no url at all", dead, s.URL+"/")
	job.Settings.OperatorContact = "https://library.example/crawls"
	job.Settings.Robots = harvest.RobotsIgnore
	dir := t.TempDir()
	run(t, dir, job)
	for uri, want := range map[string]string{"http://": "-7", "ftp://127.0.0.1/x": "-7", "no%20url%20at%20all": "-7", dead: "-2", s.URL + "/": "200"} {
		if got, _ := logged(t, dir, uri); got != want {
			t.Errorf("%s: status %s, want %s", uri, got, want)
		}
	}
}

// Without leave, an address of this machine or network is not even connected to, be it given by number or by name.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, port, _ := net.SplitHostPort(s.host())
	byName := "http://localhost:" + port + "/"
	job := newJob(s.URL+"/", byName)
	job.Settings.AllowPrivate = false
	dir := t.TempDir()
	run(t, dir, job)
	for _, uri := range []string{s.URL + "/", byName} {
		if status, notes := logged(t, dir, uri); status != "-5002" || notes != "privateAddress" {
			t.Errorf("%s: status %s, annotations %s", uri, status, notes)
		}
	}
	if n := len(s.requests()); n > 0 {
		t.Errorf("the server saw %d requests", n)
	}
}

// A large body goes through a file and comes out byte for byte.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := strings.Repeat("0123456789abcdef", 400<<10)
	s.file("/{$}", "application/octet-stream", body)
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			if r.Type != warc.TypeResponse || r.TargetURI() != s.URL+"/" {
				return
			}
			content, err := r.Content()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(content); err != nil || string(got) != body {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(body))
			}
		})
	}
}
