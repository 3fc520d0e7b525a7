package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"holdfast/cdx"
)

// archive builds WARC files byte by byte, so that tests do not depend on the writer.
type archive struct{ bytes.Buffer }

// record adds one gzip member. Fields is "Name: value" lines beyond type, date, URL and length.
func (a *archive) record(kind, date, url, fields, block string) {
	z := gzip.NewWriter(&a.Buffer)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\nWARC-Date: %s\r\n", kind, a.Len(), date)
	if url != "" {
		fmt.Fprintf(z, "WARC-Target-URI: %s\r\n", url)
	}
	for line := range strings.Lines(fields) {
		fmt.Fprintf(z, "%s\r\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(z, "Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	z.Close()
}

// page adds a response with an HTML body.
func (a *archive) page(date, url, body string) {
	a.record("response", date, url, "Content-Type: application/http;msgtype=response",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"+body)
}

func (a *archive) open() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(a.Bytes())), nil
}

func openIndex(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(Config{Dir: dir, MemoryMiB: 16}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// ask returns the arranged answer as "timestamp url file" lines.
func ask(t *testing.T, x *Index, q cdx.Query, covers func(string) bool) []string {
	t.Helper()
	var out []string
	for c, err := range cdx.Arrange(q, x.Query(context.Background(), q, covers)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Timestamp+" "+c.URL+" "+c.File)
	}
	return out
}
