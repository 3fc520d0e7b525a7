package revisit

import "math"

// Hints is what is known of a host's feeds and sitemaps: how often a hint was right, and how many changes were
// announced. The zero value has seen none.
type Hints struct {
	right, wrong      float32 // visits because of a hint, by whether they found a change
	announced, silent float32 // changes of listed URIs, by whether a hint came before
	asked, granted    float32 // hints that were worth a visit, and those that got one
	ignored           uint32
}

// leastPrecision is the share of right hints below which hints are ignored, but for a sample.
const leastPrecision = 0.3

// Precision is the share of hints that are right.
func (h *Hints) Precision() float64 { return (float64(h.right) + 1) / (float64(h.right+h.wrong) + 2) }

// Recall is the share of the changes of listed URIs that a hint announces and that a visit may follow.
func (h *Hints) Recall() float64 {
	if h.Precision() < leastPrecision {
		return 0
	}
	recall := float64(h.announced) / (float64(h.announced+h.silent) + 4)
	return recall * (float64(h.granted) + 1) / (float64(h.asked) + 1)
}

// found notes a visit to a listed URI: whether a hint caused it, whether a hint came before it, and whether it found a
// change.
func (h *Hints) found(caused, announced, changed bool) {
	switch {
	case caused && changed:
		h.right++
	case caused:
		h.wrong++
	}
	switch {
	case changed && announced:
		h.announced++
	case changed:
		h.silent++
	}
	for _, pair := range [][2]*float32{{&h.right, &h.wrong}, {&h.announced, &h.silent}, {&h.asked, &h.granted}} {
		if *pair[0]+*pair[1] > 200 { // what is old counts less
			*pair[0] /= 2
			*pair[1] /= 2
		}
	}
}

// Hint takes a date that a feed or a sitemap of the host gives for a URI, in milliseconds since 1970, and reports
// whether the URI is due now because of it. No politeness, and no budget, gives way for that.
func (a *Adaptive) Hint(s *State, host *Host, date, now int64) bool {
	if a.settings.Without.Hints {
		return false
	}
	s.flags |= listed
	ahead := date > now+msPerDay
	date = min(date, now)
	seconds := uint32(min(max(date/1000, 0), 1<<32-1))
	if s.Last == 0 || date <= s.Last || ahead || seconds <= s.Hinted || s.flags&due != 0 {
		return false
	}
	s.Hinted = seconds
	h := &host.Hints
	precision := h.Precision()
	if precision < leastPrecision { // look at some, so that it is noticed when they get better
		if h.ignored++; h.ignored%50 != 0 {
			return false
		}
	} else if w := a.worthOf(*s, host, now); !(precision*w.gain() >= a.priceAt(*s, host)) {
		return false
	}
	h.asked++
	if a.hintCredit < 1 {
		return false
	}
	a.hintCredit--
	h.granted++
	s.flags |= due
	return true
}

// gain is what a visit is worth to a URI that is known to have changed: a month's freshness, and a version.
func (w worth) gain() float64 {
	if w.beta <= 0 {
		return 0
	}
	return w.fresh*freshness(w.alpha, w.beta, 30) + w.capture
}

// earned adds to the visits that hints may cause, for one request.
func (a *Adaptive) earned() { a.hintCredit = math.Min(a.hintCredit+a.settings.HintShare, 100) }
