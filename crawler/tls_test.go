package crawler

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"holdfast/warc"
)

// A site over TLS is recorded with the bytes inside TLS, and a certificate that does not hold is noted in the log.
func TestTLS(t *testing.T) {
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
