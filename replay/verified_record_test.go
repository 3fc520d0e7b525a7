package replay

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/cdx"
)

// doubtful is the records of a shelf, of which the first copy is changed; when the reader doubts it, another is given.
type doubtful struct {
	*shelf
	change func(file string, offset int64, b []byte) []byte
	only   bool // there is no other copy
	asked  int
	doubts int
}

type doubted struct {
	io.Reader
	d *doubtful
}

func (d doubted) Close() error { return nil }

func (d doubted) Doubt() bool {
	d.d.doubts++
	return !d.d.only
}

func (d *doubtful) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	in, err := d.shelf.Open(ctx, file, offset, length)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(in)
	d.asked++
	if d.doubts == 0 || d.only {
		b = d.change(file, offset, bytes.Clone(b))
	}
	return doubted{bytes.NewReader(b), d}, err
}

// flipped changes one bit near the end of each record, but for its gzip trailer.
func flipped(_ string, _ int64, b []byte) []byte {
	b[len(b)-9] ^= 1
	return b
}

func serverOver(t *testing.T, s *shelf, records Records, cfg Config) *httptest.Server {
	t.Helper()
	h, err := New(cfg, s, records, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// letters returns text that does not pack well.
func letters(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.UintN(26))
	}
	return string(b)
}

