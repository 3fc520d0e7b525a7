package report

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Query says which lines of a log to look for; a zero field is not compared. All fields but Expr are about the
// columns of crawl.log and the entries of similar logs, and exclude every other line.
type Query struct {
	Expr      *regexp.Regexp // found in the line
	MinStatus int            // with MaxStatus: between these; both 0: any
	MaxStatus int
	MIME      string         // this type; with * at its end, types that begin so
	Host      string         // this host; with a dot before it, it and those below it
	URI       *regexp.Regexp // found in the URI

	Newest bool  // from the end of the log, newest first
	After  int64 // Next of the answer before; 0: from the beginning
	Limit  int   // hits; default 100
	Scan   int64 // bytes looked through; default no limit
}

// Hit is a line that was found.
type Hit struct {
	Offset int64
	Line   string // without its end; of a very long one, the first 64 KiB
}

// Answer is the result of a search.
type Answer struct {
	Hits []Hit
	Next int64 // where to continue; -1: the whole log was searched
}

const defaultLimit = 100

// Search searches the log at path, in bounded memory, until it has found enough, or ctx ends: then it returns ctx's
// error. A search from the beginning stops before a line that is still being written; a later search continues from
// there.
func Search(ctx context.Context, path string, q Query) (Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return Answer{}, fmt.Errorf("search log: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Answer{}, fmt.Errorf("search log: %w", err)
	}
	q.complete()
	var a Answer
	if q.Newest {
		a, err = q.backward(ctx, f, info.Size())
	} else {
		a, err = q.forward(ctx, f)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("search log: %w", err)
	}
	return a, nil
}

func (q *Query) complete() {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	if q.Scan <= 0 {
		q.Scan = math.MaxInt64
	}
	q.Host, q.MIME = strings.ToLower(q.Host), strings.ToLower(q.MIME)
}

// often is after how many lines ctx is asked.
const often = 1024

func (q *Query) backward(ctx context.Context, f *os.File, size int64) (Answer, error) {
	start := size
	if q.After > 0 {
		start = min(q.After, size)
	}
	r := backward{file: f, at: start}
	a := Answer{Next: -1}
	for n := 0; ; n++ {
		if n%often == 0 && ctx.Err() != nil {
			return Answer{}, ctx.Err()
		}
		if r.at > 0 && (len(a.Hits) >= q.Limit || start-r.at >= q.Scan) {
			a.Next = r.at
			return a, nil
		}
		line, at, err := r.next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return Answer{}, err
		}
		if line = bytes.TrimRight(line, "\r\n"); q.matches(line) {
			a.Hits = append(a.Hits, Hit{at, string(line)})
		}
	}
}

func (q *Query) forward(ctx context.Context, f *os.File) (Answer, error) {
	at := max(q.After, 0)
	r := bufio.NewReaderSize(io.NewSectionReader(f, at, math.MaxInt64-at), blockSize)
	var a Answer
	begun := at
	for n := 0; ; n++ {
		if n%often == 0 && ctx.Err() != nil {
			return Answer{}, ctx.Err()
		}
		if len(a.Hits) >= q.Limit || at-begun >= q.Scan {
			a.Next = at
			return a, nil
		}
		line, length, err := readLine(r)
		if errors.Is(err, io.EOF) {
			a.Next = at
			if length == 0 {
				a.Next = -1
			}
			return a, nil
		}
		if err != nil {
			return Answer{}, err
		}
		if line = bytes.TrimRight(line, "\r\n"); q.matches(line) {
			a.Hits = append(a.Hits, Hit{at, string(line)})
		}
		at += length
	}
}

// readLine returns the next line, or the beginning of a long one, and its whole length. It is valid until the next
// call.
func readLine(r *bufio.Reader) (line []byte, length int64, err error) {
	line, err = r.ReadSlice('\n')
	length = int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, length, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = r.ReadSlice('\n')
		length += int64(len(more))
	}
	return line, length, err
}

// byColumn reports whether the query asks for columns.
func (q *Query) byColumn() bool {
	return q.MinStatus != 0 || q.MaxStatus != 0 || q.MIME != "" || q.Host != "" || q.URI != nil
}

func (q *Query) matches(line []byte) bool {
	if q.Expr != nil && !q.Expr.Match(line) {
		return false
	}
	if !q.byColumn() {
		return true
	}
	var cols [7][]byte
	rest := line
	for i := range cols {
		if cols[i], rest = column(rest); len(cols[i]) == 0 {
			return false
		}
	}
	status, err := strconv.Atoi(string(cols[1]))
	if err != nil {
		return false
	}
	if (q.MinStatus != 0 || q.MaxStatus != 0) && (status < q.MinStatus || status > q.MaxStatus) {
		return false
	}
	if q.URI != nil && !q.URI.Match(cols[3]) {
		return false
	}
	if q.MIME != "" && !matchType(strings.ToLower(string(cols[6])), q.MIME) {
		return false
	}
	return q.Host == "" || matchHost(strings.ToLower(hostOf(string(cols[3]))), q.Host)
}

func matchType(mime, want string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(mime, prefix)
	}
	return mime == want
}

func matchHost(host, want string) bool {
	if strings.HasPrefix(want, ".") {
		return host == want[1:] || strings.HasSuffix(host, want)
	}
	return host == want
}

// column cuts the next column off line: the text before the next blanks.
func column(line []byte) (col, rest []byte) {
	for len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	if i := bytes.IndexByte(line, ' '); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, nil
}
