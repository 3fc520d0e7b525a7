package crawler

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/warc"
)

// A site over TLS is recorded with the bytes inside TLS, and a certificate that does not hold is noted in the log.
func TestTLS(t *testing.T) {
	t.Parallel()
	const body = "<html><body><a href=\"/next\">next</a></body></html>"
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/next":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("X-Sent", "exactly")
			fmt.Fprint(w, body)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	if sum := run(t, dir, newJob(s.URL+"/")); sum.Reason != "completed" {
		t.Fatalf("ended as %s", sum.Reason)
	}
	noted := 0
	for _, line := range logLines(t, dir) {
		if strings.HasPrefix(line[3], "https://") && strings.Contains(line[11], "tlsUnverified") {
			noted++
		}
	}
	if noted == 0 {
		t.Error("nothing in the log tells that the certificate does not hold")
	}
	pages := 0
	for _, path := range warcFiles(t, dir) {
		if _, err := warc.Check(path, func(f warc.Finding) { t.Errorf("%+v", f) }); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := warc.NewReader(file, path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			block, err := io.ReadAll(rec.Block)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type != warc.TypeResponse || strings.HasSuffix(rec.TargetURI(), "robots.txt") {
				continue
			}
			pages++
			if !bytes.HasPrefix(block, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.Contains(block, []byte("X-Sent: exactly\r\n")) ||
				!bytes.HasSuffix(block, []byte("\r\n\r\n"+body)) {
				t.Errorf("%s was recorded as %q", rec.TargetURI(), block)
			}
		}
	}
	if pages != 2 {
		t.Errorf("%d pages in the WARC files, want 2", pages)
	}
}

// A server that speaks nothing but HTTP/2 is recorded, with what was spoken.
func TestHTTP2Only(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/next>next</a>")
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{}
	s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		protocol := "h2"
		if !slices.Contains(hello.SupportedProtos, protocol) {
			protocol = "none" // Go's servers would let HTTP/1.1 in
		}
		return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{protocol}}, nil
	}
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	spoken := map[string]bool{}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			if r.Type == warc.TypeResponse {
				spoken[r.TargetURI()] = strings.Contains(fmt.Sprint(r.Header), "h2")
			}
		})
	}
	for _, path := range []string{"/", "/next"} {
		if status, notes := logged(t, dir, s.URL+path); status != "200" || !strings.Contains(notes, "h2") || !spoken[s.URL+path] {
			t.Errorf("%s: status %s, %s, HTTP/2: %v", path, status, notes, spoken)
		}
	}
}
