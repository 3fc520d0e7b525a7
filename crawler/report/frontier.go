package report

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"
)

// QueueState is the state of a queue, in the reports' terms.
type QueueState string

// The states of queues, in the reports' order.
const (
	InProcess QueueState = "IN-PROCESS"
	Ready     QueueState = "READY"
	Snoozed   QueueState = "SNOOZED"
	Inactive  QueueState = "INACTIVE"
	Retired   QueueState = "RETIRED"
	Frozen    QueueState = "FROZEN" // not Heritrix's
	Exhausted QueueState = "EXHAUSTED"
)

// Queue is a queue of the frontier, in the reports.
type Queue struct {
	Name           string
	State          QueueState
	Precedence     int
	Count          int64 // URIs in it
	Enqueued       int64 // URIs that ever were
	SessionBalance int64
	LastCost       int64
	Spent, Budget  int64 // a budget below 0: none
	Dequeues       int64 // how often a cost was paid
	Errors         int64
	LastDequeue    time.Time // zero: never
	Wakes          time.Time // zero: does not rest
	LastPeeked     string
	LastQueued     string
	// Counts of what was fetched; the other figures follow from them.
	Succeeded, Failed, Disregarded, Responses, Robots, SuccessBytes, Bytes, NonResponses int64
	LastSuccess                                                                          time.Time
}

// FrontierSummary is the content of the frontier's summary besides its queues.
type FrontierSummary struct {
	Job                                                     string
	State                                                   string // as RUN, PAUSE, FINISH
	Discovered, Queued, Finished, Succeeded, Failed, Ignore int64
	Included                                                int64 // URIs that are known
	InProcess, Ready, Snoozed, Retired, Frozen, Exhausted   int64 // numbers of queues
	Inactive                                                map[int]int64
	Longest                                                 []Queue                // the longest queues, longest first
	Queues                                                  map[QueueState][]Queue // some of those in each state
}

// WriteFrontierSummary writes frontier-summary-report.txt.
func WriteFrontierSummary(w io.Writer, f FrontierSummary, at time.Time) error {
	out := bufio.NewWriter(w)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	precedences := make([]int, 0, len(f.Inactive))
	inactive := int64(0)
	for p, n := range f.Inactive {
		precedences = append(precedences, p)
		inactive += n
	}
	slices.Sort(precedences)
	active := f.InProcess + f.Ready + f.Snoozed
	say("Frontier report - %s\n Job being crawled: %s\n", at.UTC().Format("200601021504"), oneLine(nil, f.Job))
	say("\n -----===== STATS =====-----\n Discovered:    %d\n Queued:        %d\n Finished:      %d\n", f.Discovered,
		f.Queued, f.Finished)
	say("  Successfully: %d\n  Failed:       %d\n  Disregarded:  %d\n", f.Succeeded, f.Failed, f.Ignore)
	say("\n -----===== QUEUES =====-----\n Already included size:     %d\n               pending:     0\n", f.Included)
	say("\n All class queues map size: %d\n             Active queues: %d\n",
		active+inactive+f.Retired+f.Frozen+f.Exhausted, active)
	say("                    In-process: %d\n                         Ready: %d\n                       Snoozed: %d\n",
		f.InProcess, f.Ready, f.Snoozed)
	say("           Inactive queues: %d (", inactive)
	for i, p := range precedences {
		if i > 0 {
			say("; ")
		}
		say("p%d: %d", p, f.Inactive[p])
	}
	say(")\n            Retired queues: %d\n          Exhausted queues: %d\n", f.Retired, f.Exhausted)
	if f.Frozen > 0 {
		say("             Frozen queues: %d\n", f.Frozen)
	}
	say("\n             Last state: %s", oneLine(nil, f.State))
	say("\n -----===== %d LONGEST QUEUES =====-----\n", len(f.Longest))
	for i := range f.Longest {
		f.Longest[i].write(out, "LONGEST", i, at)
	}
	for _, s := range []struct {
		state QueueState
		total int64
	}{{InProcess, f.InProcess}, {Ready, f.Ready}, {Snoozed, f.Snoozed}, {Inactive, inactive},
		{Retired, f.Retired}, {Frozen, f.Frozen}} {
		if s.state == Frozen && s.total == 0 {
			continue
		}
		say("\n -----===== %s QUEUES =====-----\n", s.state)
		queues := f.Queues[s.state]
		for i := range queues {
			label := string(s.state)
			if s.state == Inactive {
				label += "-p" + strconv.Itoa(queues[i].Precedence)
			}
			queues[i].write(out, label, i, at)
		}
		if n := int64(len(queues)); n < s.total {
			say("...and %d more %s.\n", s.total-n, s.state)
		}
	}
	return out.Flush()
}

