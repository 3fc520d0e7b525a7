package replica

import (
	"io"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// Pauses before a source that answered "busy", or failed, is asked again.
const (
	busyPause      = 250 * time.Millisecond
	longestBusy    = 10 * time.Second
	failurePause   = time.Second
	longestFailure = 5 * time.Minute
)

// stall is how long a source may send nothing before the copy continues from another.
const stall = time.Minute

// sources remembers how the other nodes answered, to ask the failing ones last and not too often.
type sources struct {
	mu    sync.Mutex
	known map[catalog.NodeID]*source
}

type source struct {
	failures, busy int // in a row
	rest           time.Time
}

func newSources() *sources { return &sources{known: make(map[catalog.NodeID]*source)} }

// order returns the nodes that may be asked now, those that failed recently last; if there are none, the earliest
// time at which one may be asked.
func (s *sources) order(nodes []catalog.NodeID) (ready []catalog.NodeID, earliest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, n := range nodes {
		if k := s.known[n]; k != nil && now.Before(k.rest) {
			if earliest.IsZero() || k.rest.Before(earliest) {
				earliest = k.rest
			}
			continue
		}
		ready = append(ready, n)
	}
	slices.SortStableFunc(ready, func(a, b catalog.NodeID) int { return s.failures(a) - s.failures(b) })
	return ready, earliest
}

func (s *sources) failures(n catalog.NodeID) int {
	if k := s.known[n]; k != nil {
		return k.failures
	}
	return 0
}

func (s *sources) of(n catalog.NodeID) *source {
	if s.known[n] == nil {
		s.known[n] = &source{}
	}
	return s.known[n]
}

// busy notes that the node admits no more readers now.
func (s *sources) busy(n catalog.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, now := s.of(n), time.Now()
	if now.Before(k.rest) {
		return
	}
	k.busy++
	k.rest = now.Add(backoff(k.busy, busyPause, longestBusy))
}

// failed notes that the node could not be reached or broke off. What fails while the node rests already says nothing
// more: many copies and readers fail at once when one connection ends, and the node would be left alone for minutes.
func (s *sources) failed(n catalog.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, now := s.of(n), time.Now()
	if now.Before(k.rest) {
		return
	}
	k.failures++
	k.rest = now.Add(backoff(k.failures, failurePause, longestFailure))
}

// good records that the node answered properly.
func (s *sources) good(n catalog.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, n)
}

// patient reads from a source and breaks off when nothing comes for as long as stall.
type patient struct {
	io.Reader
	timer *time.Timer
}

// watchStall returns a reader that calls end when one read of r takes longer than stall.
func watchStall(r io.Reader, end func()) *patient {
	t := time.AfterFunc(stall, end)
	t.Stop()
	return &patient{Reader: r, timer: t}
}

func (p *patient) Read(b []byte) (int, error) {
	p.timer.Reset(stall)
	defer p.timer.Stop()
	return p.Reader.Read(b)
}
