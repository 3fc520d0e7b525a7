package revisit

import "math"

// worth is what a visit is worth after a time, for one class of URIs: days for which the archive is up to date, and
// versions that it gets, weighed.
type worth struct {
	alpha, beta float64 // belief, with beta in days
	fresh       float64 // weight of a day up to date
	capture     float64 // weight of a version
	links       float64 // new links a day, times the weight of a new page
	closed      bool    // the closed form in place of the mean over the belief
}

// at is the worth after a wait in days. It grows with the wait.
func (w worth) at(wait float64) float64 {
	v := w.fresh * w.links * wait * wait / 2
	if w.beta > 0 {
		x := w.alpha / w.beta * wait
		c := x / (1 + x) * x / (1 + x)
		if w.closed {
			return v + (w.fresh*w.beta/w.alpha+w.capture)*c
		}
		v += w.fresh*freshness(w.alpha, w.beta, wait) + w.capture*c
	}
	return v
}

// freshness is the expected gain of days up to date by one more visit after a wait, over the whole belief: the mean
// over all rates L of (1-exp(-Lt))/L - t exp(-Lt).
func freshness(alpha, beta, wait float64) float64 {
	r := wait / beta
	if r < 1e-3 { // the difference below would be of two numbers that are almost equal
		return alpha / beta * wait * wait / 2 * (1 - 2*(alpha+1)*r/3)
	}
	step := math.Log1p(r)
	gained := step
	if e := alpha - 1; math.Abs(e) > 1e-7 {
		gained = -math.Expm1(-e*step) / e
	}
	return math.Max(beta*gained-wait*math.Exp(-alpha*step), 0)
}

// aged is the worth after a wait in days for a page of an age whose rates the profile has: the belief is about a factor
// on it.
func (w worth) aged(p *Profile, factor Belief, age float64) func(wait float64) float64 {
	return func(wait float64) float64 {
		v := w.fresh * w.links * wait * wait / 2
		length := p.Between(age, age+wait)
		if !(length > 0) {
			return v
		}
		x := factor.Rate() * length
		c := x / (1 + x) * x / (1 + x)
		if w.closed {
			return v + (w.fresh*wait/x+w.capture)*c
		}
		return v + w.fresh*freshness(float64(factor.Alpha), float64(factor.Beta), length)*wait/length + w.capture*c
	}
}

// solve returns the wait between two bounds, in days, after which a growing worth reaches the price.
func solve(at func(wait float64) float64, price, low, high float64) float64 {
	if !(low < high) || at(low) >= price {
		return low
	}
	if !(at(high) > price) {
		return high
	}
	for range 48 {
		if high-low < 1e-4*low {
			break
		}
		middle := math.Sqrt(low * high)
		if at(middle) >= price {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Sqrt(low * high)
}
