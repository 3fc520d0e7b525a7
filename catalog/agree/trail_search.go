package agree

import (
	"slices"
	"strings"
)

// TrailSearch says which events are looked for. What is not given counts for nothing.
type TrailSearch struct {
	Newest      bool     // first; else the oldest
	Actors      []string // one of them did it
	Act         string
	Subject     string // it, or what begins with it and a slash: of a file, also its copies
	From, Until Time   // at From or later, and before Until
}

// FoundEvents are events that a search found.
type FoundEvents struct {
	Events []Event
	// Next is the event to go on behind, or, newest first, to go on before; 0: there are none. There may be a next page
	// behind an empty one.
	Next uint64
	// Total is how many events all pages have, if all of the trail is looked for; else -1.
	Total int64
}

// Bounds of one page: how many events are read in all, and at once.
const (
	trailEvents = 2000
	trailPage   = 200
)

// SearchTrail returns at most n events behind the event at, or, newest first, before it; 0 is where the trail begins,
// or ends. A page ends after trailEvents that were read.
//
// From and Until are looked up by the numbers of events, which are in the order of their times, unless the catalog's
// clock was set back.
func (v View) SearchTrail(q TrailSearch, at uint64, n int) (FoundEvents, error) {
	h, _, err := Get[head](v.Reader, keyTrail)
	if err != nil {
		return FoundEvents{}, err
	}
	s := trailSearch{q: &q, n: n, least: 1, end: h.Seq + 1, found: FoundEvents{Total: -1}}
	if q.From > 0 {
		s.least, err = v.firstEvent(q.From, h.Seq)
	}
	if err == nil && q.Until > 0 {
		s.end, err = v.firstEvent(q.Until, h.Seq)
	}
	if err != nil {
		return FoundEvents{}, err
	}
	s.window = trailPage
	if len(q.Actors) == 0 && q.Act+q.Subject == "" {
		s.window = min(trailPage, n+1) // all match
		if q.From+q.Until == 0 {
			s.found.Total = int64(h.Seq)
		}
	}
	if q.Newest {
		err = v.downwards(&s, at)
	} else {
		err = v.upwards(&s, at)
	}
	return s.found, err
}

// trailSearch is one search.
type trailSearch struct {
	q          *TrailSearch
	n          int
	least, end uint64 // the events from least on, before end
	window     int
	found      FoundEvents
}

// take puts an event into the page if it is one that is looked for. It reports false when the page is full.
func (s *trailSearch) take(e *Event) bool {
	q := s.q
	if len(q.Actors) > 0 && !slices.Contains(q.Actors, e.Actor) || q.Act != "" && q.Act != e.Act ||
		e.At < q.From || q.Until > 0 && e.At >= q.Until {
		return true
	}
	if rest, is := strings.CutPrefix(e.Subject, q.Subject); q.Subject != "" && (!is || rest != "" && rest[0] != '/') {
		return true
	}
	if len(s.found.Events) == s.n {
		s.found.Next = s.found.Events[s.n-1].Seq
		return false
	}
	s.found.Events = append(s.found.Events, *e)
	return true
}

// upwards looks from the oldest event on.
func (v View) upwards(s *trailSearch, at uint64) error {
	for read := 0; ; {
		at = max(at, s.least-1)
		if at+1 >= s.end {
			return nil
		}
		if read >= trailEvents {
			s.found.Next = at
			return nil
		}
		page, err := v.Trail(at, s.window)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if at = page[i].Seq; at >= s.end || !s.take(&page[i]) {
				return nil
			}
		}
		read += len(page)
	}
}

// downwards looks from the newest event on.
func (v View) downwards(s *trailSearch, at uint64) error {
	if at == 0 || at > s.end {
		at = s.end
	}
	for read := 0; at > s.least; read += s.window {
		if read >= trailEvents {
			s.found.Next = at
			return nil
		}
		first := max(s.least, at-min(at, uint64(s.window)))
		page, err := v.Trail(first-1, s.window)
		if err != nil {
			return err
		}
		for i := range page {
			if e := &page[len(page)-1-i]; e.Seq < at && !s.take(e) {
				return nil
			}
		}
		at = first
	}
	return nil
}

// firstEvent returns the number above all events before the time.
func (v View) firstEvent(at Time, last uint64) (uint64, error) {
	low, high := uint64(1), last+1
	for low < high {
		middle := low + (high-low)/2
		next, err := v.Trail(middle-1, 1)
		if err != nil {
			return 0, err
		}
		if len(next) == 0 || next[0].Seq >= high || next[0].At >= at {
			high = middle
		} else {
			low = next[0].Seq + 1
		}
	}
	return low, nil
}
