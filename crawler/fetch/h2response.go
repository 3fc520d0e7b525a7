package fetch

import (
	"strconv"

	"golang.org/x/net/http2"
)

// head takes the head of the response, an interim one, or trailers.
func (s *h2stream) head(f *http2.MetaHeadersFrame) error {
	m := s.m
	if f.Truncated {
		return s.malformed("headerTrunc", "head longer than %d bytes", maxHead)
	}
	if m.head.Status != 0 { // trailers: HTTP/1.1 has them in the chunked coding, which is not there
		if s.ended = f.StreamEnded(); !s.ended {
			return s.malformed("badFrames", "a second head")
		}
		return nil
	}
	status := f.PseudoValue("status")
	if len(status) != 3 || !digits(status) || status < "100" {
		return s.malformed("badStatusLine", "status %.20q", status)
	}
	if status < "200" {
		if s.interim++; s.interim > maxInterim || f.StreamEnded() || status == "101" {
			return s.malformed("endlessInterim", "interim responses without a response")
		}
		return nil
	}
	return s.begin(f, status)
}

// begin writes the head down as HTTP/1.1 has it, the fields in their order and as they are spelled. The fields that
// HTTP/2 forbids, as they would say something else of the body than is true, are left out.
func (s *h2stream) begin(f *http2.MetaHeadersFrame, status string) error {
	m := s.m
	text := append(make([]byte, 0, 1024), "HTTP/1.1 "...)
	text = append(append(text, status...), " \r\n"...)
	for _, h := range f.RegularFields() {
		switch h.Name {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			continue
		case "content-length":
			n, err := strconv.ParseInt(h.Value, 10, 64)
			if err != nil || n < 0 || s.length >= 0 && s.length != n {
				m.note = "contradictingLength"
			} else {
				s.length = n
			}
		}
		text = append(append(text, h.Name...), ": "...)
		text = append(append(text, h.Value...), "\r\n"...)
	}
	text = append(text, "\r\n"...)
	head, ok := parseHead(text)
	if !ok || len(text) > 2*maxHead {
		return s.malformed("badStatusLine", "a head that cannot be written down")
	}
	if err := m.rec.keepAll(text); err != nil {
		return err
	}
	m.head, m.rec.headLen, m.rec.whole, m.framing = head, len(text), true, byClose
	if s.ended = f.StreamEnded(); m.headOnly || head.Status == 204 || head.Status == 304 {
		m.framing, m.done = noBody, true
	}
	return m.goOn(s.length, s.ended || m.done)
}

// data takes a piece of the body.
func (s *h2stream) data(f *http2.DataFrame) error {
	size := int64(f.Length)
	if s.h2conn.room -= size; s.h2conn.room < 0 {
		return s.malformed("badFrames", "more than flow control allows")
	}
	if f.StreamID != s.id {
		if f.StreamID > s.id || f.StreamID%2 == 0 {
			return s.malformed("badFrames", "data of stream %d", f.StreamID)
		}
		return s.refill()
	}
	if s.m.head.Status == 0 {
		return s.malformed("badFrames", "data before the head")
	}
	if s.room -= size; s.room < 0 {
		return s.malformed("badFrames", "more than flow control allows")
	}
	for data := f.Data(); len(data) > 0; {
		space := s.m.rec.space()
		n := copy(space, data)
		if kept := s.m.body(space[:n]); kept.err != nil {
			return kept.err
		}
		data = data[n:]
	}
	if s.ended = f.StreamEnded(); s.ended {
		return nil
	}
	return s.refill()
}

// refill lets the server send more, once half of its allowance is used up.
func (s *h2stream) refill() error {
	if used := h2Window - s.h2conn.room; used >= h2Window/2 {
		s.h2conn.room = h2Window
		if err := s.framer.WriteWindowUpdate(0, uint32(used)); err != nil {
			return err
		}
	}
	if used := h2Window - s.room; used >= h2Window/2 {
		s.room = h2Window
		return s.framer.WriteWindowUpdate(s.id, uint32(used))
	}
	return nil
}

// keepAll records a head that was put together, at the start of the recording.
func (r *Recording) keepAll(head []byte) error {
	if cap(r.mem) < len(head) {
		r.give(r.mem)
		r.mem = make([]byte, 0, 2*len(head))
	}
	r.mem = append(r.mem[:0], head...)
	r.size = int64(len(head))
	r.block.Write(head)
	return nil
}
