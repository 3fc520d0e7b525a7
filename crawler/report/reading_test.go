package report

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// How the logs are read, so that the tests can hold what is written to what Heritrix wrote.

// errLine is wrapped by errors that say that a line is not one of the log it is said to be from.
var errLine = errors.New("not a line of this log")

// parseLine reads a line of crawl.log, ours or Heritrix's, with or without its end. A path that was shortened stays so; an
// annotation that holds a comma outside quotes becomes two.
func parseLine(line []byte) (Line, error) {
	line = bytes.TrimRight(line, "\r\n")
	var cols [12]string
	rest := line
	for i := range cols {
		var col []byte
		if col, rest = column(rest); len(col) == 0 {
			return Line{}, fmt.Errorf("%w: crawl.log has 12 columns: %.200q", errLine, line)
		}
		cols[i] = string(col)
	}
	l := Line{URI: cols[3], Path: dash(cols[4]), Via: dash(cols[5]), MIME: cols[6], Digest: dash(cols[9]), Source: dash(cols[10]),
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
		return Line{}, fmt.Errorf("%w: %.200q: %w", errLine, line, err)
	}
	return l, nil
}

// parseTime reads a log's first column.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err == nil && (t.Year() < 0 || t.Year() > 9999) {
		err = fmt.Errorf("no time: %q", s)
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
		return time.Time{}, 0, fmt.Errorf("no time and duration: %q", s)
	}
	t, err := time.Parse("20060102150405.000", s[:14]+"."+s[14:17])
	if err != nil {
		return time.Time{}, 0, err
	}
	ms, err := strconv.ParseInt(s[i+1:], 10, 64)
	if ms < -maxDuration || ms > maxDuration {
		return time.Time{}, 0, fmt.Errorf("no duration: %q", s)
	}
	return t, time.Duration(ms) * time.Millisecond, err
}

// annotations cuts at the commas that stand outside quotes.
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

// parseProgress reads a line of figures of progress-statistics.log. The legend and notes are errLine.
func parseProgress(line []byte) (Progress, error) {
	f := bytes.Fields(line)
	bad := func(err error) (Progress, error) {
		return Progress{}, fmt.Errorf("%w: progress-statistics.log: %.200q: %w", errLine, line, err)
	}
	if len(f) != 13 {
		return bad(fmt.Errorf("%d columns", len(f)))
	}
	var p Progress
	var err error
	if p.At, err = parseTime(string(f[0])); err != nil {
		return bad(err)
	}
	var busy int64
	for col, to := range map[int]*int64{1: &p.Discovered, 2: &p.Queued, 3: &p.Downloaded, 6: &p.Failures, 7: &busy, 8: &p.MemoryKB, 9: &p.HeapKB,
		11: &p.DeepestQueue, 12: &p.AverageOfQueue} {
		if *to, err = strconv.ParseInt(string(f[col]), 10, 64); err != nil {
			return bad(err)
		}
	}
	p.Busy = int(busy)
	if p.DocsPerSecond, p.AverageDocs, err = pair(string(f[4])); err != nil {
		return bad(err)
	}
	now, average, err := pair(string(f[5]))
	if err != nil {
		return bad(err)
	}
	p.KBPerSecond, p.AverageKB = int64(now), int64(average)
	if p.Congestion, err = parseDecimal(string(f[10])); err != nil {
		return bad(err)
	}
	return p, nil
}

// pair reads "0.9(2.31)".
func pair(s string) (a, b float64, err error) {
	left, right, ok := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	if !ok {
		return 0, 0, fmt.Errorf("no average: %q", s)
	}
	if a, err = parseDecimal(left); err != nil {
		return 0, 0, err
	}
	b, err = parseDecimal(right)
	return a, b, err
}

func parseDecimal(s string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
}

// parseURIError reads a line of uri-errors.log, with or without its end.
func parseURIError(line []byte) (URIError, error) {
	line = bytes.TrimRight(line, "\r\n")
	col, rest := column(line)
	at, err := parseTime(string(col))
	found, rest := column(rest)
	problem, text, ok := bytes.Cut(bytes.TrimPrefix(rest, []byte{'"'}), []byte(`" `))
	if err != nil || len(found) == 0 || len(rest) == 0 || rest[0] != '"' || !ok {
		return URIError{}, fmt.Errorf("%w: uri-errors.log: %.200q", errLine, line)
	}
	e := URIError{Logged: at, Found: string(found), Problem: string(problem), Text: string(text)}
	if e.Found == "n/a" {
		e.Found = ""
	}
	return e, nil
}
