package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"holdfast/harvest"
)

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	c := New(Config{UserAgent: "agent", From: "me@test", Timeout: time.Second, Idle: time.Second})
	tests := []struct {
		name, want string
		r          Request
	}{
		{"plain", "GET /p HTTP/1.1\r\nHost: h.test\r\nUser-Agent: agent\r\nFrom: me@test\r\nAccept: " + defaultAccept + "\r\n\r\n", Request{}},
		{"all", "GET /p HTTP/1.1\r\nHost: h.test\r\nUser-Agent: other\r\nFrom: me@test\r\nReferer: http://v.test/\r\nAccept-Encoding: gzip, deflate, br\r\nAccept: */*\r\n" +
			"If-None-Match: \"e\"\r\nIf-Modified-Since: then\r\nCookie: a=b\r\n\r\n",
			Request{UserAgent: "other", Referer: "http://v.test/", Compression: true, Headers: []string{"Accept: */*"}, ETag: `"e"`, LastModified: "then", Cookie: "a=b"}},
		{"nothing breaks out", "GET /p HTTP/1.1\r\nHost: h.test\r\nUser-Agent: agent\r\nFrom: me@test\r\nAccept: " + defaultAccept + "\r\n\r\n",
			Request{Referer: "x\r\nX: y", ETag: "a\nb", Cookie: "a\x00b", Headers: []string{"X: a\r\nY: b", "Host: other", "Content-Length: 7", "no header", "a b: c", ": x"}}},
		{"no referer from https", "GET /p HTTP/1.1\r\nHost: h.test\r\nUser-Agent: agent\r\nFrom: me@test\r\nAccept: " + defaultAccept + "\r\n\r\n", Request{Referer: "https://v.test/"}},
		{"post", "POST /p HTTP/1.1\r\nHost: h.test\r\nUser-Agent: agent\r\nFrom: me@test\r\nAccept: " + defaultAccept + "\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc",
			Request{Method: "POST", Body: []byte("abc"), ContentType: "text/plain"}},
	}
	for _, tt := range tests {
		tt.r.Target = target(t, "http://h.test/p")
		c.complete(&tt.r)
		if got := string(tt.r.bytes(onWire)); got != tt.want {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
		if got := string(tt.r.bytes(inRecord)); got != tt.want {
			t.Errorf("%s: recorded as %q", tt.name, got)
		}
	}
	for _, method := range []string{"DELETE", "GET /x HTTP/1.1\r\n"} {
		if x := c.Fetch(t.Context(), Request{Target: target(t, "http://h.test/p"), Method: method}); x.Status != CodeUnfetchable || !x.Permanent {
			t.Errorf("%q: %d", method, x.Status)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"GET / HTTP/1.1\r\nauthorization:Basic c2VjcmV0\r\nHost: h\r\n\r\nAuthorization: body", "GET / HTTP/1.1\r\nauthorization: Basic redacted\r\nHost: h\r\n\r\nAuthorization: body"},
		{"GET / HTTP/1.1\r\nProxy-Authorization: Digest username=\"secret\"\r\nAuthorization: secret\r\n\r\n", "GET / HTTP/1.1\r\nProxy-Authorization: Digest redacted\r\nAuthorization: redacted\r\n\r\n"},
		{"GET / HTTP/1.1\r\nAuthorization: Bearer\r\n secret\r\n\tsecret\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nAuthorization: Bearer redacted\r\nHost: h\r\n\r\n"},
		{"GET / HTTP/1.1\nAuthorization: secret\n\n", "GET / HTTP/1.1\nAuthorization: redacted\n\n"},
	}
	for _, tt := range tests {
		if got := string(Redacted([]byte(tt.in))); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	date := "Date: Sat, 21 Nov 2026 12:00:00 GMT"
	for in, want := range map[string]time.Duration{"120": 2 * time.Minute, "0": 0, "-5": 0, "soon": 0, "99999999999999999999999": maxRetryAfter,
		"Sat, 21 Nov 2026 12:05:00 GMT": 5 * time.Minute, "Sat, 21 Nov 2020 12:05:00 GMT": 0, "Sat, 21 Nov 2099 12:05:00 GMT": maxRetryAfter} {
		if got := answered(t, date, "Retry-After: "+in).RetryAfter(time.Time{}); got != want {
			t.Errorf("Retry-After %s: %s, want %s", in, got, want)
		}
	}
	h := answered(t, `Content-Type: Text/HTML ; x=y; Charset="UTF-8"`, `ETag: W/"x"`, "Last-Modified: never")
	if h.MediaType() != "text/html" || h.ETag() != `W/"x"` || h.LastModified() != "" {
		t.Errorf("%s %s %q", h.MediaType(), h.ETag(), h.LastModified())
	}
}

func TestMidFetch(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	for in, want := range map[string]string{head + "abc": "unspecified", head + "abcde": ""} {
		m := &message{rec: newRecording(make([]byte, 0, 64), "", func([]byte) {}), midFetch: func(h Head, n int64) bool { return n != 5 }}
		err := m.receive(strings.NewReader(in).Read)
		if got := m.truncation(err); got != want || m.note != "midFetchTrunc" || string(m.rec.mem) != in {
			t.Errorf("%q: truncated %q, note %q, %v", m.rec.mem, got, m.note, err)
		}
	}
}

// Lengths of which no sense can be made are not declared ones.
func TestMidFetchLength(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int64{"Content-Length: 5": 5, "Content-Length: 5\r\nContent-Length: 5": 5, "Content-Length: 5\r\nContent-Length: 6": -1,
		"Content-Length: x": -1, "Content-Length: x\r\nContent-Length: 5": -1, "Transfer-Encoding: chunked\r\nContent-Length: 5": -1, "X: y": -1} {
		got := int64(-2)
		m := &message{rec: newRecording(make([]byte, 0, 64), "", func([]byte) {}), midFetch: func(_ Head, n int64) bool { got = n; return false }}
		if err := m.receive(strings.NewReader("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n").Read); !errors.Is(err, errMidFetch) || got != want {
			t.Errorf("%q: length %d, want %d, %v", fields, got, want, err)
		}
	}
}

func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"ftp://h/", "dns:h", "mailto:x@y"} {
		if _, err := ParseTarget(bad); !errors.Is(err, ErrScheme) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{"http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://h:x/", "http://h:/"} {
		if _, err := ParseTarget(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Addresses are tried in turn, of both families, within the time for connecting.
func TestAddressesInTurn(t *testing.T) {
	t.Parallel()
	at := listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 10))
		io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	_, port, _ := net.SplitHostPort(at)
	r := Request{Target: target(t, "http://h.test:"+port+"/"), Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("127.0.0.8"), netip.MustParseAddr("::1"), loopback[0]}}
	x := client(t).Fetch(t.Context(), r)
	if x.Status != 204 || x.IP != loopback[0] {
		t.Errorf("status %d from %s, %v", x.Status, x.IP, x.Err)
	}
	x.Release()
	c := client(t)
	mixed, err := c.allowed(&r)
	if err != nil || len(mixed) != 4 || mixed[1] != netip.MustParseAddr("::1") {
		t.Errorf("%v, %v", mixed, err)
	}
	c.cfg.Allowed = Public
	if x := c.Fetch(t.Context(), r); x.Status != CodeForbidden || !x.Permanent {
		t.Errorf("status %d, %v", x.Status, x.Err)
	}
}

