package fetch

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// sink is a connection that takes all that is written.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error)      { return s.Buffer.Write(p) }
func (s *sink) Read(p []byte) (int, error)       { return 0, io.EOF }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

func h2request() *Request {
	r := &Request{Target: Target{URL: "https://h.test/p?q", Scheme: "https", Host: "h.test", Port: "443", Authority: "h.test", Path: "/p?q"},
		Method: "GET", UserAgent: "test", Idle: time.Second, Cookie: "a=b"}
	return r
}

// h2receive takes what a server sent in answer to one request, and returns what it was sent.
func h2receive(t testing.TB, from io.Reader, maxBody int64, midFetch func(Head, int64) bool) (*message, []byte, error) {
	out := &sink{}
	h := newH2(out)
	r := h2request()
	m := &message{rec: newRecording(make([]byte, 0, 64), t.TempDir(), func([]byte) {}), maxBody: maxBody, midFetch: midFetch}
	err := h.exchange(t.Context(), from.Read, m, r, r.bytes(onWire))
	return m, out.Bytes(), err
}

// frames writes what a server sends.
type frames struct {
	*http2.Framer
	bytes.Buffer
	block bytes.Buffer
	enc   *hpack.Encoder
}

func newFrames() *frames {
	f := &frames{}
	f.Framer = http2.NewFramer(&f.Buffer, nil)
	f.AllowIllegalWrites = true
	f.enc = hpack.NewEncoder(&f.block)
	f.WriteSettings()
	return f
}

func (f *frames) head(end bool, pairs ...string) *frames {
	f.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		f.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	block := f.block.Bytes()
	piece := block[:min(len(block), h2Frame)]
	block = block[len(piece):]
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: piece, EndStream: end, EndHeaders: len(block) == 0})
	for len(block) > 0 {
		piece = block[:min(len(block), h2Frame)]
		block = block[len(piece):]
		f.WriteContinuation(1, len(block) == 0, piece)
	}
	return f
}

func (f *frames) body(end bool, data string) *frames {
	f.WriteData(1, end, []byte(data))
	return f
}

func (f *frames) raw(do func(f *frames)) *frames { do(f); return f }

func TestHTTP2IsRecordedAsHTTP1(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, recorded, payload, truncated, note string
		from                                     *frames
		status                                   int
	}{
		{"page", "HTTP/1.1 200 \r\ncontent-type: text/html\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\nabcdef", "abcdef", "", "", newFrames().
			head(false, ":status", "200", "content-type", "text/html", "set-cookie", "a=1", "set-cookie", "b=2").body(false, "abc").body(true, "def"), 200},
		{"no body", "HTTP/1.1 304 \r\netag: \"x\"\r\n\r\n", "", "", "", newFrames().head(true, ":status", "304", "etag", `"x"`), 304},
		{"interim and trailers", "HTTP/1.1 200 \r\n\r\nx", "x", "", "", newFrames().head(false, ":status", "103").head(false, ":status", "200").
			body(false, "x").head(true, "x-sum", "1"), 200},
		{"pings and settings between", "HTTP/1.1 200 \r\n\r\nxy", "xy", "", "", newFrames().head(false, ":status", "200").body(false, "x").
			raw(func(f *frames) {
				f.WritePing(false, [8]byte{1})
				f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			}).body(true, "y"), 200},
		{"framing fields are dropped", "HTTP/1.1 200 \r\n\r\nx", "x", "", "", newFrames().
			head(false, ":status", "200", "transfer-encoding", "chunked", "connection", "close").body(true, "x"), 200},
		{"shorter than declared", "HTTP/1.1 200 \r\ncontent-length: 9\r\n\r\nx", "x", "unspecified", "contradictingLength", newFrames().
			head(false, ":status", "200", "content-length", "9").body(true, "x"), 200},
		{"cut off", "HTTP/1.1 200 \r\n\r\nx", "x", "disconnect", "midFetchTrunc", newFrames().head(false, ":status", "200").body(false, "x"), 200},
		{"reset", "HTTP/1.1 200 \r\n\r\nx", "x", "disconnect", "midFetchTrunc", newFrames().head(false, ":status", "200").body(false, "x").
			raw(func(f *frames) { f.WriteRSTStream(1, http2.ErrCodeInternal) }), 200},
		{"garbage after the head", "HTTP/1.1 200 \r\n\r\nx", "x", "unspecified", "badFrames", newFrames().head(false, ":status", "200").body(false, "x").
			raw(func(f *frames) { f.WriteRawFrame(http2.FrameSettings, 0, 5, []byte("abc")) }), 200},
		{"too long", "HTTP/1.1 200 \r\n\r\n" + strings.Repeat("x", 30), strings.Repeat("x", 30), "length", "lenTrunc", newFrames().
			head(false, ":status", "200").body(true, strings.Repeat("x", 50)), 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
				m, _, err := h2receive(t, wrap(bytes.NewReader(tt.from.Bytes())), 30, nil)
				if m.head.Status != tt.status {
					t.Fatalf("status %d, %v", m.head.Status, err)
				}
				if got := m.truncation(err); got != tt.truncated || m.note != tt.note {
					t.Errorf("truncated %q, note %q (%v); want %q, %q", got, m.note, err, tt.truncated, tt.note)
				}
				if got := string(m.rec.mem); got != tt.recorded {
					t.Errorf("recorded %q, want %q", got, tt.recorded)
				}
				if m.rec.PayloadDigest() != Digest([]byte(tt.payload)) || m.rec.BlockDigest() != Digest([]byte(tt.recorded)) {
					t.Error("wrong digests")
				}
			}
		})
	}
}

