package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Limits on what a server may send over HTTP/2 besides the content.
const (
	h2Window   = 1 << 20  // bytes of content on their way at a time
	h2Overhead = 1 << 20  // bytes that are not content, in one exchange
	h2PerByte  = 16       // and as many more for each byte of content
	h2Frame    = 16 << 10 // the largest frame
	h2MaxBlock = 1 << 31  // the end of a flow control window
)

var (
	errFrames     = errors.New("broken HTTP/2")
	errNeedsHTTP1 = errors.New("the server wants HTTP/1.1")
	errRefused    = errors.New("the server did not take the request")
)

// h2conn speaks HTTP/2 over one connection, one request at a time.
type h2conn struct {
	nc      net.Conn
	in      h2wire
	out     *bufio.Writer
	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer // the encoder's
	next    uint32       // the next stream's id
	window  int64        // what may still be sent over the connection
	initial int64        // what may be sent over a new stream
	room    int64        // how much the server may still send over the connection
	ending  bool         // no further request
}

// h2wire counts what is read, so that a server cannot send bytes without content for ever.
type h2wire struct {
	read func([]byte) (int, error)
	m    *message
	size int64
}

func (w *h2wire) Read(p []byte) (int, error) {
	if w.size-h2PerByte*w.m.bodySize > h2Overhead {
		return 0, fmt.Errorf("%w: more than %d bytes of frames without content", errFrames, h2Overhead)
	}
	n, err := w.read(p)
	w.size += int64(n)
	return n, err
}

// newH2 speaks HTTP/2 over nc, on which both sides have agreed to it.
func newH2(nc net.Conn) *h2conn {
	h := &h2conn{nc: nc, out: bufio.NewWriterSize(nc, 4<<10), next: 1, window: 65535, initial: 65535, room: h2Window}
	h.framer = http2.NewFramer(h.out, bufio.NewReaderSize(&h.in, h2Frame))
	h.framer.SetReuseFrames()
	h.framer.SetMaxReadFrameSize(h2Frame)
	h.framer.MaxHeaderListSize = maxHead
	h.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.encoder = hpack.NewEncoder(&h.block)
	return h
}

// usable tells whether another request can be sent.
func (h *h2conn) usable() bool { return !h.ending && h.next < 1<<30 }

// h2stream is one request and its response.
type h2stream struct {
	*h2conn
	id      uint32
	m       *message
	body    []byte // of the request, not sent yet
	window  int64  // what may still be sent
	room    int64  // how much the server may still send
	length  int64  // as declared; -1: not
	interim int
	ended   bool // by the server
}

// exchange sends the request, given as HTTP/1.1 has it, and receives the response into m. It reads with read.
func (h *h2conn) exchange(ctx context.Context, read func([]byte) (int, error), m *message, r *Request,
	wire []byte) error {
	s := &h2stream{h2conn: h, id: h.next, m: m, window: h.initial, room: h2Window, length: -1}
	h.in = h2wire{read: read, m: m}
	h.next += 2
	if err := s.request(ctx, r, wire); err != nil {
		h.ending = true
		return err
	}
	for !s.ended {
		f, err := h.framer.ReadFrame()
		if err != nil {
			h.ending = true
			return s.broken(f, err)
		}
		if err := s.handle(f); err != nil {
			h.ending = true
			return err
		}
		if m.done && !s.ended { // a response without a body whose stream continues
			h.ending = true
			return nil
		}
		if err := s.push(r.Idle); err != nil {
			h.ending = true
			return err
		}
	}
	h.ending = h.ending || len(s.body) > 0
	if m.done = true; s.length >= 0 && s.length != m.bodySize && m.framing != noBody {
		m.note = "contradictingLength"
	}
	return nil
}

// request sends the head, and of the body what may be sent at once.
func (s *h2stream) request(ctx context.Context, r *Request, wire []byte) error {
	s.nc.SetWriteDeadline(time.Now().Add(r.Idle))
	if s.id == 1 {
		s.out.WriteString(http2.ClientPreface)
		s.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2Window},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHead})
		s.framer.WriteWindowUpdate(0, h2Window-65535)
	}
	end := headEnd(wire, 0)
	s.body = wire[end:]
	s.encodeHead(r, wire[:end])
	block := s.block.Bytes()
	piece := block[:min(len(block), h2Frame)]
	block = block[len(piece):]
	err := s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: piece,
		EndStream: len(s.body) == 0, EndHeaders: len(block) == 0})
	for len(block) > 0 && err == nil {
		piece = block[:min(len(block), h2Frame)]
		block = block[len(piece):]
		err = s.framer.WriteContinuation(s.id, len(block) == 0, piece)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.push(r.Idle)
}