func packed(t testing.TB, coding string, data []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, 3)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Bytes()
}

// What is packed is unpacked, to the bound, however often and however much it is.
func TestPayloadCodings(t *testing.T) {
	t.Parallel()
	bomb := make([]byte, 3<<20)
	for _, codings := range []string{"gzip", "deflate", "br", "zstd", "gzip, br", "GZIP"} {
		for name, data := range map[string][]byte{"text": []byte("some text"), "bomb": bomb} {
			in := data
			for c := range strings.SplitSeq(strings.ToLower(codings), ", ") {
				in = packed(t, c, in)
			}
			m, err := receive(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Encoding: "+codings+"\r\n\r\n"+string(in)), 0)
			if err != nil {
				t.Fatal(err)
			}
			x := Exchange{Response: m.rec, Head: m.head}
			got, err := x.Payload(1 << 20)
			if want := data[:min(len(data), 1<<20)]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %d bytes, %v", codings, name, len(got), err)
			}
			x.Release()
		}
	}
	if got, err := payloadOf(t, "gzip,gzip,gzip,gzip,gzip", []byte("not packed")); err == nil || errors.Is(err, ErrCoding) || len(got) > 0 {
		t.Errorf("five codings: %q, %v", got, err)
	}
}

// payloadOf is the payload of a body that is said to be coded so.
func payloadOf(t *testing.T, codings string, body []byte) ([]byte, error) {
	t.Helper()
	m, err := receive(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Encoding: "+codings+"\r\n\r\n"), bytes.NewReader(body)), 0)
	if err != nil {
		t.Fatal(err)
	}
	x := Exchange{Response: m.rec, Head: m.head}
	defer x.Release()
	got, err := x.Payload(1 << 20)
	return bytes.Clone(got), err
}

// What is not coded as its head says is taken as it came, and the caller is told.
func TestUntrueCodings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("User-agent: *\nDisallow: /privé\n", 1000)
	for _, text := range []string{"User-agent: *\nDisallow: /private\n", "<a href=/x>x</a>", "x", "", long} {
		for _, codings := range []string{"UTF-8", "rot13", "text/html", "gzip", "x-gzip", "deflate", "br", "zstd", "gzip, gzip", "utf-8, identity, br"} {
			if text == "" && slices.Contains([]string{"gzip", "x-gzip", "deflate", "br", "zstd", "gzip, gzip"}, codings) {
				continue // no bytes are no content in every coding
			}
			if got, err := payloadOf(t, codings, []byte(text)); string(got) != text || !errors.Is(err, ErrCoding) {
				t.Errorf("%q said to be %s: %.60q, %v", text[:min(len(text), 60)], codings, got, err)
			}
		}
		if got, err := payloadOf(t, "UTF-8, gzip", packed(t, "gzip", []byte(text))); string(got) != text || !errors.Is(err, ErrCoding) {
			t.Errorf("%.60q packed, and said to be more: %.60q, %v", text, got, err)
		}
		for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
			if got, err := payloadOf(t, coding, packed(t, coding, []byte(text))); string(got) != text || err != nil {
				t.Errorf("%.60q in %s: %.60q, %v", text, coding, got, err)
			}
		}
	}
	// What follows is no content, unless it is coded, too.
	one := packed(t, "gzip", []byte(long))
	for _, more := range []string{"\n", "x", "<!-- cached -->\n"} {
		if got, err := payloadOf(t, "gzip", append(bytes.Clone(one), more...)); string(got) != long || err != nil {
			t.Errorf("gzip, and %q: %d bytes, %v", more, len(got), err)
		}
	}
	if got, err := payloadOf(t, "gzip", append(bytes.Clone(one), one...)); string(got) != long+long || err != nil {
		t.Errorf("gzip twice: %d bytes, %v", len(got), err)
	}
	empty := packed(t, "gzip", bytes.Repeat(packed(t, "gzip", nil), 300))
	if got, err := payloadOf(t, "gzip, gzip", empty); len(got) > 0 || err != nil {
		t.Errorf("nothing in gzip, many times: %d bytes, %v", len(got), err)
	}
	if got, err := payloadOf(t, "gzip", append(bytes.Clone(one), one[:len(one)-9]...)); !strings.HasPrefix(string(got), long) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("gzip twice, cut off: %d bytes, %v", len(got), err)
	}
	// What is coded and broken says so.
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		broken := packed(t, coding, []byte(long))
		if got, err := payloadOf(t, coding, broken[:len(broken)*2/3]); err == nil || errors.Is(err, ErrCoding) || !strings.HasPrefix(long, string(got)) {
			t.Errorf("%s cut off: %d bytes, %v", coding, len(got), err)
		}
	}
}

