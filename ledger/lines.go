package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lines reads a file line by line, and says in errors where it is.
type lines struct {
	file string
	in   *bufio.Reader
	at   int
	next string // read ahead
	have bool
}

func newLines(file string, in io.Reader) *lines {
	return &lines{file: file, in: bufio.NewReaderSize(in, 64<<10)}
}

// peek returns the next line without taking it, and io.EOF at the end of the file.
func (l *lines) peek() (string, error) {
	if l.have {
		return l.next, nil
	}
	text, err := l.in.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF) && len(text) == 0:
		return "", io.EOF
	case errors.Is(err, io.EOF):
		l.at++
		return "", l.wrong("the line has no end: the file is cut off")
	case errors.Is(err, bufio.ErrBufferFull) || err == nil && len(text) > maxLine:
		l.at++
		return "", l.wrong("the line is longer than %d bytes", maxLine)
	case err != nil:
		return "", fmt.Errorf("read %s: %w", l.file, err)
	}
	l.at++
	l.next, l.have = string(text[:len(text)-1]), true
	return l.next, nil
}

// take returns the next line.
func (l *lines) take() (string, error) {
	text, err := l.peek()
	l.have = false
	if errors.Is(err, io.EOF) {
		return "", wrong(l.file, "ends behind line %d: the file is cut off", l.at)
	}
	return text, err
}

// value takes a line "# key value" and returns the value.
func (l *lines) value(key string) (string, error) {
	text, err := l.take()
	if err != nil {
		return "", err
	}
	value, ok := strings.CutPrefix(text, "# "+key+" ")
	if !ok || value == "" {
		return "", l.wrong("%q is not the line \"# %s …\" that has to stand here", clip(text), key)
	}
	return value, nil
}

// words takes a line "# key word word …" of as many words as are given, and assigns them.
func (l *lines) words(key string, to ...*string) error {
	value, err := l.value(key)
	if err != nil {
		return err
	}
	return l.split(value, to...)
}

func (l *lines) split(value string, to ...*string) error {
	found := strings.Split(value, " ")
	if len(found) != len(to) {
		return l.wrong("%q has %d words, not %d", clip(value), len(found), len(to))
	}
	for i := range to {
		*to[i] = found[i]
	}
	return nil
}

// begins reports whether the next line is of the key.
func (l *lines) begins(key string) (bool, error) {
	text, err := l.peek()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return strings.HasPrefix(text, "# "+key+" "), err
}

// over refuses anything behind the end.
func (l *lines) over() error {
	text, err := l.peek()
	if err == nil {
		return l.wrong("%q stands behind the end", clip(text))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (l *lines) wrong(format string, args ...any) error {
	return fmt.Errorf("%s, line %d: %s: %w", l.file, l.at, fmt.Sprintf(format, args...), ErrWrong)
}

// because makes an error of a value into one that says where it stands.
func (l *lines) because(err error) error {
	if err == nil {
		return nil
	}
	return l.wrong("%v", err)
}

// summed takes a line of sha256sum: digest, two spaces, name.
func (l *lines) summed() (Digest, string, error) {
	text, err := l.take()
	if err != nil {
		return Digest{}, "", err
	}
	digest, name, ok := strings.Cut(text, "  ")
	if !ok {
		return Digest{}, "", l.wrong("%q is not a SHA-256, two spaces and a name", clip(text))
	}
	d, err := ParseDigest(digest)
	if err == nil {
		err = checkName(name)
	}
	return d, name, l.because(err)
}
