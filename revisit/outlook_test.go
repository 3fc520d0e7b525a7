package revisit

import (
	"math"
	"testing"
)

func TestOutlook(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	if o := a.Outlook(h); o.URIs != 0 || o.Freshness() != 0 || o.Completeness() != 1 || !math.IsInf(o.Usable, 1) {
		t.Errorf("of an empty host %+v is expected", o)
	}
	class := crowd(a, h, 1, 10, noon)
	feed := a.classOf(a.weighed(0.4, 0, 3), 0)
	a.count(h, feed, 2)
	h.Capacity = 1000
	i, _ := h.line(class)
	h.lines[i].wait = 2 * day
	// what the belief says, summed up
	var fresh, captured, all float64
	alpha, beta := class.alpha(), class.alpha()/class.Rate()
	for u := -25.0; u < 6; u += 0.001 {
		rate := math.Exp(u)
		p := math.Exp(alpha*u - beta*rate)
		fresh += p * -math.Expm1(-2*rate) / (2 * rate)
		captured += p * -math.Expm1(-2*rate) / 2
		all += p
	}
	o := a.Outlook(h)
	if math.Abs(o.Freshness()-fresh/all) > 1e-3 || math.Abs(o.Captured-10*captured/all) > 1e-2 {
		t.Errorf("freshness %.4f, %.4f versions a day, want %.4f and %.4f", o.Freshness(), o.Captured, fresh/all, 10*captured/all)
	}
	if o.URIs != 10 || o.Usable != 900 || math.Abs(o.Versions-10*class.Rate()) > 1e-9 || o.Completeness() >= 1 {
		t.Errorf("%+v is expected", o)
	}
	if two := o.Plus(o); two.URIs != 20 || two.Freshness() != o.Freshness() || two.Completeness() != o.Completeness() || two.Asked != 2*o.Asked {
		t.Errorf("twice that is %+v", two)
	}
}
