package revisit

import (
	"math"
)

// Adaptive is the policy adaptive for one crawl: what is known of all its URIs together. It is used by one goroutine at
// a time.
type Adaptive struct {
	tariff
	profile Profile
	price   int     // natural logarithm of the price of a request, in steps
	trim    float64 // what is taken off the budget, as a logarithm

	hintCredit float64
	newShare   float64 // share of the last requests that were first visits
	bytes      float64 // mean bytes of an answer
	period     period
	firsts     float64 // first visits and hinted ones a day
}

// period is what happened since the price was made last.
type period struct {
	began           int64
	requests, extra float64
	late, judged    float64
}

// NewAdaptive checks the settings.
func NewAdaptive(settings Settings) (*Adaptive, error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	a := &Adaptive{tariff: tariff{settings: settings, waits: map[uint64]int64{}}, bytes: 50_000}
	a.weigh(priorText)
	return a, nil
}

// SetSettings changes the settings of a crawl that runs. Histories stay; new waits count from each URI's last visit,
// once Reprice was called.
func (a *Adaptive) SetSettings(settings Settings) error {
	if err := settings.Check(); err != nil {
		return err
	}
	a.settings = settings
	clear(a.waits)
	return nil
}

// Place is where a URI belongs after a visit.
type Place struct {
	Class Class
	Dated bool  // it belongs into the queue Dated, and Due counts
	Due   int64 // milliseconds since 1970
}

// Visit is what adaptive is told of a visit that succeeded. A gone page, and one that is back, are changes.
type Visit struct {
	At          int64 // end of the fetch, in milliseconds since 1970
	Change      Change
	Similarity  float64 // of a changed text to the one before: 0 none, 1 the same
	Modified    int64   // Last-Modified, in milliseconds since 1970; 0 for none
	Conditional bool    // the request had validators
	Lied        bool    // a request without validators found another content under the same validators
	Links       int     // URIs that were new to the crawl
	Hints       int     // URIs for which a feed or sitemap had a newer date
	Bytes       int64
}

// mostLinks is how many new links a day count.
const mostLinks = 1e5

// small is the similarity over which a change is that of a ticker.
const small = 0.97

// Visited brings a URI's state up to date after a visit that succeeded, and returns where it belongs now. From is where
// it belonged before; for its first visit, nil. Its cost does not depend on how many URIs there are.
func (a *Adaptive) Visited(s *State, h *Host, from *Place, v Visit) Place {
	first := s.Visits == 0
	ran := v.At > s.Last // or the clock ran back
	if v.Bytes > 0 {
		a.bytes += (math.Min(float64(v.Bytes), 1e12) - a.bytes) / 1000
	}
	ago, dated := s.dated(v)
	s.checked(v.Conditional, v.Lied)
	change := a.judge(s, v, first)
	if s.flags&listed != 0 && !first && change != Unknown {
		h.Hints.found(s.flags&due != 0, int64(s.Hinted)*1000 > s.Last, change == Changed)
	}
	interval := days(s.Last, v.At)
	if from != nil {
		interval = math.Min(interval, 8*a.planned(*s, h, *from))
	}
	s.flags &^= due
	switch {
	case first && dated && !s.Profiled():
		s.Belief = s.First(ago)
	case first || !ran || change == Unknown:
	case s.Profiled():
		a.learn(s, interval, change, ago, dated && ago < interval)
	case change == Unchanged:
		s.Belief = s.Unchanged(interval)
	case dated && ago < interval:
		s.Belief = s.ChangedAgo(ago)
	default:
		s.Belief = s.Changed(interval)
	}
	if !first && ran {
		a.linked(s, h, v, interval)
	}
	s.Visits++
	if first && change != Unknown || change == Changed {
		s.Versions++
	}
	s.Last = v.At
	if s.Profiled() && s.age(v.At) >= settledAge {
		rate := a.profile.At(bins - 1)
		s.Belief, s.Found = bounded(float64(s.Alpha), float64(s.Beta)/math.Max(rate, 1e-9)), 0
	}
	to := a.Place(*s, h)
	if from == nil {
		a.count(h, to.Class, 1)
	} else if from.Class != to.Class {
		a.count(h, to.Class, 1)
		a.count(h, from.Class, -1)
	}
	return to
}

// planned is how many days a URI was to wait in a place. Times that are much longer teach nothing more: a clock may
// have run ahead.
func (a *Adaptive) planned(s State, h *Host, at Place) float64 {
	if at.Dated && s.flags&due == 0 {
		return math.Max(days(s.Last, at.Due), inDays(a.settings.MinWait))
	}
	return float64(a.wait(at.Class, a.price+h.offset)) / msPerDay
}

// judge says what the visit's change counts as: on a proven ticker only a change that is not small counts.
func (a *Adaptive) judge(s *State, v Visit, first bool) Change {
	if first || v.Change == Unknown || a.settings.Without.Tickers {
		return v.Change
	}
	if v.Change == Unchanged {
		if s.Ticker() {
			if s.streak++; s.streak >= 3 { // it does not differ at each visit any more
				s.flags &^= ticker
				s.streak = 0
			}
		} else {
			s.streak = 0
		}
		return Unchanged
	}
	few := v.Similarity > small
	if s.Ticker() {
		s.streak = 0
		if few {
			return Unchanged
		}
		return Changed
	}
	if !s.changed(few) {
		return Changed
	}
	s.flags |= ticker
	s.streak = 0
	s.Belief = s.Kind().prior() // what was believed came from the noise
	if s.Profiled() {
		s.Belief = Around(1, priorFactor)
	}
	return Unknown
}

