package fetch

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"
)

func FuzzHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\nRetry-After: 5\r\nContent-Disposition: a; filename*=utf-8''x\r\n folded\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 301\nLocation: x\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		end := headEnd(in, 0)
		if end > len(in) {
			t.Fatalf("end %d of %d", end, len(in))
		}
		h, ok := parseHead(in[:end])
		if !ok {
			return
		}
		if h.Status < 100 || h.Status > 999 || len(h.fields) > 2*maxFields {
			t.Fatalf("status %d, %d fields", h.Status, len(h.fields))
		}
		if d := h.RetryAfter(noon); d < 0 || d > maxRetryAfter {
			t.Fatalf("retry after %s", d)
		}
		if strings.Contains(h.MediaType()+h.ETag()+h.LastModified(), "\n") {
			t.Fatal("a value of two lines")
		}
		Challenges(h)
	})
}

func FuzzTunnelAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 ok\r\nX: y\r\n\r\nTLS"))
	f.Add([]byte("HTTP/1.1 100 go on\r\n\r\nHTTP/1.1 407 who\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		status, err := readTunnelAnswer(r.Read)
		if used := len(in) - r.Len(); used > (maxInterim+2)*maxProxyHead || err == nil && (status < 200 || !bytes.HasSuffix(in[:used], []byte("\n")) || used > 1 && headEnd(in[:used], 0) == 0) {
			t.Fatalf("status %d after %d of %q, %v", status, used, in, err)
		}
	})
}

// scripted is a connection to who says what was prepared.
type scripted struct {
	sink
	says io.Reader
}

func (s *scripted) Read(p []byte) (int, error)            { return s.says.Read(p) }
func (s *scripted) SetDeadline(time.Time) error           { return nil }
func (s *scripted) Close() error                          { return nil }
func (s *scripted) LocalAddr() net.Addr                   { return &net.TCPAddr{} }
func (s *scripted) RemoteAddr() net.Addr                  { return &net.TCPAddr{} }
func (s *scripted) Dial(string, string) (net.Conn, error) { return s, nil }

func (s *scripted) DialContext(context.Context, string, string) (net.Conn, error) { return s, nil }

func FuzzSOCKS(f *testing.F) {
	f.Add([]byte{5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{5, 2, 1, 0, 5, 0, 0, 3, 4, 'a', 'b', 'c', 'd', 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		s := &scripted{says: bytes.NewReader(in)}
		d, err := proxy.SOCKS5("tcp", "p:1", &proxy.Auth{User: "u", Password: "hidden"}, s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.(proxy.ContextDialer).DialContext(t.Context(), "tcp", "h:80")
		if err == nil && len(in) < 4 || err != nil && strings.Contains(err.Error(), "hidden") {
			t.Fatalf("%q: %v", in, err)
		}
	})
}

func FuzzRedacted(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nAuthorization: Basic c2VjcmV0\r\n more\r\nHost: h\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := Redacted(in)
		if again := Redacted(out); !bytes.Equal(again, out) {
			t.Fatalf("%q, then %q", out, again)
		}
	})
}
