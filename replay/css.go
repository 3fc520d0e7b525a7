package replay

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/cdx"
)

// rewriteCSS copies a style sheet and rewrites the URLs in url() and @import.
// Every other byte passes as it is; memory is bounded.
func rewriteCSS(w io.Writer, r io.Reader, l *links) error {
	s := &cssRewriter{in: bufio.NewReaderSize(r, 1<<16), out: bufio.NewWriter(w), links: l}
	err := s.run()
	if flushed := s.out.Flush(); err == io.EOF {
		err = flushed
	}
	return err
}

// rewriteStyle rewrites the style of one element.
func rewriteStyle(style string, l *links) string {
	var b strings.Builder
	if err := rewriteCSS(&b, strings.NewReader(style), l); err != nil {
		return style
	}
	return b.String()
}

type cssRewriter struct {
	in    *bufio.Reader
	out   *bufio.Writer
	links *links

	word      []byte // the name being read, lower-case, at most maxWord bytes
	importing bool   // after @import, until its URL or a semicolon
}

const maxWord = 16

// run ends with io.EOF, or the reader's or writer's error.
func (s *cssRewriter) run() error {
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case c == '/':
			err = s.comment()
		case c == '"' || c == '\'':
			err = s.quoted(c)
		case c == '(' && string(s.word) == "url":
			err = s.url()
		case c == '\\':
			err = s.escaped()
		default:
			if err := s.out.WriteByte(c); err != nil {
				return err
			}
			s.name(c)
			continue
		}
		s.word = s.word[:0]
		if err != nil {
			return err
		}
	}
}

// name follows the name that is being read.
func (s *cssRewriter) name(c byte) {
	switch {
	case c == '@', c == '-', c == '_', c >= 0x80, 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9':
		if len(s.word) < maxWord {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			s.word = append(s.word, c)
		}
		return
	case c == ';' || c == '{' || c == '}':
		s.importing = false
	}
	if string(s.word) == "@import" && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
		s.importing = true
	}
	s.word = s.word[:0]
}

// escaped copies a backslash and the byte after it, which begins no string and no comment.
func (s *cssRewriter) escaped() error {
	s.out.WriteByte('\\')
	c, err := s.in.ReadByte()
	if err != nil {
		return err
	}
	return s.out.WriteByte(c)
}

// comment copies a slash, and a comment if it begins one.
func (s *cssRewriter) comment() error {
	if string(s.word) == "@import" {
		s.importing = true
	}
	s.out.WriteByte('/')
	if next, err := s.in.Peek(1); err != nil || next[0] != '*' {
		return nil
	}
	s.in.ReadByte()
	s.out.WriteByte('*')
	star := false
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if err := s.out.WriteByte(c); err != nil {
			return err
		}
		if star && c == '/' {
			return nil
		}
		star = c == '*'
	}
}

// quoted copies a string; after @import it is a URL.
func (s *cssRewriter) quoted(quote byte) error {
	isURL := s.importing || string(s.word) == "@import"
	s.importing = false
	if !isURL {
		s.out.WriteByte(quote)
		return s.restOfString(quote)
	}
	text, ended, err := s.collect(func(c byte) bool { return c == quote || c == '\n' })
	s.out.WriteByte(quote)
	if ended && len(text) > 0 && text[len(text)-1] == quote {
		s.writeURL(text[:len(text)-1], "cs_")
		return s.out.WriteByte(quote)
	}
	s.out.Write(text)
	if err == nil && !ended {
		err = s.restOfString(quote)
	}
	return err
}

// restOfString copies up to the end of a string.
func (s *cssRewriter) restOfString(quote byte) error {
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if err := s.out.WriteByte(c); err != nil {
			return err
		}
		switch c {
		case quote, '\n':
			return nil
		case '\\':
			c, err := s.in.ReadByte()
			if err != nil {
				return err
			}
			if err := s.out.WriteByte(c); err != nil {
				return err
			}
		}
	}
}

// collect reads up to and with a byte that ends it, at most as much as a URL may
// have. Escaped bytes never end it.
func (s *cssRewriter) collect(end func(byte) bool) (text []byte, ended bool, err error) {
	for len(text) < cdx.MaxURL {
		c, err := s.in.ReadByte()
		if err != nil {
			return text, false, err
		}
		text = append(text, c)
		if c == '\\' {
			if c, err = s.in.ReadByte(); err != nil {
				return text, false, err
			}
			text = append(text, c)
			continue
		}
		if end(c) {
			return text, true, nil
		}
	}
	return text, false, nil
}

// url copies the content of url(…), rewritten.
func (s *cssRewriter) url() error {
	modifier := "im_"
	if s.importing {
		modifier, s.importing = "cs_", false
	}
	s.out.WriteByte('(')
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' {
			s.out.WriteByte(c)
			continue
		}
		s.in.UnreadByte()
		break
	}
	first, _ := s.in.Peek(1)
	if first[0] == '"' || first[0] == '\'' {
		quote, _ := s.in.ReadByte()
		s.out.WriteByte(quote)
		text, ended, err := s.collect(func(c byte) bool { return c == quote || c == '\n' })
		if ended && text[len(text)-1] == quote {
			s.writeURL(text[:len(text)-1], modifier)
			return s.out.WriteByte(quote)
		}
		s.out.Write(text)
		if err == nil && !ended {
			err = s.restOfString(quote)
		}
		return err
	}
	text, ended, err := s.collect(func(c byte) bool { return c == ')' })
	if !ended {
		s.out.Write(text)
		return err
	}
	trimmed := bytes.TrimRight(text[:len(text)-1], " \t\r\n\f")
	if bytes.ContainsAny(trimmed, "\"'(") {
		s.out.Write(text)
		return nil
	}
	s.writeURL(trimmed, modifier)
	_, err = s.out.Write(text[len(trimmed):])
	return err
}

// writeURL writes a reference rewritten, or as it is if it must stay.
func (s *cssRewriter) writeURL(raw []byte, modifier string) {
	to, ok := s.links.rewrite(asUTF8(unescapeCSS(string(raw))), modifier)
	if !ok {
		s.out.Write(raw)
		return
	}
	s.out.WriteString(cssSafe(to))
}

// cssSafe escapes what could end a URL in a style sheet or the element around it.
func cssSafe(url string) string {
	return strings.NewReplacer("'", "%27", `"`, "%22", "(", "%28", ")", "%29", `\`, "%5C", " ", "%20", "<", "%3C", "\n",
		"").Replace(url)
}

// asUTF8 percent-encodes the bytes of text that is not UTF-8, as older browsers sent them.
func asUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 0x80 {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c), 16)))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeCSS undoes backslash escapes.
func unescapeCSS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n := 0
		for n < 6 && i+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+n]) >= 0 {
			n++
		}
		switch {
		case n > 0:
			code, _ := strconv.ParseUint(s[i:i+n], 16, 32)
			b.WriteRune(rune(code))
			if i += n; i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
				i++
			}
			i--
		case s[i] == '\n':
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
