package revisit

import (
	"math"
	"testing"
)

// The belief after an interval with a change has the mean and the variance of the exact answer, calculated here by
// summing up.
func TestBeliefAfterAChange(t *testing.T) {
	for _, b := range []Belief{{0.4, 1.3}, {3, 10}, {11, 0.5}, {0.4, 300}, {1, 1}} {
		for _, interval := range []float64{1e-3, 0.1, 1, 30} {
			var sum, first, second float64
			alpha, beta := float64(b.Alpha), float64(b.Beta)
			for u := -30.0; u < 12; u += 0.002 { // rate = exp(u)
				rate := math.Exp(u)
				p := math.Exp(alpha*u-beta*rate) * -math.Expm1(-rate*interval)
				sum, first, second = sum+p, first+p*rate, second+p*rate*rate
			}
			mean := first / sum
			variance := second/sum - mean*mean
			got := b.Changed(interval)
			a, bb := float64(got.Alpha), float64(got.Beta)
			if a < maxAlpha-1e-3 && (math.Abs(a/bb/mean-1) > 1e-3 || math.Abs(a/bb/bb/variance-1) > 1e-3) {
				t.Errorf("%v after %g days: mean %g, variance %g, want %g, %g", b, interval, a/bb, a/bb/bb, mean, variance)
			}
			if math.Abs(a/bb/mean-1) > 1e-3 {
				t.Errorf("%v after %g days: mean %g, want %g", b, interval, a/bb, mean)
			}
		}
	}
}

func TestBeliefUpdates(t *testing.T) {
	b := Belief{2, 4}
	for _, tt := range []struct {
		name      string
		got, want Belief
	}{
		{"no change", b.Unchanged(3), Belief{2, 7}},
		{"a date inside the interval", b.ChangedAgo(0.5), Belief{3, 4.5}},
		{"a first visit with a date", b.First(10), Belief{2.5, 9}},
		{"a first visit with an old date", b.First(4000), Belief{2.5, 204}},
		{"more than twelve changes are forgotten", Belief{12, 6}.ChangedAgo(0.5), Belief{12, 6.5 * 12 / 13}},
	} {
		if math.Abs(float64(tt.got.Alpha-tt.want.Alpha)) > 1e-5 || math.Abs(float64(tt.got.Beta-tt.want.Beta)) > 1e-4 {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// A belief that is told of many changes at once, or of nothing for years, comes to the rate that is there.
func TestBeliefFindsTheRate(t *testing.T) {
	for _, rate := range []float64{0.01, 0.3, 5} {
		b := Around(priorText, priorAlpha)
		interval := 1 / rate
		for range 400 { // a change in each second interval is what this rate is like, nearly
			b = b.Unchanged(interval * math.Ln2).Changed(interval * math.Ln2)
		}
		if got := b.Rate(); got < rate*0.8 || got > rate*1.25 {
			t.Errorf("believes %g a day, want about %g", got, rate)
		}
	}
}

// No interval, and no clock, makes a belief that is not a number, or a rate without end.
func FuzzBelief(f *testing.F) {
	for _, interval := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 5e-324, 1e300, 1, 400} {
		for op := range uint8(4) {
			f.Add(float32(0.4), float32(1.3), interval, op)
			f.Add(float32(12), float32(1e-4), interval, op)
			f.Add(float32(math.NaN()), float32(math.Inf(1)), interval, op)
		}
	}
	f.Fuzz(func(t *testing.T, alpha, beta float32, interval float64, op uint8) {
		b := bounded(float64(alpha), float64(beta))
		for range 30 {
			switch op % 4 {
			case 0:
				b = b.Unchanged(interval)
			case 1:
				b = b.Changed(interval)
			case 2:
				b = b.ChangedAgo(interval)
			case 3:
				b = b.First(interval)
			}
		}
		if !(b.Alpha >= minAlpha && b.Alpha <= maxAlpha && float64(b.Beta) >= minBeta*0.999 && b.Beta <= maxBeta) {
			t.Errorf("%v", b)
		}
		w := worth{alpha: float64(b.Alpha), beta: float64(b.Beta), fresh: 0.5, capture: 1}
		if wait := solve(w.at, 0.1, 1e-3, 28); !(wait >= 1e-3 && wait <= 28) {
			t.Errorf("%v waits %g days", b, wait)
		}
	})
}

func TestFreshnessIsTheMeanOverTheBelief(t *testing.T) {
	for _, b := range []Belief{{0.4, 1.3}, {1, 2}, {3, 10}, {12, 0.5}, {0.4, 300}} {
		for _, wait := range []float64{1e-3, 0.1, 1, 28} {
			var sum, weights float64
			for u := -40.0; u < 12; u += 0.002 {
				rate := math.Exp(u)
				p := math.Exp(float64(b.Alpha)*u - float64(b.Beta)*rate)
				x := rate * wait
				gain := -math.Expm1(-x)/rate - wait*math.Exp(-x)
				if x < 1e-4 {
					gain = x * wait / 2
				}
				sum, weights = sum+p*gain, weights+p
			}
			want := sum / weights
			if got := freshness(float64(b.Alpha), float64(b.Beta), wait); math.Abs(got/want-1) > 3e-3 {
				t.Errorf("%v after %g days: %g, want %g", b, wait, got, want)
			}
		}
	}
}

// What a visit is worth only grows with the wait: the price has one answer.
func TestWorthGrows(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.4, 0.999999, 1, 1.00001, 5, 12} {
		for _, beta := range []float64{1e-4, 0.01, 1, 100, 1e5} {
			for _, links := range []float64{0, 3} {
				w := worth{alpha: alpha, beta: beta, fresh: 0.5, capture: 0.7, links: links}
				before := 0.0
				for wait := 1e-4; wait < 3650; wait *= 1.03 {
					now := w.at(wait)
					if now < before*(1-1e-6) || math.IsNaN(now) {
						t.Fatalf("alpha %g, beta %g: after %g days it is worth %g, before that %g", alpha, beta, wait, now, before)
					}
					before = now
				}
			}
		}
	}
}
