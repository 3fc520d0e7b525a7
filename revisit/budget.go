package revisit

import "math"

// Bucket lets requests go at the rate of a budget. Whatever the clock does, no more than a few go at once. The zero
// value lets the first request go.
type Bucket struct {
	credit float64
	last   int64
	begun  bool
}

// mostCredit is how many requests may go at once after a time without any.
const mostCredit = 10

// Take reports whether a request may go at a time, in milliseconds since 1970, and counts it if so. Rate is in requests
// a day; a rate without bound always lets go.
func (b *Bucket) Take(now int64, rate float64) bool {
	b.fill(now, rate)
	if b.credit < 1 {
		return false
	}
	b.credit--
	return true
}

// Wait is how long it takes, in milliseconds, until a request may go.
func (b *Bucket) Wait(now int64, rate float64) int64 {
	b.fill(now, rate)
	if b.credit >= 1 {
		return 0
	}
	if !(rate > 0) {
		return msPerDay
	}
	return int64(math.Ceil(math.Min((1-b.credit)/rate, 1) * msPerDay))
}

func (b *Bucket) fill(now int64, rate float64) {
	if math.IsInf(rate, 1) {
		b.credit, b.last, b.begun = mostCredit, now, true
		return
	}
	if !b.begun {
		b.credit, b.begun = 1, true
	} else if earned := days(b.last, now) * rate; earned > 0 {
		b.credit = math.Min(b.credit+earned, mostCredit)
	}
	b.last = now
}