// write writes a queue's paragraph.
func (q *Queue) write(out *bufio.Writer, label string, number int, at time.Time) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	say("%s#%d:\nQueue %s (p%d)\n  %d items", label, number, escape(nil, q.Name), q.Precedence, q.Count)
	if !q.Wakes.IsZero() {
		say("\n   wakes in: %s", Conventional(q.Wakes.Sub(at)))
	}
	say("\n    last enqueued: %s\n      last peeked: %s\n", null(q.LastQueued), null(q.LastPeeked))
	say("   total expended: %d (total budget: %d)\n   active balance: %d\n   last(avg) cost: %d(%s)\n", q.Spent,
		q.Budget, q.SessionBalance, q.LastCost, q.average())
	say("   totalScheduled fetchSuccesses fetchFailures fetchDisregards fetchResponses robotsDenials successBytes " +
		"totalBytes fetchNonResponses lastSuccessTime\n")
	say("   %d %d %d %d %d %d %d %d %d %s\n", q.Count+q.Succeeded+q.Failed+q.Disregarded, q.Succeeded, q.Failed,
		q.Disregarded, q.Responses, q.Robots,
		q.SuccessBytes, q.Bytes, q.NonResponses, logTime(q.LastSuccess))
	say("   SimplePrecedenceProvider\n   %d\n\n", q.Precedence)
}

const queueLegend = "queue precedence currentSize totalEnqueues sessionBalance lastCost (averageCost) " +
	"lastDequeueTime wakeTime totalSpend/totalBudget errorCount lastPeekUri lastQueuedUri\n"

// appendTo appends the queue's line in frontier-nonempty-report.txt.
func (q *Queue) appendTo(b []byte, at time.Time) []byte {
	b = escape(b, q.Name)
	for _, n := range []int64{int64(q.Precedence), q.Count, q.Enqueued, q.SessionBalance, q.LastCost} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	b = append(append(append(b, '('), q.average()...), ')', ' ')
	if q.LastDequeue.IsZero() {
		b = append(b, '-')
	} else {
		b = appendTime(b, q.LastDequeue)
	}
	b = append(b, ' ')
	if q.Wakes.IsZero() {
		b = append(b, '-')
	} else {
		b = append(b, Conventional(q.Wakes.Sub(at))...)
	}
	b = strconv.AppendInt(append(b, ' '), q.Spent, 10)
	b = strconv.AppendInt(append(b, '/'), q.Budget, 10)
	b = strconv.AppendInt(append(b, ' '), q.Errors, 10)
	b = append(append(b, ' '), null(q.LastPeeked)...)
	b = append(append(b, ' '), null(q.LastQueued)...)
	return append(b, '\n')
}

func (q *Queue) average() string {
	if q.Dequeues == 0 {
		return "0"
	}
	return grouped1(float64(q.Spent) / float64(q.Dequeues))
}

// grouped1 writes at most one digit after the point.
func grouped1(f float64) string {
	s := grouped(f, 1)
	if n := len(s) - 2; n > 0 && s[n:] == ".0" {
		return s[:n]
	}
	return s
}

// null is what Heritrix writes for a URI that is not there.
func null(uri string) []byte {
	if uri == "" {
		return []byte("null")
	}
	return escape(nil, uri)
}

func logTime(t time.Time) []byte {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return appendTime(nil, t)
}

// WriteFrontierNonempty writes frontier-nonempty-report.txt: a line for each queue that holds URIs. queues gives those
// in a state; it is asked for each state in turn, and nothing is kept, so that millions may be written.
func WriteFrontierNonempty(w io.Writer, queues func(QueueState) iter.Seq[Queue], at time.Time) error {
	out := bufio.NewWriter(w)
	var line []byte
	empty := true
	var heads []byte
	for _, state := range []QueueState{InProcess, Ready, Snoozed, Inactive, Retired, Frozen} {
		legend := false
		if state != Frozen {
			heads = fmt.Appendf(heads, "\n -----===== %s QUEUES =====-----\n", state)
		}
		for q := range queues(state) {
			if state == Frozen && !legend {
				heads = fmt.Appendf(heads, "\n -----===== %s QUEUES =====-----\n", state)
			}
			if !legend {
				_, _ = out.Write(heads)
				_, _ = out.WriteString(queueLegend)
				heads, legend, empty = nil, true, false
			}
			line = q.appendTo(line[:0], at)
			_, _ = out.Write(line)
		}
	}
	if empty {
		heads = []byte("frontier empty\n")
	}
	_, _ = out.Write(heads)
	return out.Flush()
}