// A server that drips is cut off by the time for the whole fetch; what came stays.
func TestSlowDrip(t *testing.T) {
	t.Parallel()
	at := listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
			if _, err := io.WriteString(c, "."); err != nil {
				return
			}
		}
	})
	x := client(t).Fetch(t.Context(), Request{Target: target(t, "http://"+at+"/"), Addrs: loopback, Timeout: time.Second, Idle: 10 * time.Second})
	if x.Status != 200 || x.Truncated != "time" || x.BodySize == 0 {
		t.Errorf("status %d, truncated %q, %d bytes, %v", x.Status, x.Truncated, x.BodySize, x.Err)
	}
	x.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := client(t).Fetch(ctx, Request{Target: target(t, "http://"+at+"/"), Addrs: loopback}); !errors.Is(x.Err, context.Canceled) {
		t.Errorf("cancelled: %v", x.Err)
	}
}

// Chunks whose extensions never end, and more extensions than data, are cut off.
func TestChunkExtensions(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, again := range map[string]string{"one line": "1;" + strings.Repeat("x", 1000), "many chunks": "1;" + strings.Repeat("x", 1000) + "\r\na\r\n"} {
		from := &repeated{first: strings.NewReader(head), again: []byte(again)}
		m, err := receive(from, 0)
		if err == nil || m.truncation(err) != "unspecified" || from.sent > 4<<20 {
			t.Errorf("%s: %v after %d bytes", name, err, from.sent)
		}
		m.rec.release()
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	s := harvest.DefaultSettings()
	s.OperatorContact, s.HTTP2, s.Headers, s.MaxDocumentBytes = "me@test", "never", []string{"X: y"}, 0
	r := Request{Target: target(t, "http://h.test/")}
	r.Configure(&s)
	New(Config{}).complete(&r)
	if r.Timeout != s.FetchTimeout.Std() || r.Idle != s.IdleTimeout.Std() || r.MaxBody != -1 || r.HTTP2 != HTTP2Never {
		t.Errorf("%+v", r)
	}
	if got := string(r.bytes(onWire)); !strings.Contains(got, "+me@test)\r\n") || !strings.Contains(got, "Accept-Encoding: "+acceptEncoding) || !strings.Contains(got, "\r\nX: y\r\n") {
		t.Errorf("%q", got)
	}
}
