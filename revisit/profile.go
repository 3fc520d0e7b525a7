package revisit

import "math"

// Profile is how the rate of change of pages found while the crawl runs depends on their age: eleven bins, the first of
// a quarter of a day, each other twice as long as all before it, the last without end. The zero value has learnt
// nothing.
type Profile struct {
	events, exposure [bins]float64
	rates            [bins]float64
	ready            bool
}

const (
	bins       = 11
	firstBin   = 0.25 // days
	shrinkage  = 5    // days of pages that the bin before counts as
	profileAge = 90   // days in which what was learnt loses most of its weight
)

// edge is the age at which a bin ends, in days.
func edge(bin int) float64 {
	if bin == bins-1 {
		return math.Inf(1)
	}
	return math.Ldexp(firstBin, bin)
}

// settledAge is the age at which the last bin begins: from there on the rate depends on the age no more.
const settledAge = firstBin * 512

// each calls f for each bin between two ages with the length of time in it.
func each(from, to float64, f func(bin int, length float64)) {
	start := 0.0
	for bin := range bins {
		end := edge(bin)
		if low, high := math.Max(from, start), math.Min(to, end); high > low {
			f(bin, high-low)
		}
		start = end
	}
}

// Between is the expected number of changes of a page of factor 1 between two ages in days.
func (p *Profile) Between(from, to float64) (sum float64) {
	each(from, to, func(bin int, length float64) { sum += length * p.At(bin) })
	return sum
}

// At is the rate in a bin, in changes a day.
func (p *Profile) At(bin int) float64 {
	if !p.ready {
		return priorText
	}
	return p.rates[bin]
}

// Rate is the rate at an age in days.
func (p *Profile) Rate(age float64) float64 {
	for bin := range bins {
		if age < edge(bin) {
			return p.At(bin)
		}
	}
	return p.At(bins - 1)
}

// Saw adds what a visit says of a page with a factor: that between two ages it changed, at least once, or did not.
func (p *Profile) Saw(from, to, factor float64, changed bool) {
	expected := p.Between(from, to)
	if !sound(from) || !sound(to) || !(expected > 0) {
		return
	}
	events := 0.0
	if changed {
		if mean := factor * expected; mean > 1e-6 && sound(mean) {
			events = mean / -math.Expm1(-mean)
		} else {
			events = 1
		}
	}
	each(from, to, func(bin int, length float64) {
		p.events[bin] += events * length * p.At(bin) / expected
		p.exposure[bin] += length
	})
}

// Learn makes the curve of what was seen. Passed is how many days have gone since it was made last.
func (p *Profile) Learn(passed float64) {
	before := priorText
	if !sound(passed) {
		passed = 0
	}
	keep := math.Exp(-passed / profileAge)
	for bin := range bins {
		p.rates[bin] = (p.events[bin] + shrinkage*before) / (p.exposure[bin] + shrinkage)
		before = p.rates[bin]
		p.events[bin] *= keep
		p.exposure[bin] *= keep
	}
	p.ready = true
}
