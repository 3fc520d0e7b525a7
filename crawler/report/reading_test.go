package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// How the logs are read, so that the tests can hold what is written to what Heritrix wrote.

// parseProgress reads a line of figures of progress-statistics.log. The legend and notes are ErrLine.
func parseProgress(line []byte) (Progress, error) {
	f := bytes.Fields(line)
	bad := func(err error) (Progress, error) {
		return Progress{}, fmt.Errorf("%w: progress-statistics.log: %.200q: %w", ErrLine, line, err)
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
		return URIError{}, fmt.Errorf("%w: uri-errors.log: %.200q", ErrLine, line)
	}
	e := URIError{Logged: at, Found: string(found), Problem: string(problem), Text: string(text)}
	if e.Found == "n/a" {
		e.Found = ""
	}
	return e, nil
}
