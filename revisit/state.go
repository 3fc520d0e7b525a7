package revisit

import "math"

// Kind is what a URI is, as far as the first belief depends on it.
type Kind uint8

const (
	// Text is a page.
	Text Kind = iota
	// Image is a picture, and what else hardly ever changes, such as a script.
	Image
	// Hub is a page that is known to list new pages, such as a seed.
	Hub
	// Feed is a feed. What it says counts, and not whether the archive has its newest state.
	Feed
	// Sitemap is a sitemap. As with a feed, only what it says counts.
	Sitemap
)

const (
	priorText, priorImage, priorHub = 0.3, 0.02, 2.0 // changes a day
	priorAlpha                      = 0.4
	priorFactor                     = 0.6 // shape of the belief about a factor on the profile
	priorLinks                      = 0.3 // new links a day of a hub or feed that was not seen twice
)

// State is what adaptive keeps of a URI: 40 bytes.
type State struct {
	Belief
	Last     int64   // when it was visited last, in milliseconds since 1970; 0 before the first visit
	Found    uint32  // when it was found while the crawl ran, in seconds since 1970; 0 for one without a profile
	Hinted   uint32  // newest date that a feed or sitemap gave, in seconds since 1970
	Visits   uint32  // successful ones
	Versions uint32  // versions seen
	Links    float32 // new links a day
	streak   uint8   // low half: changes in a row; high half: how many of them were small
	trust    uint8   // low half: trust in validators; high half: grade of importance, plus 8
	since    uint8   // visits since the last without validators
	flags    flags
}

type flags uint8

const (
	kindBits flags = 7      // its Kind
	ticker   flags = 1 << 3 // differs at each visit
	listed   flags = 1 << 4 // a feed or sitemap lists it
	badDates flags = 3 << 5 // how often its date could not be right, at most 3
	badDate  flags = 1 << 5
	due      flags = 1 << 7 // a hint let it come
)

// NewState is the state of a URI that was just found. Found while the crawl runs, a page has a profile.
func (a *Adaptive) NewState(kind Kind, now int64, running bool, importance float64) State {
	s := State{flags: flags(kind)}
	s.SetImportance(importance)
	s.Belief = kind.prior()
	switch {
	case kind == Hub || kind == Feed || kind == Sitemap:
		s.Links = priorLinks
	case kind == Text && running && !a.settings.Without.Profile:
		s.Belief = Around(1, priorFactor)
		s.Found = uint32(min(max(now/1000, 1), 1<<32-1))
	}
	return s
}

// SetImportance changes how important the URI is: 0.1 to 10. It counts from the next time that its place is asked for.
func (s *State) SetImportance(of float64) {
	s.trust = s.trust&15 | uint8(min(max(grade(of), -5), 5)+8)<<4
}

// SetKind says what the URI is, as the content type of its first answer shows. What is believed of it begins again if
// it was not visited yet; a history stays.
func (s *State) SetKind(kind Kind) {
	if kind == s.Kind() {
		return
	}
	s.flags = s.flags&^kindBits | flags(kind)
	if s.Visits > 0 {
		return
	}
	s.Belief, s.Found, s.Links = kind.prior(), 0, 0
	if kind == Hub || kind == Feed || kind == Sitemap {
		s.Links = priorLinks
	}
}

// prior is what is believed of a kind before the first visit.
func (k Kind) prior() Belief {
	switch k {
	case Image:
		return Around(priorImage, priorAlpha)
	case Hub, Feed, Sitemap:
		return Around(priorHub, priorAlpha)
	}
	return Around(priorText, priorAlpha)
}

// FromAR is the state of a URI whose crawl had the policy heritrix-ar until now: its history stays, and its wait says
// about how often it changes, since that policy settles where a change is as likely as none.
func (a *Adaptive) FromAR(of ARState, kind Kind, importance float64) State {
	s := a.NewState(kind, of.Last, false, importance)
	s.Last, s.Visits, s.Versions = of.Last, of.Visits, of.Versions
	if of.Visits > 1 && of.Wait > 0 {
		s.Belief = Around(math.Ln2/days(0, of.Wait), 1)
	}
	return s
}

// FromAdaptive is the state of a URI whose crawl had the policy adaptive until now. Rate is what is believed of it now,
// in changes a day. It is due by its wait, which the next visit keeps inside its evaluator's bounds.
func (p *AR) FromAdaptive(of State, rate float64, now int64) ARState {
	s := ARState{Last: of.Last, Due: now, Visits: of.Visits, Versions: of.Versions}
	if of.Visits > 0 && rate > 0 {
		s.Wait = int64(math.Min(math.Max(math.Ln2/rate, 1.0/86400), longest) * msPerDay)
		s.Due = later(of.Last, s.Wait)
	}
	return s
}

// Kind is what the URI is.
func (s State) Kind() Kind { return Kind(s.flags & kindBits) }

// Ticker reports whether the URI is proven to differ at each visit.
func (s State) Ticker() bool { return s.flags&ticker != 0 }

// Called reports whether a feed or sitemap let the URI come now.
func (s State) Called() bool { return s.flags&due != 0 }

// Profiled reports whether the belief is a factor on the profile.
func (s State) Profiled() bool { return s.Found != 0 }

// importance is the grade of the URI's importance.
func (s State) importance() int { return int(s.trust>>4) - 8 }

// age is how old a page with a profile is, in days.
func (s State) age(now int64) float64 { return days(int64(s.Found)*1000, now) }

// changed counts one more change in a row, and whether it was small; it reports whether the URI is a ticker now: it
// changed five times or more in a row, and of the changes seven tenths were small.
func (s *State) changed(small bool) bool {
	run, few := s.streak&15, s.streak>>4
	if run == 15 { // keep the share
		run, few = 10, few*2/3
	}
	run++
	if small {
		few++
	}
	s.streak = run | few<<4
	return run >= 5 && 10*int(few) >= 7*int(run)
}