// blockDigest is the header line for a response record of the given head and body.
func blockDigest(block string) string {
	sum := sha1.Sum([]byte(block))
	return "WARC-Block-Digest: sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// TestADamagedRecordIsNoPage flips a bit at the end of a record: small, larger than memory holds, and larger than the disk
// has room for; itself, and what a revisit repeats. It is shown from another copy; without one, it is no success.
func TestADamagedRecordIsNoPage(t *testing.T) {
	const head = "HTTP/1.1 200 OK\nContent-Type: text/html\n"
	for _, size := range []int{2000, 3_000_000} {
		for _, room := range []bool{true, false} {
			for _, only := range []bool{true, false} {
				s, b := newShelf()
				body := letters(1, size)
				b.response("20260101000000", "http://example.com/", head, body)
				again := b.record("revisit", "20260201000000", "http://example.com/again", "Content-Type: application/http;msgtype=response",
					"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
				again.MIME, again.Refers = cdx.RevisitMIME, cdx.Refers{URL: "http://example.com/", Timestamp: "20260101000000"}
				for _, path := range []string{"/web/20260101000000id_/http://example.com/", "/web/20260101000000/http://example.com/",
					"/web/20260201000000id_/http://example.com/again"} {
					for _, method := range []string{http.MethodGet, http.MethodHead} {
						records := &doubtful{shelf: s, change: flipped, only: only}
						srv := serverOver(t, s, records, Config{Spool: t.TempDir(), SpoolRoom: func(int64) bool { return room }, NoBanner: true})
						status, got, err := fetch(t, srv, method, path)
						where := fmt.Sprintf("%s %s, %d bytes, room %t, only %t", method, path, size, room, only)
						switch {
						case only && status == http.StatusOK:
							t.Errorf("%s: a success, %v", where, err)
						case !only && (status != http.StatusOK || err != nil || method == http.MethodGet && got != body):
							t.Errorf("%s: %d, %d bytes, %v", where, status, len(got), err)
						case records.doubts == 0:
							t.Errorf("%s: nobody was told", where)
						}
					}
				}
			}
		}
	}
}

// fetch asks for a path and returns how the body ended.
func fetch(t *testing.T, srv *httptest.Server, method, path string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// TestARecordWithAWrongDigestIsShownAndSaid has a record whose own digest never was right: the archive's bytes are.
func TestARecordWithAWrongDigestIsShownAndSaid(t *testing.T) {
	s, b := newShelf()
	const head, body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "<p>as it came"
	b.record("response", "20260101000000", "http://example.com/right", "Content-Type: application/http;msgtype=response\n"+
		blockDigest(head+body), head+body)
	b.record("response", "20260101000000", "http://example.com/wrong", "Content-Type: application/http;msgtype=response\n"+
		blockDigest("something else"), head+body)
	b.record("response", "20260101000000", "http://example.com/unknown", "Content-Type: application/http;msgtype=response\n"+
		"WARC-Block-Digest: crc64:0011", head+body)
	records := &doubtful{shelf: s, change: func(_ string, _ int64, b []byte) []byte { return b }}
	srv := serverOver(t, s, records, Config{})
	for _, name := range []string{"right", "wrong", "unknown"} {
		resp, got := get(t, srv, "/web/20260101000000/http://example.com/"+name)
		said := resp.Header.Get(flawHeader)
		if wrong := name == "wrong"; resp.StatusCode != 200 || !strings.HasPrefix(got, body) || (said != "") != wrong ||
			strings.Contains(got, "digest does not match") != wrong {
			t.Errorf("%s: %d %q %q", name, resp.StatusCode, said, got)
		}
	}
	if records.doubts != 1 {
		t.Errorf("%d doubts, want one: of the record that is not what it says", records.doubts)
	}
}

// TestARecordThatChangesIsCutOff gives other bytes when a large record is read for the second time, whole by themselves.
func TestARecordThatChangesIsCutOff(t *testing.T) {
	s, b := newShelf()
	c := *b.response("20260101000000", "http://example.com/", "HTTP/1.1 200 OK\nContent-Type: text/plain\n", letters(1, 3_000_000))
	first := bytes.Clone(s.files[c.File])
	other, o := newShelf()
	o.response("20260101000000", "http://example.com/", "HTTP/1.1 200 OK\nContent-Type: text/plain\n", letters(2, 3_000_000))
	records := &doubtful{shelf: s}
	records.change = func(string, int64, []byte) []byte {
		if records.asked == 1 {
			return first
		}
		return other.files[c.File]
	}
	srv := serverOver(t, s, records, Config{SpoolRoom: func(int64) bool { return false }})
	if status, got, err := fetch(t, srv, http.MethodGet, "/web/20260101000000id_/http://example.com/"); err == nil {
		t.Errorf("%d, %d bytes, a clean end", status, len(got))
	}
}

// failing is a record's block that cannot be read to its end.
type failing struct{ left int }

func (f *failing) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errors.New("the disk went away")
	}
	n := min(len(p), f.left)
	clear(p[:n])
	f.left -= n
	return n, nil
}

// TestAPageIsCutOffWhereItsRecordIs rewrites a page, whose length nobody was told, from a record that fails in the middle.
func TestAPageIsCutOffWhereItsRecordIs(t *testing.T) {
	h, err := New(Config{}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &document{capture: cdx.Capture{URL: "http://example.com/", Timestamp: "20260101000000"}, status: 200}
		d.header.Set("Content-Type", "text/html")
		source := &watched{in: &failing{left: 100_000}}
		d.payload, d.broken = source, func() error { return source.err }
		h.answer(w, r, target{timestamp: "20260101000000", url: "http://example.com/"}, d)
	}))
	t.Cleanup(srv.Close)
	if status, got, err := fetch(t, srv, http.MethodGet, "/"); err == nil {
		t.Errorf("%d, %d bytes, a clean end", status, len(got))
	}
}

// TestAStoppingNodeSendsNoEmptyPage ends a request while its page is read, as a node does that stops. The answer was an
// empty page with a 200, which the reader could not tell from an archived one.
func TestAStoppingNodeSendsNoEmptyPage(t *testing.T) {
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", "a page")
	ctx, stop := context.WithCancel(t.Context())
	h, err := New(Config{}, s, stopping{s, stop}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/web/20260101000000id_/http://example.com/", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("the answer is %d with %d bytes", answer.Code, answer.Body.Len())
	}
}

// stopping is an archive whose node stops when it is asked for a record.
type stopping struct {
	*shelf
	stop context.CancelFunc
}

func (s stopping) Open(ctx context.Context, _ string, _, _ int64) (io.ReadCloser, error) {
	s.stop()
	return nil, ctx.Err()
}