// encodeHead compresses the head of an HTTP/1.1 request.
func (s *h2stream) encodeHead(r *Request, head []byte) {
	s.block.Reset()
	line, head := cutLine(head)
	words := strings.Fields(string(line))
	s.encoder.WriteField(hpack.HeaderField{Name: ":method", Value: words[0]})
	s.encoder.WriteField(hpack.HeaderField{Name: ":scheme", Value: r.Target.Scheme})
	s.encoder.WriteField(hpack.HeaderField{Name: ":authority", Value: r.Target.Authority})
	s.encoder.WriteField(hpack.HeaderField{Name: ":path", Value: words[1]})
	for len(head) > 0 {
		if line, head = cutLine(head); len(line) == 0 {
			return
		}
		name, value, _ := strings.Cut(string(line), ":")
		if name = strings.ToLower(name); name == "host" {
			continue
		}
		s.encoder.WriteField(hpack.HeaderField{Name: name, Value: strings.TrimSpace(value),
			Sensitive: name == "authorization" || name == "cookie"})
	}
}

// push sends of the body what flow control allows, and all that was written so far.
func (s *h2stream) push(idle time.Duration) error {
	if len(s.body) > 0 || s.out.Buffered() > 0 {
		s.nc.SetWriteDeadline(time.Now().Add(idle))
	}
	for len(s.body) > 0 {
		n := min(int64(len(s.body)), s.window, s.h2conn.window, h2Frame)
		if n <= 0 {
			break
		}
		if err := s.framer.WriteData(s.id, n == int64(len(s.body)), s.body[:n]); err != nil {
			return err
		}
		s.body = s.body[n:]
		s.window -= n
		s.h2conn.window -= n
	}
	if s.out.Buffered() == 0 {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// broken translates an error of reading a frame.
func (s *h2stream) broken(f http2.Frame, err error) error {
	var ofStream http2.StreamError
	var ofConn http2.ConnectionError
	if mh, ok := f.(*http2.MetaHeadersFrame); ok && mh != nil && mh.Truncated {
		return s.malformed("headerTrunc", "head longer than %d bytes", maxHead)
	}
	if errors.As(err, &ofStream) || errors.As(err, &ofConn) || errors.Is(err, http2.ErrFrameTooLarge) ||
		errors.Is(err, errFrames) {
		return s.malformed("badFrames", "%w", err)
	}
	if s.m.head.Status == 0 && !errors.Is(err, io.EOF) {
		return err
	}
	return noEOF(err)
}

// malformed is the error for bytes that are not HTTP/2; before the header is complete, it is noted as the reason why
// there is none.
func (s *h2stream) malformed(note, format string, args ...any) error {
	err := fmt.Errorf("%w: "+format, append([]any{errFrames}, args...)...)
	if s.m.head.Status != 0 {
		return err
	}
	s.m.note = note
	return fmt.Errorf("%w: %w", errHead, err)
}

// handle takes one frame.
func (s *h2stream) handle(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.DataFrame:
		return s.data(f)
	case *http2.MetaHeadersFrame:
		if f.StreamID != s.id {
			return s.malformed("badFrames", "head of stream %d", f.StreamID)
		}
		return s.head(f)
	case *http2.SettingsFrame:
		return s.settings(f)
	case *http2.WindowUpdateFrame:
		switch f.StreamID {
		case 0:
			s.h2conn.window += int64(f.Increment)
		case s.id:
			s.window += int64(f.Increment)
		}
		if max(s.window, s.h2conn.window) >= h2MaxBlock {
			return s.malformed("badFrames", "window too large")
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return s.framer.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame:
		if f.StreamID == s.id {
			return s.reset(f.ErrCode)
		}
	case *http2.GoAwayFrame:
		s.ending = true
		if f.LastStreamID < s.id {
			if f.ErrCode == http2.ErrCodeNo {
				return errRefused
			}
			return s.reset(f.ErrCode)
		}
	case *http2.PushPromiseFrame:
		return s.malformed("badFrames", "a push that was not wanted")
	}
	return nil
}

// reset translates the server's reason for resetting the stream.
func (s *h2stream) reset(code http2.ErrCode) error {
	switch {
	case s.m.head.Status == 0 && code == http2.ErrCodeHTTP11Required:
		return errNeedsHTTP1
	case s.m.head.Status == 0 && code == http2.ErrCodeRefusedStream:
		return errRefused
	}
	return fmt.Errorf("stream reset by the server: %s", code)
}

func (s *h2stream) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	err := f.ForeachSetting(func(v http2.Setting) error {
		if err := v.Valid(); err != nil {
			return err
		}
		switch v.ID {
		case http2.SettingInitialWindowSize:
			s.window += int64(v.Val) - s.initial
			s.initial = int64(v.Val)
		case http2.SettingHeaderTableSize:
			s.encoder.SetMaxDynamicTableSize(min(v.Val, 4096))
		}
		return nil
	})
	if err != nil {
		return s.malformed("badFrames", "%w", err)
	}
	return s.framer.WriteSettingsAck()
}
