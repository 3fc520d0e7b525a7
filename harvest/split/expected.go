package split

import (
	"cmp"

	"holdfast/harvest"
)

// trusted is how many objects a harvest must have brought for their average size to be believed.
const trusted = 50

// Limits are what a configuration, or a harvest for each of its domains, allows at most.
type Limits struct {
	Objects harvest.Limit `json:"objects,omitzero"`
	Bytes   harvest.Limit `json:"bytes,omitzero"`
}

// Least is the smaller of each limit.
func (l Limits) Least(other Limits) Limits {
	return Limits{l.Objects.Least(other.Objects), l.Bytes.Least(other.Bytes)}
}

// Nothing reports whether nothing may be fetched.
func (l Limits) Nothing() bool { return l.Objects.Nothing() || l.Bytes.Nothing() }

// History is what one harvest of a configuration brought. The zero value stands for none.
type History struct {
	At        int64 // when it ended: later ones have greater numbers
	Completed bool  // nothing was left, and no limit stopped it
	Objects   int64
	Bytes     int64
}

// Better returns the history from which more can be told: the later of two completed ones, else the completed one, else
// the one with more objects. The best of many is found by comparing them in any order.
func (h History) Better(other History) History {
	if cmp.Or(compareBool(h.Completed, other.Completed), h.compare(other)) < 0 {
		return other
	}
	return h
}

func (h History) compare(other History) int {
	at, objects := cmp.Compare(h.At, other.At), cmp.Compare(h.Objects, other.Objects)
	if h.Completed {
		return cmp.Or(at, objects, cmp.Compare(h.Bytes, other.Bytes))
	}
	return cmp.Or(objects, at, cmp.Compare(h.Bytes, other.Bytes))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Expected returns how many objects are expected of a configuration, from its best history and the smaller limits of it
// and of the harvest.
func (s Settings) Expected(best History, limits Limits) int64 {
	size := s.ExpectedAverageBytesPerObject
	if best.Objects >= trusted {
		size = max(size, best.Bytes/best.Objects)
	}
	maximum, given := limits.Objects.Given()
	if bytes, limited := limits.Bytes.Given(); limited {
		if n := bytes / size; !given || n < maximum {
			maximum = n
		}
	} else if !given {
		maximum = s.MaxDomainSize
	}
	factor := s.ErrorFactorBestGuess
	if best.Completed {
		factor = s.ErrorFactorPrevResult
	}
	return min(best.Objects+(maximum-best.Objects)/factor, maximum)
}
