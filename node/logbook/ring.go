package logbook

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Line is one line of the log.
type Line struct {
	Time       time.Time
	Level      string // debug, info, warn or error
	Message    string
	Attributes []Attribute
}

// Attribute is a name with a value, as text. The names of a group's members begin with the group's.
type Attribute struct{ Name, Value string }

// size is about how much memory the line takes.
func (l *Line) size() int {
	n := 128 + len(l.Message)
	for _, a := range l.Attributes {
		n += 32 + len(a.Name) + len(a.Value)
	}
	return n
}

const (
	ringLines = 2000
	ringBytes = 2 << 20
)

// ring has the last lines.
type ring struct {
	mu    sync.Mutex
	boot  int64 // names this run of the program in cursors
	lines []Line
	bytes int
	first uint64 // number of the first line that is kept; the first of all is 1
}

func newRing(boot int64) *ring { return &ring{boot: boot, first: 1} }

// add keeps a line.
func (r *ring) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
	r.bytes += l.size()
	drop := 0
	for len(r.lines)-drop > ringLines || r.bytes > ringBytes && len(r.lines)-drop > 1 {
		r.bytes -= r.lines[drop].size()
		r.lines[drop] = Line{}
		drop++
	}
	r.lines, r.first = r.lines[drop:], r.first+uint64(drop)
}

// Query says which lines are wanted; empty fields are ignored.
type Query struct {
	Level string    // this one and those above it
	Text  string    // a part of the line, in capitals or not; attributes stand in it as name=value
	Room  string    // value of the attribute room
	Since time.Time // written then or later
	After string    // a cursor: only lines after it, the oldest first; else the last ones
	Limit int
}

// Found are lines, the oldest first.
type Found struct {
	Lines     []Line
	Next      string // cursor after all that was looked at
	Missed    uint64 // lines after the cursor that are no longer in memory, whether wanted or not
	Restarted bool   // the cursor is of an earlier run of the program
}

// maxFound is how many bytes of lines are returned at most, but always one line.
const maxFound = 1 << 20

// find returns the lines that are wanted: after a cursor, the first ones; else the last.
func (r *ring) find(q Query) (Found, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out Found
	from, last := r.first, r.first+uint64(len(r.lines))-1 // numbers; no line: last < from
	if q.After != "" {
		boot, after, err := cursor(q.After)
		switch {
		case err != nil:
			return Found{}, err
		case boot != r.boot:
			out.Restarted, out.Missed = true, r.first-1
		case after+1 < r.first:
			out.Missed = r.first - 1 - after
		default:
			from = min(after, last) + 1
		}
	}
	wanted, bytes, ended := q.matcher(), 0, last
	take := func(l *Line) (full bool) {
		if !wanted(l) {
			return false
		}
		if bytes += l.size(); len(out.Lines) > 0 && bytes > maxFound {
			return true
		}
		out.Lines = append(out.Lines, *l)
		return len(out.Lines) >= q.Limit
	}
	if q.After == "" {
		for n := last; n >= from; n-- {
			if take(&r.lines[n-r.first]) {
				break
			}
		}
		for i, j := 0, len(out.Lines)-1; i < j; i, j = i+1, j-1 {
			out.Lines[i], out.Lines[j] = out.Lines[j], out.Lines[i]
		}
	}
	for n := from; q.After != "" && n <= last; n++ {
		had := len(out.Lines)
		if take(&r.lines[n-r.first]) {
			if ended = n; len(out.Lines) == had { // it did not fit
				ended--
			}
			break
		}
	}
	out.Next = fmt.Sprintf("%x-%d", r.boot, ended)
	return out, nil
}

// cursor reads a cursor.
func cursor(text string) (boot int64, after uint64, err error) {
	run, number, ok := strings.Cut(text, "-")
	boot, err = strconv.ParseInt(run, 16, 64)
	if err == nil {
		after, err = strconv.ParseUint(number, 10, 63)
	}
	if !ok || err != nil {
		return 0, 0, fmt.Errorf("after: %q is no cursor of a log", text)
	}
	return boot, after, nil
}

// matcher returns what reports whether a line is wanted, but for where it stands.
func (q *Query) matcher() func(*Line) bool {
	least, text := levelOf(q.Level), strings.ToLower(q.Text)
	return func(l *Line) bool {
		if levelOf(l.Level) < least || l.Time.Before(q.Since) {
			return false
		}
		return (q.Room == "" || l.has("room", q.Room)) && (text == "" || strings.Contains(l.plain(), text))
	}
}

func (l *Line) has(name, value string) bool {
	for _, a := range l.Attributes {
		if a.Name == name && a.Value == value {
			return true
		}
	}
	return false
}

// plain is the line in small letters, to be searched.
func (l *Line) plain() string {
	var b strings.Builder
	b.WriteString(l.Message)
	for _, a := range l.Attributes {
		b.WriteString(" " + a.Name + "=" + a.Value)
	}
	return strings.ToLower(b.String())
}
