package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrLine is wrapped by errors that say that a line is not one of the log it is said to be from.
var ErrLine = errors.New("not a line of this log")

// ParseLine reads a line of crawl.log, ours or Heritrix's, with or without its end. A path that was shortened stays so;
// an annotation that holds a comma outside quotes becomes two.
func ParseLine(line []byte) (Line, error) {
	line = bytes.TrimRight(line, "\r\n")
	var cols [12]string
	rest := line
	for i := range cols {
		var col []byte
		if col, rest = column(rest); len(col) == 0 {
			return Line{}, fmt.Errorf("%w: crawl.log has 12 columns: %.200q", ErrLine, line)
		}
		cols[i] = string(col)
	}
	l := Line{URI: cols[3], Path: dash(cols[4]), Via: dash(cols[5]), MIME: cols[6], Digest: dash(cols[9]),
		Source:      dash(cols[10]),
		Annotations: annotations(dash(cols[11])), Extra: string(bytes.TrimSpace(rest))}
	if l.MIME == noType {
		l.MIME = ""
	}
	var err [5]error
	l.Logged, err[0] = parseTime(cols[0])
	l.Status, err[1] = strconv.Atoi(cols[1])
	l.Size = -1
	if cols[2] != "-" {
		l.Size, err[2] = strconv.ParseInt(cols[2], 10, 64)
	}
	l.Worker, err[3] = strconv.Atoi(strings.TrimPrefix(cols[7], "#"))
	l.Begin, l.Duration, err[4] = parseBegin(cols[8])
	if err := errors.Join(err[:]...); err != nil {
		return Line{}, fmt.Errorf("%w: %.200q: %w", ErrLine, line, err)
	}
	return l, nil
}

// parseTime reads a log's first column.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err == nil && (t.Year() < 0 || t.Year() > 9999) {
		err = fmt.Errorf("%q is not a time", s)
	}
	return t, err
}

// maxDuration is the longest fetch that is believed, in milliseconds.
const maxDuration = int64(100 * 365 * 24 * time.Hour / time.Millisecond)

// parseBegin reads "20260304050607089+56", or with ";", or "-".
func parseBegin(s string) (time.Time, time.Duration, error) {
	if s == "-" {
		return time.Time{}, 0, nil
	}
	i := strings.IndexAny(s, "+;")
	if i != 17 {
		return time.Time{}, 0, fmt.Errorf("%q is not a time and a duration joined by +", s)
	}
	t, err := time.Parse("20060102150405.000", s[:14]+"."+s[14:17])
	if err != nil {
		return time.Time{}, 0, err
	}
	ms, err := strconv.ParseInt(s[i+1:], 10, 64)
	if ms < -maxDuration || ms > maxDuration {
		return time.Time{}, 0, fmt.Errorf("%q is not a duration in milliseconds", s)
	}
	return t, time.Duration(ms) * time.Millisecond, err
}

// annotations cuts at the commas outside quotes.
func annotations(s string) (out []string) {
	if s == "" {
		return nil
	}
	from, quoted := 0, false
	for i := range len(s) {
		switch s[i] {
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// EachLine calls do for each line of the crawl.log at path from one offset up to another. It skips whatever is not a
// line of that log.
func EachLine(path string, from, to int64, do func(*Line) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read crawl.log: %w", err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(io.NewSectionReader(f, from, to-from), blockSize)
	for {
		text, _, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read crawl.log: %w", err)
		}
		if l, err := ParseLine(text); err == nil {
			if err := do(&l); err != nil {
				return err
			}
		}
	}
}
