// Package report writes what a crawl has to say for itself: the crawl log and the reports, in Heritrix's columns.
package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/disk"
)

// Line is one line of crawl.log: a URI and how it ended.
type Line struct {
	Logged      time.Time
	Status      int
	Size        int64 // of the content; negative: unknown
	URI         string
	Path        string // hops; "" for a seed
	Via         string
	MIME        string
	Worker      int
	Begin       time.Time // zero: never fetched
	Duration    time.Duration
	Digest      string // with its algorithm
	Source      string
	Annotations []string
	Extra       string // JSON of the 13th column, "" for {}
}

// AppendTo appends the line, its end included, to b.
func (l *Line) AppendTo(b []byte) []byte {
	b = l.Logged.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, ' ')
	b = pad(b, strconv.Itoa(l.Status), 5)
	b = append(b, ' ')
	size := "-"
	if l.Size >= 0 {
		size = strconv.FormatInt(l.Size, 10)
	}
	b = pad(b, size, 10)
	b = word(append(b, ' '), l.URI)
	b = word(append(b, ' '), shortPath(l.Path))
	b = word(append(b, ' '), l.Via)
	mime, _, _ := strings.Cut(l.MIME, ";")
	if mime = strings.TrimSpace(mime); mime == "" {
		mime = "no-type"
	}
	b = word(append(b, ' '), mime)
	b = append(b, " #"...)
	if n := strconv.Itoa(l.Worker); len(n) < 3 {
		b = append(append(b, "000"[:3-len(n)]...), n...)
	} else {
		b = append(b, n...)
	}
	b = append(b, ' ')
	if l.Begin.IsZero() {
		b = append(b, '-')
	} else {
		b = append(b, Timestamp17(l.Begin)...)
		b = append(b, '+')
		b = strconv.AppendInt(b, l.Duration.Milliseconds(), 10)
	}
	b = word(append(b, ' '), l.Digest)
	b = word(append(b, ' '), l.Source)
	b = word(append(b, ' '), strings.Join(l.Annotations, ","))
	extra := l.Extra
	if extra == "" {
		extra = "{}"
	}
	b = append(append(b, ' '), extra...)
	return append(b, '\n')
}

// Timestamp17 writes a time as 17 digits, down to the millisecond.
func Timestamp17(t time.Time) string {
	t = t.UTC()
	return t.Format("20060102150405") + fmt.Sprintf("%03d", t.Nanosecond()/1e6)
}

// shortPath writes more than 50 hops as their number and the last 50.
func shortPath(path string) string {
	if len(path) <= 50 {
		return path
	}
	return strconv.Itoa(len(path)-50) + "+" + path[len(path)-50:]
}

func pad(b []byte, s string, width int) []byte {
	for range width - len(s) {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// word appends s as one column: "-" if empty, white space and control characters escaped.
func word(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// Log is an append-only file of lines that can be taken back to an earlier size.
type Log struct{ file *disk.File }

// OpenLog opens the log at path and cuts it to size, what it had at the last commit.
func OpenLog(d disk.Disk, path string, size int64) (*Log, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	if f.Size() > size {
		if err := f.Truncate(size); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &Log{f}, nil
}

// Append adds whole lines and returns the log's size. When it returns nil they are on stable storage.
func (l *Log) Append(lines []byte) (int64, error) {
	if len(lines) == 0 {
		return l.file.Size(), nil
	}
	if _, err := l.file.Write(lines); err != nil {
		return 0, err
	}
	if err := l.file.Sync(); err != nil {
		return 0, err
	}
	return l.file.Size(), nil
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }
