package rewrite

import "bytes"

// maxTag bounds what of a tag is in memory. In a longer one (with a picture inside an attribute, say) an attribute that
// does not fit passes as it is, and the others are rewritten all the same.
const maxTag = 1 << 20

// tag is a start or end tag. Its attributes are places in the window, counted from the scan's mark.
type tag struct {
	name   string // what known calls it
	attrs  []attr
	closed bool   // with a slash at its end
	kind   string // of a script: its type
}

// attr is one attribute of a tag.
type attr struct {
	name, nameEnd   int
	value, valueEnd int  // without quotes
	quote           byte // ' or ", 0 without
}

// came says how the reading of an attribute ended.
type came int

const (
	tagEnded    came = iota // instead of an attribute the tag's end was found
	valueRead               // the attribute is read
	noValue                 // an attribute without a value was passed
	textEnded               // within the attribute
	windowEnded             // the attribute does not fit behind what must stay in the window
)

// readTag reads the tag at pos, whose name begins skip bytes later, and goes behind it. Its attributes are handed to
// rewrite once they are all read, or, of a tag that does not fit the window, as they come. It reports false if the text
// ends within the tag.
func (s *scan) readTag(t *tag, skip int, rewrite func()) bool {
	s.mark = s.pos
	defer func() { s.mark = -1 }()
	*t = tag{attrs: t.attrs[:0]}
	i, ok := s.readName(t, skip)
	if !ok {
		return false
	}
	for {
		a, next, how := s.attribute(i, &t.closed)
		switch how {
		case valueRead:
			t.attrs = append(t.attrs, a)
		case tagEnded:
			rewrite()
			s.pos = s.mark + next
			return true
		case textEnded:
			return false
		case windowEnded:
			rewrite()
			t.attrs = t.attrs[:0]
			if i > 0 {
				s.mark, s.pos, next = s.mark+i, s.mark+i, 0
			} else if !s.passAttribute() {
				return false
			} else {
				s.mark, next = s.pos, 0
			}
		}
		i = next
	}
}

// readName reads a tag's name and returns the place behind it; false if the text ends within it, or it is absurdly
// long.
func (s *scan) readName(t *tag, i int) (int, bool) {
	var name [16]byte
	n := 0
	for {
		c, ok := s.byteAt(i)
		if !ok {
			return i, false
		}
		if isSpace(c) || c == '/' || c == '>' {
			break
		}
		if c == ':' { // the prefix of a namespace
			n = -1
		} else if n < len(name) {
			name[n] = lower(c)
		}
		n = min(n+1, len(name)+1)
		i++
	}
	if n <= len(name) {
		t.name = known(name[:n])
	}
	return i, true
}

// byteAt returns the byte i bytes behind the mark.
func (s *scan) byteAt(i int) (byte, bool) {
	for s.mark+i >= s.end {
		if !s.more() {
			return 0, false
		}
	}
	return s.buf[s.mark+i], true
}

// short says why there is no byte.
func (s *scan) short() came {
	if s.ended == nil && s.err == nil {
		return windowEnded
	}
	return textEnded
}

// attribute reads the attribute that begins at or after i, as HTML's tokenizer does.
func (s *scan) attribute(i int, closed *bool) (a attr, next int, how came) {
	*closed = false
	for {
		c, ok := s.byteAt(i)
		if !ok {
			return a, i, s.short()
		}
		if c == '>' {
			return a, i + 1, tagEnded
		}
		if c != '/' && !isSpace(c) {
			break
		}
		*closed = c == '/'
		i++
	}
	a.name = i
	i++ // even = may begin a name
	for ; ; i++ {
		c, ok := s.byteAt(i)
		if !ok {
			return a, i, s.short()
		}
		if isSpace(c) || c == '/' || c == '>' || c == '=' {
			break
		}
	}
	a.nameEnd = i
	c, i, ok := s.passSpace(i)
	if !ok {
		return a, i, s.short()
	}
	if c != '=' {
		return a, i, noValue
	}
	if c, i, ok = s.passSpace(i + 1); !ok {
		return a, i, s.short()
	}
	if c != '"' && c != '\'' {
		return s.unquoted(a, i)
	}
	a.quote, a.value = c, i+1
	for at := a.value; ; {
		if n := bytes.IndexByte(s.buf[s.mark+at:s.end], c); n >= 0 {
			a.valueEnd = at + n
			return a, a.valueEnd + 1, valueRead
		}
		at = s.end - s.mark
		if !s.more() {
			return a, at, s.short()
		}
	}
}

func (s *scan) unquoted(a attr, i int) (attr, int, came) {
	for a.value = i; ; i++ {
		c, ok := s.byteAt(i)
		if !ok {
			return a, i, s.short()
		}
		if isSpace(c) || c == '>' {
			a.valueEnd = i
			return a, i, valueRead
		}
	}
}

// passSpace returns the first byte at or after i that is no white space, and its place.
func (s *scan) passSpace(i int) (byte, int, bool) {
	for ; ; i++ {
		c, ok := s.byteAt(i)
		if !ok || !isSpace(c) {
			return c, i, ok
		}
	}
}

// passAttribute goes behind an attribute that does not fit the window.
func (s *scan) passAttribute() bool {
	s.mark = -1
	value := false
	for {
		c, ok := s.next()
		switch {
		case !ok:
			return false
		case c == '>', isSpace(c) && value:
			s.pos--
			return true
		case (c == '"' || c == '\'') && value:
			if !s.to(c) {
				return false
			}
			s.pos++
			return true
		case c == '=':
			value = true
			for c, ok = s.peek(0); ok && isSpace(c); c, ok = s.peek(0) {
				s.pos++
			}
			if c != '"' && c != '\'' {
				return s.passValue()
			}
		}
	}
}

// passValue goes to the end of a value without quotes.
func (s *scan) passValue() bool {
	for {
		c, ok := s.next()
		if !ok {
			return false
		}
		if isSpace(c) || c == '>' {
			s.pos--
			return true
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
