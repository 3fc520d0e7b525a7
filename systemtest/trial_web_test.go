//go:build e2e

package systemtest

import (
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// trialDomains are the names of the eight sites of a trial.
var trialDomains = []string{"anvil.test", "birch.test", "cedar.test", "dune.test", "ember.test", "fjord.test", "grove.test", "heath.test"}

// trialSections are the folders of each site, each of which a configuration harvests.
var trialSections = []string{"news", "science", "sports", "election"}

// serialHeader has the number of an answer. It is in the server's log, and in what was recorded.
const serialHeader = "X-Serial"

// hit is one line of the servers' log.
type hit struct {
	at     time.Time
	domain string
	path   string
	status int
	size   int64 // of the whole answer
	sent   bool  // all of it, as far as the server knows
}

// trialWeb serves the sites, and their names.
type trialWeb struct {
	port       int
	nameserver string

	mu  sync.Mutex
	log []hit // by serial
}

// serveTrial serves the sites on an address until the test ends.
func serveTrial(t *testing.T, ip string) *trialWeb {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	check(t, err)
	names, err := net.ListenPacket("udp", ip+":0")
	check(t, err)
	w := &trialWeb{port: listener.Addr().(*net.TCPAddr).Port, nameserver: names.LocalAddr().String()}
	site := &http.Server{Handler: w}
	resolver := &dns.Server{PacketConn: names, Handler: dns.HandlerFunc(func(to dns.ResponseWriter, asked *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(asked)
		for _, q := range asked.Question {
			if q.Qtype == dns.TypeA && strings.HasSuffix(q.Name, ".test.") {
				answer.Answer = append(answer.Answer, &dns.A{A: net.ParseIP(ip),
					Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}})
			}
		}
		_ = to.WriteMsg(answer) // a lost answer is asked for again
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = site.Serve(listener) })        // ends with Close
	serving.Go(func() { _ = resolver.ActivateAndServe() }) // the same
	t.Cleanup(func() {
		_, _ = site.Close(), names.Close()
		serving.Wait()
	})
	return w
}

// url is the URL of a path of a site.
func (w *trialWeb) url(domain, path string) string {
	return fmt.Sprintf("http://%s:%d%s", domain, w.port, path)
}

// page is what a path has: the pages of a folder are different at each visit, the rest never changes.
func page(domain, path string, serial int) (status int, media, body string) {
	section, name := strings.TrimPrefix(path, "/"), ""
	if i := strings.LastIndex(section, "/"); i >= 0 {
		section, name = section[:i], section[i+1:]
	} else {
		section, name = "", section
	}
	switch {
	case path == "/":
		body = fmt.Sprintf("<html><p>Visit %d</p><img src=/logo.png>", serial)
		for _, s := range trialSections {
			body += fmt.Sprintf("<a href=/%s/>%s</a>", s, s)
		}
		return http.StatusOK, "text/html", body
	case name == "":
		return http.StatusOK, "text/html", fmt.Sprintf("<html><h1>%s of %s, visit %d</h1><img src=a.png><img src=b.png>"+
			"<a href=more.html>more</a>", section, domain, serial)
	case name == "more.html":
		return http.StatusOK, "text/html", "<html><h1>More " + section + "</h1><img src=c.png><a href=gone.html>gone</a>"
	case strings.HasSuffix(name, ".png"):
		return http.StatusOK, "image/png", strings.Repeat("picture "+domain+path+"\n", 1+len(path)%5)
	}
	return http.StatusNotFound, "text/html", "<html>There is nothing of that name."
}

// ServeHTTP answers a request and writes a line of the log.
func (w *trialWeb) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	domain, _, _ := strings.Cut(r.Host, ":")
	w.mu.Lock()
	serial := len(w.log)
	w.log = append(w.log, hit{at: time.Now(), domain: domain, path: r.URL.Path})
	w.mu.Unlock()
	status, media, body := page(domain, r.URL.Path, serial)
	tag := ""
	if media == "image/png" {
		tag = fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE([]byte(body)))
		if r.Header.Get("If-None-Match") == tag {
			status, body = http.StatusNotModified, ""
		}
	}
	size, sent := say(to, status, serial, media, tag, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &w.log[serial]
	h.status, h.size, h.sent = status, size, sent
}

// say writes the answer as it is on the wire, and returns how many bytes it has, and whether they were sent.
func say(to http.ResponseWriter, status, serial int, media, tag, body string) (size int64, sent bool) {
	text := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s: %d\r\nConnection: close\r\n", status,
		http.StatusText(status), media, serialHeader, serial)
	if tag != "" {
		text += "ETag: " + tag + "\r\n"
	}
	if status != http.StatusNotModified {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	text += "\r\n" + body
	conn, _, err := to.(http.Hijacker).Hijack()
	if err != nil {
		return 0, false
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, text)
	return int64(len(text)), err == nil
}

// hits is the log.
func (w *trialWeb) hits() []hit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]hit(nil), w.log...)
}
