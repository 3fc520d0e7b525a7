package revisit

import (
	"math/rand/v2"
	"testing"

	"holdfast/internal/seed"
)

// The lines of a host say, after any acts, what a list of all classes would say.
func TestLinesSayWhatAListWould(t *testing.T) {
	type entry struct {
		count  int
		head   int64
		queued bool
	}
	r := seed.Rand(t)
	a, h, list := adaptive(t, nil), NewHost(), map[Class]*entry{}
	var classes []Class
	for range 12 {
		classes = append(classes, a.classOf(a.weighed(0.1+r.Float64()*10, 0.01+r.Float64()*100, float64(r.IntN(3))), r.IntN(5)-2))
	}
	now := noon
	for i := range 20_000 {
		c := classes[r.IntN(len(classes))]
		e := list[c]
		if e == nil {
			e = &entry{}
			list[c] = e
		}
		switch r.IntN(8) {
		case 0, 1:
			a.count(h, c, 1)
			e.count++
		case 2:
			a.count(h, c, -1)
			e.count = max(e.count-1, 0)
		case 3, 4, 5:
			e.head, e.queued = now-r.Int64N(30*day), true
			a.SetHead(h, c, e.head, true)
		case 6:
			e.queued = false
			a.SetHead(h, c, 0, false)
		default:
			now += r.Int64N(day)
			if r.IntN(20) == 0 {
				a.Reprice(now, []*Host{h})
			}
		}
		lines, first := 0, int64(Never)
		for c, e := range list {
			if e.count > 0 || e.queued {
				lines++
			}
			if e.queued {
				first = min(first, later(e.head, a.wait(c, a.price+h.offset)))
			}
		}
		turns, n := h.Turns(now)
		if len(h.lines) != lines || (n == 1) != (first < Never) || n == 1 && turns[0].Due != first {
			t.Fatalf("step %d: %d lines, want %d; turns %+v, want one due at %d", i, len(h.lines), lines, turns[:n], first)
		}
	}
}

// What a class says of its URIs is within a step of what is believed of them.
func TestClasses(t *testing.T) {
	a := adaptive(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		w := a.weighed(0.06+r.Float64()*11, 0.001+r.ExpFloat64()*20, 0)
		importance := r.IntN(11) - 5
		c := a.classOf(w, importance)
		near := func(got, want float64) bool { return got > want*0.77 && got < want*1.29 } // half a step: 1.284
		if !near(c.Rate(), w.alpha/w.beta) && w.alpha/w.beta > 1e-4 || !near(c.alpha(), w.alpha) || c.importance() != importance || c.Links() != 0 {
			t.Fatalf("%+v, importance %d: class of rate %g, shape %g, importance %d, links %g", w, importance, c.Rate(), c.alpha(), c.importance(), c.Links())
		}
		if with := a.classOf(a.weighed(w.alpha, w.beta, 7), importance); !near(with.Links(), 7) || with.Rate() != c.Rate() {
			t.Fatalf("7 new links a day are %g in the class", with.Links())
		}
	}
	if c := a.classOf(a.weighed(0.4, 0, 3), 0); c.Rate() != 0 {
		t.Errorf("a feed has a rate of %g of its own", c.Rate())
	}
}
