package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ProgressLegend is the line over the columns of progress-statistics.log.
const ProgressLegend = "           timestamp  discovered      queued   downloaded       doc/s(avg)  KB/s(avg)   " +
	"dl-failures   busy-thread   mem-use-KB  heap-size-KB   congestion   max-depth   avg-depth"

// ProgressEvery is how often a line of progress-statistics.log is due.
const ProgressEvery = 20 * time.Second

// Progress is a line of progress-statistics.log: the state of the crawl.
type Progress struct {
	At                           time.Time
	Discovered, Queued           int64
	Downloaded, Failures         int64
	DocsPerSecond, AverageDocs   float64 // since the last line, and over all
	KBPerSecond, AverageKB       int64
	Busy                         int // workers at work
	MemoryKB, HeapKB             int64
	Congestion                   float64 // queues that could be worked on, for each worker that there is; see Heritrix
	DeepestQueue, AverageOfQueue int64   // URIs in the longest queue, and in a queue on average
}

// AppendTo appends the line, its end included, to b.
func (p *Progress) AppendTo(b []byte) []byte {
	at := len(b)
	b = appendSeconds(b, p.At)
	right := func(col int, s string) {
		b = append(b, ' ') // Heritrix runs columns together that are too wide; scripts could not cut them apart
		for len(b)-at < col-len(s) {
			b = append(b, ' ')
		}
		b = append(b, s...)
	}
	number := func(col int, n int64) { right(col, strconv.FormatInt(n, 10)) }
	number(32, p.Discovered)
	number(44, p.Queued)
	number(57, p.Downloaded)
	right(74, decimal(p.DocsPerSecond)+"("+decimal(p.AverageDocs)+")")
	right(85, strconv.FormatInt(p.KBPerSecond, 10)+"("+strconv.FormatInt(p.AverageKB, 10)+")")
	number(99, p.Failures)
	number(113, int64(p.Busy))
	number(126, p.MemoryKB)
	number(140, p.HeapKB)
	right(153, decimal(p.Congestion))
	number(165, p.DeepestQueue)
	number(177, p.AverageOfQueue)
	return append(b, '\n')
}

// decimal writes at most two digits after the point, and commas between thousands, as Java does for the United States.
func decimal(f float64) string {
	s := grouped(f, 2)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// grouped writes a number with that many digits after the point, and commas between thousands.
func grouped(f float64, precision int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "0"
	}
	s := strconv.FormatFloat(f, 'f', precision, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// AppendNote appends to b a line of progress-statistics.log about a change: "2026-03-04T05:06:07Z CRAWL RUNNING -
// Preparing".
func AppendNote(b []byte, at time.Time, change, message string) []byte {
	b = append(appendSeconds(b, at), " CRAWL "...)
	b = oneLine(b, change)
	if message != "" {
		b = append(b, " - "...)
		b = oneLine(b, message)
	}
	return append(b, '\n')
}

// Changes of a crawl's state, for AppendNote, with the messages that Heritrix gives them.
const (
	NoteRunning    = "RUNNING"           // "Preparing", then "Running"
	NotePaused     = "PAUSED"            // "Paused"
	NoteEnding     = "ENDING"            // see ExitStatus
	NoteEnded      = "ENDED"             // see ExitStatus
	NoteCheckpoint = "CHECKPOINTING TO " // and the checkpoint's name; no message
)

// ExitStatus is how Heritrix describes the end of a crawl that ended for reason.
func ExitStatus(reason string, failed bool) string {
	switch {
	case failed:
		return "Finished - Abnormal exit from crawling"
	case reason == "completed":
		return "Finished"
	case reason == "time-limit":
		return "Finished - Timelimit hit"
	case reason == "size-limit":
		return "Finished - Maximum amount of data limit hit"
	case reason == "object-limit":
		return "Finished - Maximum number of documents limit hit"
	}
	return "Finished - Ended by operator"
}
