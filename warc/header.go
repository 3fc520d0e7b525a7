package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// note receives faults of a file that reading can get past.
type note func(code, message string)

// bufferedLines reads lines off a bufio.Reader whose buffer is at least MaxLine long.
type bufferedLines struct{ *bufio.Reader }

// line returns the next line with its line end, valid until the next call; at the end of the input it returns the
// rest, then io.EOF. A line over MaxLine is ErrLimit.
func (b bufferedLines) line() ([]byte, error) {
	l, err := b.ReadSlice('\n')
	switch {
	case len(l) > MaxLine || errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line of more than %d bytes: %w", MaxLine, ErrLimit)
	case err == io.EOF && len(l) > 0:
		return l, nil
	}
	return l, err
}

// readLines gathers the lines up to and with the empty one behind what text already holds.
// It returns io.ErrUnexpectedEOF when the input ends before.
func readLines(in bufferedLines, text []byte) ([]byte, error) {
	for n := 0; ; n++ {
		l, err := in.line()
		if err == io.EOF {
			return text, io.ErrUnexpectedEOF
		}
		if err != nil {
			return text, err
		}
		text = append(text, l...)
		if blank(l) {
			return text, nil
		}
		if n > MaxFields || len(text) > MaxHeader {
			return text, fmt.Errorf("header of more than %d lines or %d bytes: %w", MaxFields, MaxHeader, ErrLimit)
		}
	}
}

// blank reports whether a line holds nothing but its end.
func blank(l []byte) bool { return len(bytes.TrimRight(l, "\r\n")) == 0 }

// parseFields cuts the lines of text, which ends with an empty one, into fields that share its memory.
func parseFields(text string, say note) Header {
	if say == nil {
		say = func(string, string) {}
	}
	h := make(Header, 0, strings.Count(text, "\n"))
	for len(text) > 0 {
		var line string
		line, text = cutLine(text, say)
		if line == "" {
			continue
		}
		if folded(line) {
			say("stray-continuation", fmt.Sprintf("%.60q", line))
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			say("header-no-colon", fmt.Sprintf("%.60q", line))
			continue
		}
		value = strings.TrimSpace(value)
		if folded(text) {
			value, text = unfold(value, text, say)
		}
		if !token(name) {
			say("header-name", fmt.Sprintf("%.60q", name))
		}
		if !utf8.ValidString(value) {
			say("header-not-utf8", fmt.Sprintf("%.60q", value))
		}
		h = append(h, Field{strings.TrimSpace(name), value})
	}
	return h
}

// cutLine takes the first line off text, without its end.
func cutLine(text string, say note) (line, rest string) {
	line = text
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		line, rest = text[:i+1], text[i+1:]
	}
	if !strings.HasSuffix(line, "\r\n") {
		say("lf-line-end", fmt.Sprintf("%.60q", line))
	}
	return strings.TrimRight(line, "\r\n"), rest
}

// folded reports whether a line continues the one before.
func folded(line string) bool { return line != "" && (line[0] == ' ' || line[0] == '\t') }

// unfold adds the lines at the beginning of text that continue value.
func unfold(value, text string, say note) (whole, rest string) {
	parts := []string{value}
	for folded(text) {
		var line string
		line, text = cutLine(text, say)
		parts = append(parts, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(parts, " ")), text
}

// token reports whether s can be a field name.
func token(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// versionLine returns the version in a line such as "WARC/1.1\r\n".
func versionLine(line []byte) (string, bool) {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) < 8 || !bytes.EqualFold(line[:5], []byte("WARC/")) {
		return "", false
	}
	switch v := line[5:]; {
	case string(v) == "1.1":
		return "1.1", true
	case string(v) == "1.0":
		return "1.0", true
	default:
		major, minor, ok := bytes.Cut(v, []byte("."))
		if !ok || len(v) > 9 || !digits(string(major)) || !digits(string(minor)) {
			return "", false
		}
		return string(v), true
	}
}

// digits reports whether s is a decimal number without sign.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// contentLength reads the Content-Length of a record.
func contentLength(h Header) (int64, error) {
	v := h.Get("Content-Length")
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || !digits(v) {
		return 0, fmt.Errorf("Content-Length %.40q: %w", v, ErrHeader)
	}
	return n, nil
}
