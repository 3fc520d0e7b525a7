// Package report writes the logs of a crawl (crawl.log, errors, progress), its reports and its live figures, in
// Heritrix's columns; and it reads its logs back, a part at a time (doc/reports.md).
package report

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
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
	Extra       string // JSON of the 13th column (AppendExtra), "" for a line of twelve
}

const noType = "no-type"

// AppendTo appends the line, its end included, to b. It allocates only to make b grow.
func (l *Line) AppendTo(b []byte) []byte {
	b = appendTime(b, l.Logged)
	b = append(b, ' ')
	b = padInt(b, int64(l.Status), 5)
	b = append(b, ' ')
	if l.Size >= 0 {
		b = padInt(b, l.Size, 10)
	} else {
		b = append(b, "         -"...)
	}
	b = word(append(b, ' '), l.URI)
	b = appendPath(append(b, ' '), l.Path)
	b = word(append(b, ' '), l.Via)
	mime := mediaType(l.MIME)
	if mime == "" {
		mime = noType
	}
	b = word(append(b, ' '), mime)
	b = append(b, " #"...)
	for n := 100; n > 1 && l.Worker >= 0 && l.Worker < n; n /= 10 {
		b = append(b, '0')
	}
	b = strconv.AppendInt(b, int64(l.Worker), 10)
	b = append(b, ' ')
	if l.Begin.IsZero() {
		b = append(b, '-')
	} else {
		b = appendTimestamp17(b, l.Begin)
		b = append(b, '+')
		b = strconv.AppendInt(b, l.Duration.Milliseconds(), 10)
	}
	b = word(append(b, ' '), l.Digest)
	b = word(append(b, ' '), l.Source)
	b = append(b, ' ')
	at := len(b)
	for i, a := range l.Annotations {
		if i > 0 {
			b = append(b, ',')
		}
		b = escape(b, a)
	}
	if len(b) == at {
		b = append(b, '-')
	}
	if l.Extra != "" {
		b = append(b, ' ')
		b = oneLine(b, l.Extra)
	}
	return append(b, '\n')
}

// AppendExtra appends the JSON of the 13th column: the size of the record, its file, and its position there.
func AppendExtra(b []byte, contentSize int64, file string, offset int64) []byte {
	b = append(b, `{"contentSize":`...)
	b = strconv.AppendInt(b, contentSize, 10)
	if file != "" {
		b = append(b, `,"warcFilename":`...)
		b = quoteJSON(b, file)
		b = append(b, `,"warcFileOffset":`...)
		b = strconv.AppendInt(b, offset, 10)
	}
	return append(b, '}')
}

// quoteJSON appends s as a JSON string.
func quoteJSON(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			q, err := json.Marshal(s)
			if err != nil { // a string can always be written
				return append(b, `""`...)
			}
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Revisit says how far the fetched content was new.
type Revisit int

// Kinds of captures.
const (
	Novel       Revisit = iota
	DupByHash           // its content was archived before
	NotModified         // the server said so
	Discarded           // it was not kept
)

// Revisit tells from the annotations whether the line's capture was a revisit, or none.
func (l *Line) Revisit() Revisit {
	found := Novel
	for _, a := range l.Annotations {
		switch {
		case a == "duplicate:server-not-modified":
			return NotModified
		case found != Novel: // the first counts
		case strings.HasPrefix(a, "duplicate:"), strings.HasPrefix(a, "deduplicate:"):
			found = DupByHash
		case strings.HasPrefix(a, "discarded:"):
			found = Discarded
		}
	}
	return found
}

// Success reports whether the URI was fetched, in Heritrix's meaning: it was answered, whatever the answer.
func (l *Line) Success() bool { return l.Status > 0 }

// mediaType is a Content-Type without its parameters, or "".
func mediaType(s string) string {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if c := s[i]; c == ';' || c == ',' || c <= ' ' {
			return s[:i]
		}
	}
	return s
}

func appendTimestamp17(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = digits(b, year, 4)
	b = digits(b, int(month), 2)
	b = digits(b, day, 2)
	b = digits(b, hour, 2)
	b = digits(b, minute, 2)
	b = digits(b, second, 2)
	return digits(b, t.Nanosecond()/1e6, 3)
}

// appendTime appends a time as the logs' first column has it: 2006-01-02T15:04:05.000Z.
func appendTime(b []byte, t time.Time) []byte {
	b = appendSeconds(b, t)
	b[len(b)-1] = '.'
	return append(digits(b, t.Nanosecond()/1e6, 3), 'Z')
}

// appendSeconds appends a time as 2006-01-02T15:04:05Z.
func appendSeconds(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = append(digits(b, year, 4), '-')
	b = append(digits(b, int(month), 2), '-')
	b = append(digits(b, day, 2), 'T')
	b = append(digits(b, hour, 2), ':')
	b = append(digits(b, minute, 2), ':')
	return append(digits(b, second, 2), 'Z')
}

// digits appends the last width digits of n.
func digits(b []byte, n, width int) []byte {
	at := len(b)
	b = append(b, "0000"[:width]...)
	for i := width - 1; i >= 0; i-- {
		b[at+i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// maxPath is how many hops a line shows; of more, it gives the number and the last.
const maxPath = 50

func appendPath(b []byte, path string) []byte {
	if len(path) > maxPath && (path[0] < '0' || path[0] > '9') { // else shortened already
		b = strconv.AppendInt(b, int64(len(path)-maxPath), 10)
		b = append(b, '+')
		path = path[len(path)-maxPath:]
	}
	return word(b, path)
}

// padInt appends n, right-aligned in width columns.
func padInt(b []byte, n int64, width int) []byte {
	at := len(b)
	b = strconv.AppendInt(b, n, 10)
	missing := width - (len(b) - at)
	if missing <= 0 {
		return b
	}
	b = append(b, "                    "[:missing]...)
	copy(b[at+missing:], b[at:len(b)-missing])
	for i := range missing {
		b[at+i] = ' '
	}
	return b
}

// word appends s as one column: "-" if empty, white space and control characters escaped.
func word(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	return escape(b, s)
}

func escape(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	from := 0
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			b = append(b, s[from:i]...)
			b = append(b, '%', hex[c>>4], hex[c&15])
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// oneLine appends s with what could end a line, or steer a terminal, made blank.
func oneLine(b []byte, s string) []byte {
	at := len(b)
	b = append(b, s...)
	for i := at; i < len(b); i++ {
		if b[i] < ' ' || b[i] == 0x7f {
			b[i] = ' '
		}
	}
	return b
}
