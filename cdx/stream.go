package cdx

import (
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// Incomplete reports that an answer lacks the captures of some shards, because
// no node that holds them could be asked. It comes last in a stream; the
// captures before it are good.
type Incomplete struct {
	Shards []int
}

func (e *Incomplete) Error() string {
	return fmt.Sprintf("captures of %d shards not covered", len(e.Shards))
}

// Merge merges streams, each in order of Capture.Compare up to time, into one. A capture that several streams hold
// (same file and offset) comes once. A stream that fails ends early; the others continue, and the last element is one
// error that joins the failures, in which all Incomplete are one.
func Merge(streams ...iter.Seq2[Capture, error]) iter.Seq2[Capture, error] {
	if len(streams) == 1 {
		return streams[0]
	}
	return func(yield func(Capture, error) bool) {
		m := &merger{}
		defer m.stop()
		for _, stream := range streams {
			next, stop := iter.Pull2(stream)
			m.stops = append(m.stops, stop)
			m.advance(&source{next: next})
		}
		type place struct {
			file   string
			offset int64
		}
		seen := map[place]bool{}
		var last Capture
		for len(m.sources) > 0 {
			src := heap.Pop(m).(*source)
			c := src.head
			m.advance(src)
			if c.Key != last.Key || c.Timestamp != last.Timestamp {
				clear(seen)
			}
			last = c
			at := place{c.File, c.Offset}
			if seen[at] {
				continue
			}
			seen[at] = true
			if !yield(c, nil) {
				return
			}
		}
		if err := m.failure(); err != nil {
			yield(Capture{}, err)
		}
	}
}

type source struct {
	next func() (Capture, error, bool)
	head Capture
}

// merger is a heap of sources, the one with the first capture on top.
type merger struct {
	sources []*source
	stops   []func()
	errs    []error
	missing []int
}

func (m *merger) Len() int           { return len(m.sources) }
func (m *merger) Less(i, j int) bool { return m.sources[i].head.Compare(&m.sources[j].head) < 0 }
func (m *merger) Swap(i, j int)      { m.sources[i], m.sources[j] = m.sources[j], m.sources[i] }
func (m *merger) Push(x any)         { m.sources = append(m.sources, x.(*source)) }
func (m *merger) Pop() any {
	last := m.sources[len(m.sources)-1]
	m.sources = m.sources[:len(m.sources)-1]
	return last
}

// advance takes the source's next capture and puts it back on the heap.
func (m *merger) advance(s *source) {
	c, err, ok := s.next()
	var incomplete *Incomplete
	switch {
	case errors.As(err, &incomplete):
		m.missing = append(m.missing, incomplete.Shards...)
	case err != nil:
		m.errs = append(m.errs, err)
	case ok:
		s.head = c
		heap.Push(m, s)
	}
}

func (m *merger) stop() {
	for _, stop := range m.stops {
		stop()
	}
}

func (m *merger) failure() error {
	if len(m.missing) > 0 {
		slices.Sort(m.missing)
		m.errs = append(m.errs, &Incomplete{Shards: slices.Compact(m.missing)})
	}
	return errors.Join(m.errs...)
}

// Arrange turns a stream in key order into the query's answer: collapsed,
// sorted and cut at the limit. It keeps at most Limit captures in memory, none
// for Forward order. Errors pass through, after the captures.
func Arrange(q Query, captures iter.Seq2[Capture, error]) iter.Seq2[Capture, error] {
	if q.Collapse > 0 {
		captures = collapse(q.Collapse, captures)
	}
	switch q.Sort {
	case Reverse:
		return reverse(q.Limit, captures)
	case Closest:
		return closest(q, captures)
	}
	if q.Limit <= 0 {
		return captures
	}
	return func(yield func(Capture, error) bool) {
		n := 0
		for c, err := range captures {
			if err == nil {
				n++
			}
			if !yield(c, err) || n == q.Limit {
				return
			}
		}
	}
}

func collapse(digits int, captures iter.Seq2[Capture, error]) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		var lastTime string
		lastStatus := -1
		for c, err := range captures {
			if err == nil {
				t := c.Timestamp[:min(digits, len(c.Timestamp))]
				if t == lastTime && c.Status == lastStatus {
					continue
				}
				lastTime, lastStatus = t, c.Status
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// reverse yields the last captures, last first.
func reverse(limit int, captures iter.Seq2[Capture, error]) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		var kept []Capture
		var errs []error
		next := 0 // where a full ring is written
		for c, err := range captures {
			switch {
			case err != nil:
				errs = append(errs, err)
			case limit > 0 && len(kept) == limit:
				kept[next] = c
				next = (next + 1) % limit
			default:
				kept = append(kept, c)
			}
		}
		for i := range kept {
			if !yield(kept[(next+len(kept)-1-i)%len(kept)], nil) {
				return
			}
		}
		if err := errors.Join(errs...); err != nil {
			yield(Capture{}, err)
		}
	}
}

// closest yields the captures nearest in time, nearest first, the earlier first of two as near.
func closest(q Query, captures iter.Seq2[Capture, error]) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		target, err := ParseTimestamp(q.Closest, Low)
		if err != nil {
			yield(Capture{}, err)
			return
		}
		h := &distances{}
		var errs []error
		order := 0
		for c, err := range captures {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			heap.Push(h, distant{c, distance(c.Timestamp, target), order})
			order++
			if q.Limit > 0 && h.Len() > q.Limit {
				heap.Pop(h)
			}
		}
		slices.SortFunc(*h, distant.compare)
		for _, d := range *h {
			if !yield(d.Capture, nil) {
				return
			}
		}
		if err := errors.Join(errs...); err != nil {
			yield(Capture{}, err)
		}
	}
}

// distance counts seconds; a time.Duration would not reach from end to end.
func distance(timestamp string, target time.Time) int64 {
	t, err := ParseTimestamp(timestamp, Low)
	if err != nil {
		return math.MaxInt64
	}
	return max(t.Unix()-target.Unix(), target.Unix()-t.Unix())
}

type distant struct {
	Capture
	far   int64
	order int
}

func (d distant) compare(o distant) int {
	if d.far != o.far {
		if d.far < o.far {
			return -1
		}
		return 1
	}
	return d.order - o.order
}

// distances is a heap with the farthest on top.
type distances []distant

func (h distances) Len() int           { return len(h) }
func (h distances) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h distances) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *distances) Push(x any)        { *h = append(*h, x.(distant)) }
func (h *distances) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
