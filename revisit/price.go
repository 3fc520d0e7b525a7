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

// early is the share of its wait for which a URI may come ahead of its time.
const early = 0.25

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
	if a.settings.Without.EarlyTurns || t.Due <= t.Last {
		return 0, false
	}
	share := float64(t.Due-now) / float64(t.Due-t.Last)
	return share, share < early
}

// Reprice makes the price of a request so that all hosts' URIs together ask for what the budget has, as the caller does
// each hour and after settings changed. The caller counts on it to take well under a second for a million URIs.
func (a *Adaptive) Reprice(now int64, hosts []*Host) {
	budget, passed := a.Budget(), days(a.period.began, now)
	if a.period.began > 0 && passed > 0 {
		a.profile.Learn(passed)
		a.correct(budget, passed)
	}
	a.period = period{began: now}
	a.weigh(a.changes(hosts, budget))
	if math.IsInf(budget, 1) {
		a.price = lowest
	} else {
		want := math.Max(budget*math.Exp(-a.trim)-a.firsts, budget/20)
		a.price = a.find(func(price int) bool {
			sum := 0.0
			for _, h := range hosts {
				sum += math.Min(a.demand(h, price), a.usable(h))
			}
			return sum <= want
		})
	}
	for _, h := range hosts {
		a.reprice(h, a.price)
	}
}

// find looks for the price from the one that held.
func (a *Adaptive) find(enough func(price int) bool) int {
	if !enough(a.price) {
		return least(enough, a.price, highest)
	}
	return -least(func(minus int) bool { return !enough(-minus) }, -a.price, -lowest) + 1
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
