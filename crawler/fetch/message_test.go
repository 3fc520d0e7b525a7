package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// receive takes a response from r, in whatever pieces r gives it.
func receive(r io.Reader, maxBody int64) (*message, error) {
	rec := newRecording(make([]byte, 0, 64), "", func([]byte) {})
	m := &message{rec: rec, maxBody: maxBody}
	return m, m.receive(r.Read)
}

func TestReceive(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, payload, recorded, truncated string
		status                                 int
		reusable                               bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", "", "", 200, true},
		{"no body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "", "", "", 304, true},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nabc", "abc", "", "", 200, false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n", "abcde", "", "", 200, true},
		{"no coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc", "abc", "", "", 200, true},
		{"no coding but chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Identity, Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc", "", "", 200, true},
		{"bare line ends", "HTTP/1.0 200\nContent-Length: 1\n\na", "a", "", "", 200, false},
		{"told to close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "", "", "", 200, false},
		{"old but kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", "", "", "", 200, true},
		{"excess", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", "a", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "", 200, false},
		{"excess beyond what is kept", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" + strings.Repeat("x", 31), strings.Repeat("x", 30),
			"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" + strings.Repeat("x", 30), "", 200, false},
		{"excess of chunks beyond what is kept", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n" + strings.Repeat("x", 19) + "\r\n0\r\n\r\nab", strings.Repeat("x", 19),
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n" + strings.Repeat("x", 19) + "\r\n0\r\n\r\n", "", 200, false},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "a", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "", 200, true},
		{"short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "abc", "", "disconnect", 200, false},
		{"cut", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 50), strings.Repeat("x", 30), "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 30), "length", 200, false},
	}
	for _, tt := range tests {
		for _, how := range []struct {
			name string
			wrap func(io.Reader) io.Reader
		}{{"at once", func(r io.Reader) io.Reader { return r }}, {"by bytes", iotest.OneByteReader}, {"with the end", iotest.DataErrReader}} {
			t.Run(tt.name+" "+how.name, func(t *testing.T) {
				m, err := receive(how.wrap(strings.NewReader(tt.in)), 30)
				if m.head.Status != tt.status {
					t.Fatalf("status %d, error %v", m.head.Status, err)
				}
				if tr := m.truncation(err); tr != tt.truncated {
					t.Errorf("truncated %q (%v), want %q", tr, err, tt.truncated)
				}
				want := tt.recorded
				if want == "" {
					want = tt.in
				}
				if got := string(m.rec.mem); got != want {
					t.Errorf("recorded %q, want %q", got, want)
				}
				if m.rec.PayloadDigest() != Digest([]byte(tt.payload)) || m.rec.BlockDigest() != Digest([]byte(want)) {
					t.Error("wrong digests")
				}
				// Bytes after the end that come later are not seen: the connection is found closed or out of step then.
				if got := m.reusable() && err == nil; got != tt.reusable && !(strings.HasPrefix(tt.name, "excess") && how.name == "by bytes") {
					t.Errorf("reusable %v", got)
				}
			})
		}
	}
}

func TestReceiveRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]io.Reader{
		"nonsense":         strings.NewReader("SSH-2.0-x\r\n\r\n"),
		"no status":        strings.NewReader("HTTP/1.1 OK\r\n\r\n"),
		"long head":        io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nX: "), endless{}),
		"endless interims": strings.NewReader(strings.Repeat("HTTP/1.1 100 C\r\n\r\n", maxInterim+1)),
	} {
		m, err := receive(in, 0)
		if !errors.Is(err, errHead) || m.head.Status != 0 || m.note == "" {
			t.Errorf("%s: %v, status %d, note %q", name, err, m.head.Status, m.note)
		}
	}
}

// What comes after the place where chunks are broken is no content, however much came at once and whatever it looks like.
func TestNothingAfterBrokenChunks(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("data", 64<<8)
	m, err := receive(strings.NewReader(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nzz\r\n", len(data), data)+strings.Repeat("6\r\nbroken\r\n", 5000)), 0)
	if !errors.Is(err, errChunk) || m.bodySize < 100_000 {
		t.Fatalf("%d bytes, %v", m.bodySize, err)
	}
	x := Exchange{Response: m.rec, Head: m.head}
	if got, err := x.Payload(1 << 20); string(got) != data || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
	}
}

// A field of many lines takes no more than its length.
func TestFieldsOfManyLines(t *testing.T) {
	raw := []byte("HTTP/1.1 200 OK\nA: b \t\r\n no field\n" + strings.Repeat("  x\t\r\n", 30_000) + "B:\n \n c\nD: e\r\n\r\n")
	h, ok := parseHead(raw)
	if want := "b no field" + strings.Repeat(" x", 30_000); !ok || h.Get("A") != want || strings.TrimSpace(h.Get("B")) != "c" || h.Get("D") != "e" {
		t.Errorf("%v %.40q, %q, %q", ok, h.Get("A"), h.Get("B"), h.Get("D"))
	}
	if n := testing.AllocsPerRun(1, func() { parseHead(raw) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestLargeResponsesGoToAFile(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789"), 300_000)
	rec := newRecording(nil, t.TempDir(), func([]byte) {})
	rec.mem = make([]byte, 0, 1024)
	m := &message{rec: rec}
	if err := m.receive(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"), bytes.NewReader(body)).Read); err != nil {
		t.Fatal(err)
	}
	defer rec.release()
	all, err := io.ReadAll(rec.Reader())
	if err != nil || !bytes.HasSuffix(all, body) || int64(len(all)) != rec.Size() {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	if len(rec.mem) > maxMemory {
		t.Errorf("%d bytes in memory", len(rec.mem))
	}
	if rec.PayloadDigest() != Digest(body) {
		t.Error("wrong digest")
	}
	x := Exchange{Response: rec, Head: m.head}
	if got, err := x.Payload(5); err != nil || string(got) != "01234" {
		t.Errorf("payload %q, %v", got, err)
	}
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, scheme, host, port, authority, path string }{
		{"http://h/", "http", "h", "80", "h", "/"},
		{"https://h:8443/a?b", "https", "h", "8443", "h:8443", "/a?b"},
		{"http://[::1]:80/", "http", "::1", "80", "[::1]:80", "/"},
		{"http://[::1]/x", "http", "::1", "80", "[::1]", "/x"},
		{"http://u:p@h/", "http", "h", "80", "h", "/"},
		{"http://h", "http", "h", "80", "h", "/"},
		{"http://h?q", "http", "h", "80", "h", "/?q"},
	}
	for _, tt := range tests {
		got, err := ParseTarget(tt.url)
		if want := (Target{URL: tt.url, Scheme: tt.scheme, Host: tt.host, Port: tt.port, Authority: tt.authority, Path: tt.path}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.url, got, err, want)
		}
	}
	for _, bad := range []string{"", "ftp://h/", "http://", "http:///x", "http://h/a b", "http://h\r\n/"} {
		if _, err := ParseTarget(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), 7)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n3;a\r\nabc\r\n0\r\nx:y\r\n\r\n"), 3)
	f.Add([]byte("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 204 N\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		whole, errWhole := receive(bytes.NewReader(in), 1000)
		pieces, errPieces := receive(&inPieces{in, max(1, piece&63)}, 1000)
		if errors.Is(errWhole, errChunk) && errors.Is(errPieces, errChunk) {
			return // how much came before the break was seen depends on the pieces
		}
		if whole.head.Status != pieces.head.Status || !bytes.Equal(whole.rec.mem, pieces.rec.mem) && whole.head.Status != 0 {
			t.Fatalf("at once: %d %q %v\nin pieces: %d %q %v", whole.head.Status, whole.rec.mem, errWhole, pieces.head.Status, pieces.rec.mem, errPieces)
		}
		if whole.head.Status == 0 {
			return
		}
		x := Exchange{Response: whole.rec, Head: whole.head}
		if body, _ := x.Payload(500); len(body) > 500 {
			t.Fatalf("%d bytes of payload", len(body))
		}
		if errWhole == nil && whole.rec.PayloadDigest() != pieces.rec.PayloadDigest() {
			t.Fatal("digests differ")
		}
	})
}

type inPieces struct {
	b []byte
	n int
}

func (p *inPieces) Read(into []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

// However many fields come before, those that say where the body ends count; what they are folded into does not.
func TestVitalFieldsBehindMany(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\n")
	for i := range 3 * maxFields {
		fmt.Fprintf(&b, "X-Many: %d\r\n", i)
	}
	b.WriteString("CONTENT-LENGTH: 17\r\nX-Folded: a\r\n b\r\nContent-Type: text/plain\r\n folded\r\n\r\n")
	h, ok := ParseHead(b.String())
	if !ok || h.Get("Content-Length") != "17" || h.Get("Content-Type") != "text/plain folded" || h.Get("X-Folded") != "" ||
		len(h.All("X-Many")) != maxFields {
		t.Errorf("%t %q %q, %d fields", ok, h.Get("Content-Length"), h.Get("Content-Type"), len(h.fields))
	}
	flood, ok := ParseHead("HTTP/1.1 200 OK\r\n" + strings.Repeat("Location: /\r\n", 5*maxFields) + "\r\n")
	if !ok || len(flood.fields) != 2*maxFields {
		t.Errorf("%d fields of a flood", len(flood.fields))
	}
}
