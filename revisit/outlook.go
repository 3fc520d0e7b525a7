package revisit

import "math"

// Outlook is what is expected of the URIs of a host, at the waits that they have now. Those that were never visited are
// left out, and feeds and sitemaps count only in what is asked for.
type Outlook struct {
	URIs     int     // whose own state counts
	Current  float64 // of them, those whose newest archived version is the current one
	Versions float64 // versions a day
	Captured float64 // of them, those that are archived
	Asked    float64 // requests a day that the URIs ask for
	Usable   float64 // requests a day that the host lets through for them; without bound as long as nobody knows
}

// Outlook calculates what is expected, for people. It takes as long as there are classes at the host.
func (a *Adaptive) Outlook(h *Host) Outlook {
	o := Outlook{Asked: a.demand(h, a.price+h.offset), Usable: a.usable(h)}
	for _, l := range h.lines {
		rate := l.class.Rate()
		if rate == 0 || l.count == 0 {
			continue
		}
		n, alpha, wait := float64(l.count), l.class.alpha(), float64(l.wait)/msPerDay
		beta := alpha / rate
		step := math.Log1p(wait / beta)
		gained := step
		if e := alpha - 1; math.Abs(e) > 1e-7 {
			gained = -math.Expm1(-e*step) / e
		}
		o.URIs += l.count
		o.Current += n * math.Min(beta*gained/wait, 1)
		o.Versions += n * rate
		o.Captured += n * -math.Expm1(-alpha*step) / wait
	}
	return o
}

// Plus adds what is expected of another host.
func (o Outlook) Plus(other Outlook) Outlook {
	return Outlook{o.URIs + other.URIs, o.Current + other.Current, o.Versions + other.Versions,
		o.Captured + other.Captured, o.Asked + other.Asked, o.Usable + other.Usable}
}

// Freshness is the share of the URIs whose newest archived version is the current one; 0 if there are none.
func (o Outlook) Freshness() float64 { return o.Current / math.Max(float64(o.URIs), 1) }

// Completeness is at most the share of the versions that are archived; 1 if nothing changes. It is too high where pages
// change several times between two visits: nobody has seen how often.
func (o Outlook) Completeness() float64 {
	if o.Versions == 0 {
		return 1
	}
	return math.Min(o.Captured/o.Versions, 1)
}
