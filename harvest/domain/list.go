package domain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"holdfast/harvest"
)

// maxLine is the longest line of a list, in bytes.
const maxLine = 4096

// Line is a line of a list that has something in it.
type Line struct {
	Number int64  // from 1
	End    int64  // bytes of the list up to the next line
	Text   string // without comment and white space
	Bad    error  // why the line cannot be used; it wraps harvest.ErrInvalid
}

// Lines reads a list line by line, in memory that does not depend on the list: UTF-8, with or without a byte order
// mark, lines ending with LF or CRLF. Empty lines are left out, as are comments: a # at the beginning of a line, or
// after white space. It is not safe for concurrent use.
type Lines struct {
	in     *bufio.Reader
	number int64
	end    int64
}

// NewLines begins to read a list.
func NewLines(in io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(in, maxLine+2)} }

// Next returns the next line that is not empty. A line that is too long, or no UTF-8, is returned as bad. The error is
// io.EOF at the end of the list, or that of reading it.
func (l *Lines) Next() (Line, error) {
	for {
		text, long, err := l.line()
		if err != nil {
			return Line{}, err
		}
		at := Line{Number: l.number, End: l.end}
		switch {
		case long:
			at.Bad = fmt.Errorf("%w: the line is longer than %d bytes", harvest.ErrInvalid, maxLine)
		case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
			at.Bad = fmt.Errorf("%w: the list is UTF-16; want UTF-8", harvest.ErrInvalid)
		case !utf8.Valid(text):
			at.Bad = fmt.Errorf("%w: the line is not UTF-8; is it Latin-1?", harvest.ErrInvalid)
		default:
			at.Text = withoutComment(string(text))
		}
		if at.Bad != nil || at.Text != "" {
			return at, nil
		}
	}
}

// line reads a line. Of one that is too long, the rest is passed over.
func (l *Lines) line() (text []byte, long bool, err error) {
	text, err = l.in.ReadSlice('\n')
	l.end += int64(len(text))
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		var more []byte
		more, err = l.in.ReadSlice('\n')
		l.end += int64(len(more))
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
		return nil, false, err
	}
	if l.number++; l.number == 1 {
		text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	}
	text = bytes.TrimRight(text, "\r\n")
	return text, long || len(text) > maxLine, nil
}

// withoutComment takes the comment off a line. In a URL, # begins a fragment.
func withoutComment(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		return ""
	}
	for i := range len(text) - 1 {
		if text[i+1] == '#' && (text[i] == ' ' || text[i] == '\t') {
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}

// List reads a list of domains, one on a line. It is not safe for concurrent use.
type List struct{ lines *Lines }

// NewList begins to read a list of domains.
func NewList(in io.Reader) *List { return &List{NewLines(in)} }

// Next returns the next line, with the name of the domain as its text, or bad. The error is io.EOF at the end of the
// list, or that of reading it.
func (l *List) Next() (Line, error) {
	line, err := l.lines.Next()
	if err != nil || line.Bad != nil {
		return line, err
	}
	name, bad := Parse(line.Text)
	if bad != nil {
		line.Bad = bad
	} else {
		line.Text = name
	}
	return line, nil
}
