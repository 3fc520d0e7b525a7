package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/access"
	"holdfast/cdx"
	"holdfast/warc"
)

// shelf is an archive in memory: files, and the captures in them.
type shelf struct {
	files    map[string][]byte
	captures []cdx.Capture
	missing  []int // shards that cannot be asked
	broken   error // of every query
}

// Query implements Captures.
func (s *shelf) Query(_ context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		plan, err := q.Compile()
		if err = errors.Join(err, s.broken); err != nil {
			yield(cdx.Capture{}, err)
			return
		}
		for _, c := range s.captures {
			if plan.Match(&c) && !yield(c, nil) {
				return
			}
		}
		if len(s.missing) > 0 {
			yield(cdx.Capture{}, &cdx.Incomplete{Shards: s.missing})
		}
	}
}

// inForce returns a policy that is confirmed.
func inForce(p access.Policy) func() (access.InForce, error) {
	ready := p.Compile()
	return func() (access.InForce, error) { return access.InForce{Compiled: ready}, nil }
}

// Original implements Captures.
func (s *shelf) Original(_ context.Context, digest string, gate cdx.Gate) (cdx.Capture, bool, error) {
	for _, c := range s.captures {
		if c.Digest == digest && !c.Revisit() && gate.Passes(&c) {
			return c, true, nil
		}
	}
	return cdx.Capture{}, false, nil
}

// Open implements Records.
func (s *shelf) Open(_ context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	content, ok := s.files[file]
	if !ok || offset > int64(len(content)) {
		return nil, errors.New("no such file")
	}
	content = content[offset:]
	if length > 0 {
		content = content[:length]
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// builder writes one WARC file of a shelf.
type builder struct {
	shelf *shelf
	name  string
	bytes.Buffer
}

func newShelf() (*shelf, *builder) {
	s := &shelf{files: map[string][]byte{}}
	return s, &builder{shelf: s, name: "test.warc.gz"}
}

// record adds a record and its capture. Extra is header lines.
func (b *builder) record(kind, timestamp, url, extra, block string) *cdx.Capture {
	at := timeOf(timestamp)
	start := b.Len()
	z := gzip.NewWriter(&b.Buffer)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\nWARC-Date: %s\r\nWARC-Target-URI: %s\r\n",
		kind, start, at.Format("2006-01-02T15:04:05Z"), url)
	for line := range strings.Lines(extra) {
		fmt.Fprintf(z, "%s\r\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(z, "Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	z.Close()
	key, err := cdx.Key(url)
	if err != nil {
		panic(err)
	}
	b.shelf.files[b.name] = b.Bytes()
	b.shelf.captures = append(b.shelf.captures, cdx.Capture{Key: key, Timestamp: timestamp, URL: url,
		Offset: int64(start), Length: int64(b.Len() - start), File: b.name, Status: 200, MIME: "text/html"})
	slices.SortStableFunc(b.shelf.captures, func(a, c cdx.Capture) int { return a.Compare(&c) })
	i := slices.IndexFunc(b.shelf.captures, func(c cdx.Capture) bool { return c.Offset == int64(start) })
	return &b.shelf.captures[i]
}

// response adds an HTTP response; head is its header lines.
func (b *builder) response(timestamp, url, head, body string) *cdx.Capture {
	var h strings.Builder
	for line := range strings.Lines(head) {
		h.WriteString(strings.TrimSpace(line) + "\r\n")
	}
	return b.record(warc.TypeResponse, timestamp, url, "Content-Type: application/http;msgtype=response", h.String()+"\r\n"+body)
}

func (b *builder) html(timestamp, url, body string) *cdx.Capture {
	return b.response(timestamp, url, "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n", body)
}

// server runs a handler over the shelf.
func server(t *testing.T, s *shelf, cfg Config) *httptest.Server {
	t.Helper()
	h, err := New(cfg, s, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// get fetches a path without following redirects or unpacking.
func get(t *testing.T, srv *httptest.Server, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return ask(t, srv, http.MethodGet, path, header...)
}

// ask fetches a path by a method without following redirects or unpacking.
func ask(t *testing.T, srv *httptest.Server, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v after %d bytes", path, err, len(body))
	}
	return resp, string(body)
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// countedShelf is a shelf that counts how often a file is read from its beginning to its end.
type countedShelf struct {
	*shelf
	beginnings atomic.Int64
}

// Open implements Records.
func (c *countedShelf) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	if offset == 0 && length == 0 {
		c.beginnings.Add(1)
	}
	return c.shelf.Open(ctx, file, offset, length)
}

func (c *countedShelf) server(t *testing.T) *httptest.Server {
	t.Helper()
	h, err := New(Config{}, c, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
