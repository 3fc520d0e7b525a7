package revisit

import "math"

// Belief is what is believed of how often a URI changes: a Gamma distribution of changes a day, with shape Alpha and
// rate Beta in days. For a URI with a profile it is the distribution of a factor on the profile, and intervals are the
// profile's integral. Whatever it is told, both numbers stay inside bounds.
type Belief struct {
	Alpha, Beta float32
}

const (
	minAlpha, maxAlpha = 0.05, 12
	minBeta, maxBeta   = 1e-4, 1e5
)

// Rate is the expected number of changes a day.
func (b Belief) Rate() float64 { return float64(b.Alpha) / float64(b.Beta) }

// Around is the belief of a mean and a shape.
func Around(mean, alpha float64) Belief { return bounded(alpha, alpha/mean) }

// bounded forgets what is old, by scaling what weighs more than twelve changes, and keeps numbers finite.
func bounded(alpha, beta float64) Belief {
	if !(alpha >= minAlpha) {
		alpha = minAlpha
	}
	if math.IsInf(alpha, 1) {
		alpha = maxAlpha
	} else if alpha > maxAlpha {
		beta *= maxAlpha / alpha
		alpha = maxAlpha
	}
	if !(beta >= minBeta) {
		beta = minBeta
	}
	return Belief{float32(alpha), float32(math.Min(beta, maxBeta))}
}

// sound reports whether a length of time says something.
func sound(length float64) bool { return length >= 0 && length <= math.MaxFloat64 }

// Unchanged is the belief after an interval without a change.
func (b Belief) Unchanged(interval float64) Belief {
	if !sound(interval) {
		return b
	}
	return bounded(float64(b.Alpha), float64(b.Beta)+math.Min(interval, longest))
}

// Changed is the belief after an interval in which the content changed at least once, nobody knows when. It has the
// mean and the variance that the exact answer has.
func (b Belief) Changed(interval float64) Belief {
	if !sound(interval) {
		return b
	}
	alpha, beta := float64(b.Alpha), float64(b.Beta)
	interval = math.Min(interval, longest)
	step := math.Log1p(interval / beta)
	if step < 1e-9 {
		return bounded(alpha+1, beta)
	}
	q0, q1, q2 := -math.Expm1(-alpha*step), -math.Expm1(-(alpha+1)*step), -math.Expm1(-(alpha+2)*step)
	m1 := alpha / beta * q1 / q0
	v := alpha*(alpha+1)/(beta*beta)*q2/q0 - m1*m1
	if !(v > 0) || !(m1 > 0) || math.IsInf(m1, 0) || math.IsInf(v, 0) {
		return bounded(alpha+1, beta)
	}
	return bounded(m1*m1/v, m1/v)
}

// ChangedAgo is the belief after an interval whose last change was this long ago, as a trusted date says. What was
// before that change says nothing.
func (b Belief) ChangedAgo(ago float64) Belief {
	if !sound(ago) {
		return b
	}
	return bounded(float64(b.Alpha)+1, float64(b.Beta)+math.Min(ago, longest))
}

// First is the belief after a first visit, if a trusted date says how old the content is, in days.
func (b Belief) First(age float64) Belief {
	if !sound(age) {
		return b
	}
	return bounded(float64(b.Alpha)+0.5, float64(b.Beta)+0.5*math.Min(age, 400))
}