func TestHTTP2Refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, note string
		from       *frames
	}{
		{"no status", "badStatusLine", newFrames().head(true, "content-type", "text/html")},
		{"bad status", "badStatusLine", newFrames().head(true, ":status", "2x0")},
		{"one huge field", "badFrames", newFrames().head(true, ":status", "200", "x", strings.Repeat("x", 300<<10))},
		{"head bomb", "headerTrunc", newFrames().raw(func(f *frames) {
			f.block.Reset()
			f.enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			for range 1000 { // a kilobyte each, of which all but the first are one byte on the wire
				f.enc.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 1000)})
			}
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block.Bytes(), EndStream: true, EndHeaders: true})
		})},
		{"line end in a value", "badFrames", newFrames().head(true, ":status", "200", "x", "a\r\nContent-Length: 3")},
		{"line end in a name", "badFrames", newFrames().head(true, ":status", "200", "x\r\ny", "a")},
		{"data before the head", "badFrames", newFrames().body(false, "x")},
		{"endless interims", "endlessInterim", newFrames().raw(func(f *frames) {
			for range 20 {
				f.head(false, ":status", "103")
			}
		})},
		{"push", "badFrames", newFrames().raw(func(f *frames) {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		})},
		{"large frame", "badFrames", newFrames().raw(func(f *frames) { f.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, h2Frame+1)) })},
		{"window overflow", "badFrames", newFrames().raw(func(f *frames) { f.WriteWindowUpdate(1, 1<<31-1) })},
	}
	for _, tt := range tests {
		m, _, err := h2receive(t, &tt.from.Buffer, 0, nil)
		if !errors.Is(err, errHead) || m.head.Status != 0 || m.note != tt.note {
			t.Errorf("%s: %v, status %d, note %q", tt.name, err, m.head.Status, m.note)
		}
	}
	refusals := []struct {
		from *frames
		want attempt
	}{
		{newFrames().raw(func(f *frames) { f.WriteRSTStream(1, http2.ErrCodeHTTP11Required) }), needsHTTP1},
		{newFrames().raw(func(f *frames) { f.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) }), needsHTTP1},
		{newFrames().raw(func(f *frames) { f.WriteGoAway(0, http2.ErrCodeNo, nil) }), stale},
		{newFrames().raw(func(f *frames) { f.WriteRSTStream(1, http2.ErrCodeRefusedStream) }), stale},
	}
	for i, tt := range refusals {
		m, _, err := h2receive(t, &tt.from.Buffer, 0, nil)
		if got := m.tongue(&conn{h2: &h2conn{}, received: true}, err); got != tt.want {
			t.Errorf("refusal %d: %v (%v), want %v", i, got, err, tt.want)
		}
	}
}

