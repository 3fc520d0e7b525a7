package revisit

import "math"

// Budget is how many requests a day the crawl may make by its settings; without bound where politeness alone bounds it.
func (a *Adaptive) Budget() float64 {
	switch a.settings.Per {
	case RequestsPerSecond:
		return a.settings.Budget * 86400
	case BytesPerDay:
		return a.settings.Budget / math.Max(a.bytes, 1)
	}
	return math.Inf(1)
}

// Price is what a request is worth now: visits are made to URIs that a visit is worth more to.
func (a *Adaptive) Price() float64 { return math.Exp(float64(a.price) / fine) }

// PriceOf is what a request to a host is worth now: more than Price where the host lets too little through.
func (a *Adaptive) PriceOf(h *Host) float64 { return math.Exp(float64(a.price+h.offset) / fine) }

// usable is how many requests a day a host's URIs may ask for.
func (a *Adaptive) usable(h *Host) float64 {
	if h.Capacity <= 0 {
		return math.Inf(1)
	}
	return 0.9 * h.Capacity
}

// least is the first number from a start on for which ok is true, if it is true for all after it; at most most.
func least(ok func(int) bool, start, most int) int {
	low, reach := start-1, 1
	for start+reach < most && !ok(start+reach) {
		low = start + reach
		reach *= 2
	}
	high := min(start+reach, most)
	for low+1 < high {
		if middle := (low + high) / 2; ok(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Went notes a request that goes at a time for a turn.
func (a *Adaptive) Went(now int64, t Turn, hinted bool) {
	p := &a.period
	p.requests++
	a.earned()
	a.newShare -= a.newShare / 100
	if t.Queue == New {
		a.newShare += 0.01
	}
	switch {
	case t.Queue == New || hinted:
		p.extra++
	case t.Due > t.Last:
		p.judged++
		p.late += math.Min(math.Max(float64(now-t.Due), 0)/float64(t.Due-t.Last), 1)
	}
}

// early is the part of its wait for which a URI may come ahead of its time: a quarter.
const early = 4

// From is the first time at which a turn may go, so that hosts can be kept in the order of it.
func (a *Adaptive) From(t Turn) int64 {
	wait := t.Due - t.Last
	if a.settings.Without.EarlyTurns || wait <= 0 {
		return t.Due
	}
	return t.Due - (wait+early-1)/early + 1
}

// Rank orders the turns that hosts could have: the least goes first. Ok is false if it is not to go yet. What is due
// comes before what is not, and what was never visited before the rest, as long as it takes no more than half of the
// requests. Of the due, the one that is due longest comes first; if none is, the one that is ahead of its time by the
// least share of its wait, if under a quarter.
func (a *Adaptive) Rank(now int64, t Turn) (rank float64, ok bool) {
	if t.Due <= now {
		rank = -float64(now-t.Due) - 1
		if t.Queue == New && a.newShare < 0.5 {
			rank -= 1e15
		}
		return rank, true
	}
	if now < a.From(t) {
		return 0, false
	}
	return float64(t.Due-now) / float64(t.Due-t.Last), true
}

// Reprice makes the price of a request so that all hosts' URIs together ask for what the budget has, as the caller does
// each hour and after settings changed. A caller who must not be kept for long takes the steps of a Repricing.
func (a *Adaptive) Reprice(now int64, hosts []*Host) {
	for r := a.Begin(now, hosts); r.Step(); {
		continue
	}
}

// Repricing is a price in the making. Its steps look at one host each; between them visits may go on.
type Repricing struct {
	a       *Adaptive
	hosts   []*Host
	want    float64 // requests a day that the hosts' URIs may ask for
	next    int     // host of the next step
	sum     float64 // what those before it ask for at the trial
	trial   int
	low     int // a price at which too much is asked for
	high    int // a price at which it is not
	reach   int // how far the next trial goes, as long as one of both is not known
	setting bool
}

// Begin learns from the hour that is over, and begins to make the price of the next. Hosts that cannot be visited,
// since they do not answer, are left out: what their URIs ask for goes to the others.
func (a *Adaptive) Begin(now int64, hosts []*Host) *Repricing {
	budget, passed := a.Budget(), days(a.period.began, now)
	if a.period.began > 0 && passed > 0 {
		a.profile.Learn(math.Min(passed, 1.0/12)) // nothing is forgotten for time asleep
		a.correct(budget, passed)
	}
	a.period = period{began: now}
	a.weigh(a.changes(hosts, budget))
	r := &Repricing{a: a, hosts: hosts, trial: a.price, low: lowest - 1, high: highest, reach: 1}
	if r.want = math.Max(budget*math.Exp(-a.trim)-a.firsts, budget/20); math.IsInf(budget, 1) {
		a.price, r.setting = lowest, true
	}
	return r
}

// Step looks at the next host, and reports whether there is more to do.
func (r *Repricing) Step() bool {
	if r.next < len(r.hosts) {
		h := r.hosts[r.next]
		r.next++
		if r.setting {
			r.a.reprice(h, r.a.price)
		} else {
			r.sum += math.Min(r.a.demand(h, r.trial), r.a.usable(h))
		}
		return true
	}
	if r.setting {
		return false
	}
	r.tried()
	r.next, r.sum = 0, 0
	return true
}

// tried takes what was asked for at the trial into account: the price is the lowest at which no more than the budget
// is.
func (r *Repricing) tried() {
	if r.sum <= r.want {
		r.high = r.trial
	} else {
		r.low = r.trial
	}
	switch {
	case r.high-r.low <= 1:
		r.a.price, r.setting = r.high, true
	case r.low < lowest: // only prices that are high enough yet
		r.trial = max(r.high-r.reach, lowest)
		r.reach *= 2
	case r.high == highest: // only prices that are too low
		r.trial = min(r.low+r.reach, highest-1)
		r.reach *= 2
	default:
		r.trial = (r.low + r.high) / 2
	}
}

// correct learns from the period that is over how much of the budget first visits take, and what is to be taken off it.
func (a *Adaptive) correct(budget, passed float64) {
	p := &a.period
	weight := -math.Expm1(-passed / 0.25)
	a.firsts += (p.extra/passed - a.firsts) * weight
	late := p.judged > 0 && p.late/p.judged > 0.08
	switch most := 0.03 * math.Min(passed*24, 1); {
	case late:
		a.trim += most
	case passed > 0.1: // it slept
	case p.requests < 0.97*budget*passed && !math.IsInf(budget, 1):
		a.trim -= most
	default:
		a.trim *= 0.99
	}
	a.trim = math.Min(math.Max(a.trim, -0.3), 0.5)
}

// changes is how many versions a URI has a day, or could be captured.
func (a *Adaptive) changes(hosts []*Host, budget float64) float64 {
	n, sum := 0.0, 0.0
	for _, h := range hosts {
		for _, l := range h.lines {
			if rate := l.class.Rate(); rate > 0 {
				n += float64(l.count)
				sum += float64(l.count) * math.Min(rate, a.settings.PerDay)
			}
		}
	}
	if n == 0 {
		return priorText
	}
	return math.Min(sum/n, budget/n)
}
