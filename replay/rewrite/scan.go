package rewrite

import (
	"bytes"
	"io"
)

// scan is a window onto a text that is copied. What is passed over is written as it is, but for spans that are
// replaced; the window holds only what is being looked at.
type scan struct {
	in    io.Reader
	out   io.Writer
	buf   []byte
	done  int // bytes before are written
	mark  int // bytes from here stay in the window; -1: none need to
	pos   int // what is looked at next
	end   int // of what the window holds
	bound int // bytes that the window may grow to

	ended error // why nothing more comes; nil while more may
	err   error // of the first write that failed
}

func newScan(out io.Writer, in io.Reader, size, bound int) *scan {
	return &scan{in: in, out: out, buf: make([]byte, size), mark: -1, bound: bound}
}

// scanText looks at a text in memory.
func scanText(out io.Writer, text []byte) *scan {
	return &scan{out: out, buf: text, end: len(text), mark: -1, ended: io.EOF}
}

// more reads on. It reports false when nothing more comes, or the window is full with what must stay.
func (s *scan) more() bool {
	if s.ended != nil || s.err != nil {
		return false
	}
	keep := s.pos
	if s.mark >= 0 {
		keep = min(keep, s.mark)
	}
	s.flush(keep)
	if keep > 0 {
		s.end = copy(s.buf, s.buf[keep:s.end])
		s.pos, s.done = s.pos-keep, s.done-keep
		if s.mark >= 0 {
			s.mark -= keep
		}
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= s.bound {
			return false
		}
		larger := make([]byte, min(2*len(s.buf), s.bound))
		copy(larger, s.buf)
		s.buf = larger
	}
	for range 100 {
		n, err := s.in.Read(s.buf[s.end:])
		s.end += n
		if err != nil {
			s.ended = err
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	s.ended = io.ErrNoProgress
	return false
}

// next returns the byte at pos and goes past it; false if there is none.
func (s *scan) next() (byte, bool) {
	if s.pos == s.end && !s.more() {
		return 0, false
	}
	c := s.buf[s.pos]
	s.pos++
	return c, true
}

// peek returns the byte i bytes after pos; false if there is none.
func (s *scan) peek(i int) (byte, bool) {
	for s.pos+i >= s.end {
		if !s.more() {
			return 0, false
		}
	}
	return s.buf[s.pos+i], true
}

// begins reports whether the text at pos begins with a prefix in lower case, whatever its own case.
func (s *scan) begins(prefix string) bool {
	for i := range len(prefix) {
		if c, ok := s.peek(i); !ok || lower(c) != prefix[i] {
			return false
		}
	}
	return true
}

// exactly reports whether the text at pos begins with a prefix.
func (s *scan) exactly(prefix string) bool {
	if _, ok := s.peek(len(prefix) - 1); !ok {
		return false
	}
	return string(s.buf[s.pos:s.pos+len(prefix)]) == prefix
}

// to goes to the next byte c at or after pos; false, at the end of the text, if there is none.
func (s *scan) to(c byte) bool {
	for {
		if i := bytes.IndexByte(s.buf[s.pos:s.end], c); i >= 0 {
			s.pos += i
			return true
		}
		s.pos = s.end
		if !s.more() {
			return false
		}
	}
}

// past goes behind the next such text at or after pos, in lower case; to the end if there is none. The text must not
// begin with a byte that it has again further on, except that it may repeat its first.
func (s *scan) past(text string) bool {
	for s.to(text[0]) {
		if s.begins(text) {
			s.pos += len(text)
			return true
		}
		s.pos++
	}
	return false
}

// flush writes what comes before to and is not written yet.
func (s *scan) flush(to int) {
	if to <= s.done {
		return
	}
	if s.err == nil {
		_, s.err = s.out.Write(s.buf[s.done:to])
	}
	s.done = to
}

// replace writes text in place of the bytes from..to of the window, which are not written yet.
func (s *scan) replace(from, to int, text string) {
	s.flush(from)
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
	s.done = to
}

// finish writes the rest of the window. It returns why the text was not copied to its end; nil if it was.
func (s *scan) finish() error {
	s.pos, s.mark = s.end, -1
	s.flush(s.end)
	switch {
	case s.err != nil:
		return s.err
	case s.ended != io.EOF:
		return s.ended
	}
	return nil
}

// lower is the byte, in lower case if it is a letter of ASCII.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// part is the text of a scan up to where stop reports true at a byte. What it hands out the scan does not write.
type part struct {
	of   *scan
	at   byte
	stop func() bool
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	s := p.of
	if len(b) == 0 {
		return 0, nil
	}
	s.flush(s.pos)
	if s.pos == s.end && !s.more() {
		return 0, io.EOF
	}
	n := s.end - s.pos
	switch i := bytes.IndexByte(s.buf[s.pos:s.end], p.at); {
	case i > 0:
		n = i
	case i == 0 && p.stop():
		return 0, io.EOF
	case i == 0:
		n = 1
	}
	n = copy(b, s.buf[s.pos:s.pos+n])
	s.pos += n
	s.done = s.pos
	return n, nil
}