// repeated sends a beginning and then the same for ever.
type repeated struct {
	first io.Reader
	again []byte
	left  []byte
	sent  int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.first != nil {
		if n, err := r.first.Read(p); n > 0 || err == nil {
			return n, err
		}
		r.first = nil
	}
	if len(r.left) == 0 {
		r.left = r.again
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	r.sent += n
	return n, nil
}

func TestHTTP2Floods(t *testing.T) {
	t.Parallel()
	once := func(do func(f *frames)) []byte {
		f := newFrames()
		f.Buffer.Reset()
		do(f)
		return f.Bytes()
	}
	begun := func() *frames { return newFrames().head(false, ":status", "200") }
	opened := newFrames().raw(func(f *frames) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}})
	})
	tests := []struct {
		name  string
		first *frames
		again []byte
	}{
		{"pings", begun(), once(func(f *frames) { f.WritePing(false, [8]byte{}) })},
		{"settings", newFrames(), once(func(f *frames) { f.WriteSettings() })},
		{"empty data", begun(), once(func(f *frames) { f.WriteData(1, false, nil) })},
		{"resets of other streams", begun(), once(func(f *frames) { f.WriteRSTStream(3, http2.ErrCodeCancel) })},
		{"unknown frames", newFrames(), once(func(f *frames) { f.WriteRawFrame(0x77, 0, 0, make([]byte, 1000)) })},
		{"empty continuations", opened, once(func(f *frames) { f.WriteContinuation(1, false, nil) })},
		{"continuations", newFrames().raw(func(f *frames) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}})
		}), once(func(f *frames) { f.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, 1000)) })},
		{"padding", begun(), once(func(f *frames) { f.WriteDataPadded(1, false, nil, make([]byte, 200)) })},
	}
	for _, tt := range tests {
		from := &repeated{first: bytes.NewReader(tt.first.Bytes()), again: tt.again}
		m, out, err := h2receive(t, from, 0, nil)
		if err == nil || from.sent > 2*h2Overhead || len(out) > 4*h2Overhead {
			t.Errorf("%s: %v after %d bytes, %d written", tt.name, err, from.sent, len(out))
		}
		if !errors.Is(err, errFrames) {
			t.Errorf("%s: %v", tt.name, err)
		}
		m.rec.release()
	}
}

// An endless body is taken as far as the limit, over as many windows as that needs.
func TestHTTP2EndlessBody(t *testing.T) {
	t.Parallel()
	piece := newFrames()
	piece.Buffer.Reset()
	piece.body(false, strings.Repeat("x", h2Frame))
	m, out, err := h2receive(t, &repeated{first: bytes.NewReader(newFrames().head(false, ":status", "200").Bytes()), again: piece.Bytes()}, 5<<20, nil)
	if !errors.Is(err, errCut) || m.bodySize != 5<<20 {
		t.Errorf("%d bytes, %v", m.bodySize, err)
	}
	m.rec.release()
	updates := 0
	for in := http2.NewFramer(nil, bytes.NewReader(out[len(http2.ClientPreface):])); ; {
		f, err := in.ReadFrame()
		if err != nil {
			break
		}
		if f, ok := f.(*http2.WindowUpdateFrame); ok && f.StreamID == 1 {
			updates++
		}
	}
	if updates < 8 {
		t.Errorf("%d updates of the stream's window", updates)
	}
}

func TestHTTP2MidFetch(t *testing.T) {
	t.Parallel()
	var length int64
	m, _, err := h2receive(t, &newFrames().head(false, ":status", "200", "content-length", "5").body(true, "abcde").Buffer, 0,
		func(h Head, n int64) bool { length = n; return h.Status != 200 })
	if got := m.truncation(err); got != "unspecified" || m.note != "midFetchTrunc" || length != 5 || m.bodySize != 0 {
		t.Errorf("%q, note %q, length %d, %d bytes", got, m.note, length, m.bodySize)
	}
}

func FuzzHTTP2(f *testing.F) {
	f.Add(newFrames().head(false, ":status", "200", "content-length", "3").body(true, "abc").Bytes())
	f.Add(newFrames().head(false, ":status", "103").head(true, ":status", "204").Bytes())
	f.Add(newFrames().raw(func(f *frames) { f.WriteGoAway(1, 0, nil) }).head(false, ":status", "200").body(false, "abc").head(true, "x", "y").Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		m, _, err := h2receive(t, bytes.NewReader(in), 1000, nil)
		if m.head.Status == 0 {
			if err == nil {
				t.Fatal("neither a head nor an error")
			}
			return
		}
		head := m.rec.mem[:m.rec.headLen]
		if again, ok := parseHead(head); !ok || again.Status != m.head.Status || headEnd(head, 0) != len(head) {
			t.Fatalf("recorded %q", head)
		}
		if m.bodySize > 1000 || m.rec.size != int64(m.rec.headLen)+m.bodySize {
			t.Fatalf("%d bytes of %d", m.bodySize, m.rec.size)
		}
	})
}