// learn updates the belief about a page's factor, and the profile, by what happened between two ages.
func (a *Adaptive) learn(s *State, interval float64, change Change, ago float64, exact bool) {
	from := s.age(s.Last)
	to := from + interval
	length := a.profile.Between(from, to)
	a.profile.Saw(from, to, s.Rate(), change == Changed)
	switch {
	case change == Unchanged:
		s.Belief = s.Unchanged(length)
	case exact:
		s.Belief = s.ChangedAgo(a.profile.Between(math.Max(to-ago, from), to))
	default:
		s.Belief = s.Changed(length)
	}
}

// linked updates how many new links a day the URI brings. Visits of the last ten days count most.
func (a *Adaptive) linked(s *State, h *Host, v Visit, interval float64) {
	const memory = 10 // days
	found := float64(max(v.Links, 0)) + float64(max(v.Hints, 0))*h.Hints.Precision()/a.settings.NewPage
	if interval <= 0 {
		return
	}
	weight := -math.Expm1(-interval / memory)
	rate := float64(s.Links) + (found/interval-float64(s.Links))*weight
	if s.Links = float32(math.Min(math.Max(rate, 0), mostLinks)); s.Links < 1e-3 {
		s.Links = 0
	}
}

// worthOf is what a visit to a URI is worth, at the rate that it has at a time. What feeds and sitemaps announce is
// left out.
func (a *Adaptive) worthOf(s State, h *Host, now int64) worth {
	alpha, beta := float64(s.Alpha), float64(s.Beta)
	if kind := s.Kind(); kind == Feed || kind == Sitemap {
		beta = 0
	}
	if s.Profiled() {
		beta /= math.Max(a.profile.Rate(s.age(now)), 1e-9)
	}
	return a.weighed(alpha, beta/a.unannounced(s, h), float64(s.Links))
}

// unannounced is the share of a URI's changes that no feed or sitemap is expected to announce, but for a tenth more.
func (a *Adaptive) unannounced(s State, h *Host) float64 {
	if s.flags&listed == 0 || a.settings.Without.Hints {
		return 1
	}
	return 1 - 0.9*h.Hints.Recall()
}

func (a *Adaptive) priceAt(s State, h *Host) float64 {
	return math.Exp((float64(a.price+h.offset) - step*fine*float64(s.importance())) / fine)
}

// Place is where a visited URI belongs at the prices that hold now. What has a profile is due at a time of its own;
// when the price has moved, the caller may ask again.
func (a *Adaptive) Place(s State, h *Host) Place {
	w := a.worthOf(s, h, s.Last)
	p := Place{Class: a.classOf(w, s.importance())}
	if s.flags&due != 0 {
		p.Dated, p.Due = true, int64(s.Hinted)*1000
	} else if s.Profiled() {
		low, high := inDays(a.settings.MinWait), inDays(a.settings.MaxWait)
		factor := bounded(float64(s.Alpha), float64(s.Beta)/a.unannounced(s, h))
		wait := solve(w.aged(&a.profile, factor, s.age(s.Last)), a.priceAt(s, h), low, high)
		p.Dated, p.Due = true, later(s.Last, int64(wait*msPerDay))
	}
	return p
}

// RateOf is how often a URI is believed to change at a time, in changes a day, and the bounds between which the rate
// lies with a probability of about nine tenths.
func (a *Adaptive) RateOf(s State, now int64) (rate, low, high float64) {
	factor := 1.0
	if s.Profiled() {
		factor = a.profile.Rate(s.age(now))
	}
	shape := float64(s.Alpha) // Wilson and Hilferty: the cube root is almost normal
	bound := func(z float64) float64 {
		root := math.Max(1-1/(9*shape)+z/(3*math.Sqrt(shape)), 0)
		return s.Rate() * factor * root * root * root
	}
	return s.Rate() * factor, bound(-1.645), bound(1.645)
}

// Reason says why a URI is due when it is.
type Reason uint8

const (
	// ByFirst is for a URI that was never visited.
	ByFirst Reason = iota
	// ByHint is for one that a feed or sitemap let come.
	ByHint
	// ByMinimum is for one that would come sooner, but for the shortest wait.
	ByMinimum
	// ByMaximum is for one that would come later, but for the longest wait.
	ByMaximum
	// ByHost is for one whose host lets less through than its URIs ask for.
	ByHost
	// ByPrice is for all others: then a visit will be worth what a request costs.
	ByPrice
)

// Why says why a URI is due when it is.
func (a *Adaptive) Why(s State, h *Host) Reason {
	p := a.Place(s, h)
	wait := p.Due - s.Last
	if !p.Dated {
		wait = a.wait(p.Class, a.price+h.offset)
	}
	switch {
	case s.Visits == 0:
		return ByFirst
	case s.Called():
		return ByHint
	case wait <= a.settings.MinWait.Milliseconds():
		return ByMinimum
	case wait >= a.settings.MaxWait.Milliseconds()-1:
		return ByMaximum
	case h.offset > 0:
		return ByHost
	}
	return ByPrice
}

// Remove takes a URI out that is not to come again.
func (a *Adaptive) Remove(h *Host, from Place) { a.count(h, from.Class, -1) }
