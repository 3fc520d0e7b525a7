package revisit

import (
	"math"
	"testing"
)

func TestBucket(t *testing.T) {
	var b Bucket
	took := func(now int64, rate float64) (n int) {
		for b.Take(now, rate) && n < 1000 {
			n++
		}
		return n
	}
	if n := took(noon, 86400); n != 1 {
		t.Errorf("at the start %d requests go, want 1", n)
	}
	sum := 0
	for i := range int64(1000) {
		sum += took(noon+(i+1)*1000, 86400)
	}
	if sum < 998 || sum > 1000 {
		t.Errorf("in 1000 seconds at one a second, %d go", sum)
	}
	if n := took(noon+day, 86400); n > mostCredit {
		t.Errorf("after a day asleep %d requests go at once", n)
	}
	if n := took(noon+day, 864_000); n > 1 {
		t.Errorf("when the budget is tenfold, %d requests go at once", n)
	}
	if n := took(noon-365*day, 86400); n > 1 {
		t.Errorf("after a clock that ran back, %d requests go at once", n)
	}
	if n := took(noon-365*day+20_000, 86400); n != 10 {
		t.Errorf("20 seconds later %d go, want 10", n)
	}
	if wait := b.Wait(noon-365*day+20_000, 86400); wait < 900 || wait > 1001 {
		t.Errorf("the next may go after %d ms, want about a second", wait)
	}
	if wait := b.Wait(noon-365*day+20_000, 0); wait != day {
		t.Errorf("without a rate the next may go after %d ms", wait)
	}
	for _, rate := range []float64{math.NaN(), -5, 0} {
		var of Bucket
		of.Take(noon, rate)
		if of.Take(noon+day, rate) {
			t.Errorf("a second request goes at a rate of %g", rate)
		}
	}
	if n := took(noon, math.Inf(1)); n != 1000 {
		t.Errorf("without bound %d requests go", n)
	}
}

func TestBudgetOfBytes(t *testing.T) {
	a, h := adaptive(t, func(s *Settings) { s.Per, s.Budget = BytesPerDay, 1e9 }), NewHost()
	for range 20_000 {
		s := a.NewState(Text, noon, false, 1)
		a.Visited(&s, h, nil, Visit{At: noon, Bytes: 100_000})
	}
	if got := a.Budget(); math.Abs(got-10_000) > 100 {
		t.Errorf("1 GB a day of 100 kB each is %g requests a day, want 10000", got)
	}
}
