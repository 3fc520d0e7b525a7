package report

import (
	"strings"
	"time"
)

// maxText bounds how much of a text from the web, or of a stack, is written to an error log.
const maxText = 8 << 10

// maxBadURI bounds how much of a string that is not a URI is written to uri-errors.log.
const maxBadURI = 2083

// URIError is a line of uri-errors.log: a string, found in a document, of which no URI could be made.
type URIError struct {
	Logged  time.Time
	Found   string // the URI of the document; "": none
	Problem string // why it is no URI
	Text    string // what was found
}

// AppendTo appends the line, its end included, to b.
func (e *URIError) AppendTo(b []byte) []byte {
	b = append(appendTime(b, e.Logged), ' ')
	if e.Found == "" {
		b = append(b, "n/a"...)
	} else {
		b = escape(b, e.Found)
	}
	b = append(b, ` "`...)
	b = oneLine(b, strings.ReplaceAll(clip(e.Problem, maxText), `"`, "'"))
	b = append(b, `" `...)
	b = oneLine(b, clip(e.Text, maxBadURI))
	return append(b, '\n')
}

// AppendError appends to b an entry of runtime-errors.log or nonfatal-errors.log: the URI's line as crawl.log has it,
// and on the lines after it, the first after a blank and the others after a tab, what went wrong.
func AppendError(b []byte, l *Line, what string) []byte {
	b = append(l.AppendTo(b), ' ')
	what = clip(strings.TrimRight(what, " \t\r\n"), maxText)
	first := true
	for part := range strings.SplitSeq(what, "\n") {
		if !first {
			b = append(b, '\t')
		}
		first = false
		b = append(oneLine(b, strings.Trim(part, "\t\r ")), '\n')
	}
	return b
}

// AppendAlert appends to b an entry of alerts.log: two lines, in the form that Java's loggers give them, in UTC.
func AppendAlert(b []byte, at time.Time, from, level, message string) []byte {
	b = at.UTC().AppendFormat(b, "Jan 02, 2006 3:04:05 PM ")
	b = append(oneLine(b, from), '\n')
	b = append(oneLine(b, level), ": "...)
	return append(oneLine(b, clip(message, maxText)), '\n')
}

// clip cuts s off after n bytes, not within a character, and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
