package revisit

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// When the policy of a crawl changes, and changes back, histories stay, and waits count from the last visit.
func TestThePolicyChangesAndBack(t *testing.T) {
	a, p := adaptive(t, nil), policy(t, HeritrixEvaluators())
	was := ARState{Wait: 2 * day, Due: noon + 2*day, Last: noon, Visits: 30, Versions: 12}
	s := a.FromAR(was, Text, 1)
	if s.Last != noon || s.Visits != 30 || s.Versions != 12 || math.Abs(s.Rate()/(math.Ln2/2)-1) > 1e-6 {
		t.Errorf("a wait of two days becomes %+v, rate %g", s, s.Rate())
	}
	rate, low, high := a.RateOf(s, noon)
	if !(low < rate && rate < high) {
		t.Errorf("a rate of %g lies between %g and %g", rate, low, high)
	}
	if got := p.FromAdaptive(s, rate, noon+day); got.Last != was.Last || got.Visits != 30 || got.Versions != 12 ||
		math.Abs(float64(got.Wait-was.Wait)) > 1000 || got.Due != noon+got.Wait {
		t.Errorf("back again it is %+v, want about %+v", got, was)
	}
	if fresh := p.FromAdaptive(a.NewState(Text, noon, true, 1), 0.3, noon+5); fresh.Wait != 0 || fresh.Due != noon+5 {
		t.Errorf("what was never visited becomes %+v, want due at once", fresh)
	}
	once := a.FromAR(ARState{Wait: day, Last: noon, Visits: 1, Versions: 1}, Image, 1)
	if once.Belief != Image.prior() {
		t.Errorf("an initial wait becomes the belief %v", once.Belief)
	}
}

// The bounds of the rate hold nine tenths of the belief, about.
func TestBoundsOfTheRate(t *testing.T) {
	a := adaptive(t, nil)
	for _, alpha := range []float64{1, 4, 12} {
		s := State{Belief: Around(0.5, alpha), Visits: 1}
		_, low, high := a.RateOf(s, noon)
		var inside, all float64
		for u := -25.0; u < 8; u += 0.001 {
			rate := math.Exp(u)
			p := math.Exp(alpha*u - float64(s.Beta)*rate)
			if all += p; rate > low && rate < high {
				inside += p
			}
		}
		if share := inside / all; share < 0.86 || share > 0.94 {
			t.Errorf("shape %g: %g to %g hold %.3f of the belief", alpha, low, high, share)
		}
	}
}

func TestWhy(t *testing.T) {
	a, h := adaptive(t, func(s *Settings) { s.MinWait = time.Hour }), NewHost()
	of := func(rate float64) State {
		return State{Belief: Around(rate, 6), Visits: 5, Last: noon, trust: 8 << 4}
	}
	a.price = int(math.Log(0.3) * fine)
	called := of(0.3)
	called.flags |= due
	for name, tt := range map[string]struct {
		of   State
		want Reason
	}{
		"never visited": {a.NewState(Text, noon, false, 1), ByFirst}, "called": {called, ByHint}, "usual": {of(0.3), ByPrice},
		"hardly ever": {of(1e-4), ByMaximum}, "always": {of(3000), ByMaximum},
	} {
		if got := a.Why(tt.of, h); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	a.price = int(math.Log(1e-4) * fine)
	if got := a.Why(of(30), h); got != ByMinimum {
		t.Errorf("with a low price: %d, want the minimum", got)
	}
	a.price, h.offset = int(math.Log(0.1)*fine), 20
	if got := a.Why(of(0.3), h); got != ByHost {
		t.Errorf("at a host that lets little through: %d", got)
	}
}

// A queue whose class counts nobody, as when a URI was called out of it, does not touch the queue of another class.
func TestQueuesOfClassesThatCountNobody(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	class := crowd(a, h, 1, 3, noon)
	a.SetHead(h, class+1, noon-day, true)
	turns, n := h.Turns(noon)
	if n != 1 || turns[0].Class != class+1 || len(h.lines) != 2 {
		t.Fatalf("turns are %+v of %+v", turns[:n], h.lines)
	}
	a.SetHead(h, class+1, 0, false)
	a.SetHead(h, class+2, 0, false)
	if turns, n = h.Turns(noon); n != 1 || turns[0].Class != class || len(h.lines) != 1 {
		t.Errorf("turns are %+v of %+v", turns[:n], h.lines)
	}
}

// BenchmarkReprice makes the price for a million URIs at a hundred hosts, as happens each hour.
func BenchmarkReprice(b *testing.B) {
	for _, of := range []struct{ bound, cold bool }{{false, false}, {true, false}, {true, true}} {
		b.Run(fmt.Sprintf("bound=%v/cold=%v", of.bound, of.cold), func(b *testing.B) {
			s := DefaultSettings()
			s.Per, s.Budget = RequestsPerSecond, 20
			a, err := NewAdaptive(s)
			if err != nil {
				b.Fatal(err)
			}
			var hosts []*Host
			for i := range 100 {
				h := NewHost()
				if of.bound {
					h.Capacity = 5000
				}
				for j := range 150 {
					c := a.classOf(a.weighed(0.1*math.Exp(float64(j%10)*step), 0.1*math.Exp(float64(j%10-j/10)*step), 0), 0)
					a.count(h, c, 66+i%3)
				}
				hosts = append(hosts, h)
			}
			now := noon
			for b.Loop() {
				if of.cold { // the weights have changed
					clear(a.waits)
				}
				now += day / 24
				a.firsts = float64(now % 977) // so that the price moves
				a.Reprice(now, hosts)
			}
		})
	}
}

// The steps of a price lead to the price that the whole leads to, from wherever it begins, and URIs may come and go
// meanwhile.
func TestAPriceInSteps(t *testing.T) {
	for _, from := range []int{lowest, -400, 0, 300, highest} {
		a, hosts := adaptive(t, func(s *Settings) { s.Budget = 3000.0 / 86400 }), []*Host{NewHost(), NewHost()}
		for _, h := range hosts {
			for _, rate := range []float64{0.01, 0.1, 1, 10} {
				crowd(a, h, rate, 300, noon)
			}
		}
		a.price = from
		steps := 0
		for r := a.Begin(noon, hosts); r.Step(); steps++ {
			if steps == 3 {
				crowd(a, hosts[0], 0.5, 10, noon)
			}
		}
		asked := a.demand(hosts[0], a.price) + a.demand(hosts[1], a.price)
		below := a.demand(hosts[0], a.price-1) + a.demand(hosts[1], a.price-1)
		if asked > 3000 || below <= 3000 || steps > 120 {
			t.Errorf("from %d: after %d steps %g requests are asked for, and %g one step lower, of 3000", from, steps, asked, below)
		}
	}
	a := adaptive(t, nil)
	a.Reprice(noon, nil)
	if a.price != lowest {
		t.Errorf("without hosts the price is %d steps, want the lowest", a.price)
	}
	h := NewHost()
	for _, rate := range []float64{0.01, 1} { // they ask for more than there is, at any price
		crowd(a, h, rate, 1_000_000_000, noon)
	}
	a.Reprice(noon, []*Host{h})
	if a.price != highest {
		t.Errorf("with too many URIs the price is %d steps, want the highest", a.price)
	}
}

// BenchmarkVisited is a visit, with what comes before and after it, at a host with many classes.
func BenchmarkVisited(b *testing.B) {
	for _, profiled := range []bool{false, true} {
		b.Run(fmt.Sprintf("profiled=%v", profiled), func(b *testing.B) {
			a, err := NewAdaptive(DefaultSettings())
			if err != nil {
				b.Fatal(err)
			}
			h := NewHost()
			for j := range 150 {
				c := a.classOf(a.weighed(0.1*math.Exp(float64(j%10)*step), 0.1*math.Exp(float64(j%10-j/10)*step), 0), 0)
				a.count(h, c, 1000)
				a.SetHead(h, c, noon, true)
			}
			s := a.NewState(Text, noon, profiled, 1)
			p := a.Visited(&s, h, nil, Visit{At: noon, Change: Changed})
			now := noon
			for i := 0; b.Loop(); i++ {
				now += day / 3
				turns, _ := h.Turns(now)
				a.Rank(now, turns[0])
				a.Went(now, turns[0], false)
				p = a.Visited(&s, h, &p, Visit{At: now, Change: Change(1 + i%2)})
				a.SetHead(h, turns[0].Class, now, true)
			}
		})
	}
}

// Importance and kind can be set later, and nothing else changes with them.
func TestImportanceAndKindAreSetLater(t *testing.T) {
	a := adaptive(t, nil)
	s := a.NewState(Text, noon, true, 1)
	s.trust |= 3
	for of, want := range map[float64]int{0.1: -5, 1: 0, 10: 5, 0: -5, -3: -5, math.NaN(): -5, math.Inf(1): 5} {
		if s.SetImportance(of); s.importance() != want || s.trust&15 != 3 {
			t.Errorf("an importance of %g is grade %d, want %d; trust %d", of, s.importance(), want, s.trust&15)
		}
	}
	for _, kind := range []Kind{Image, Hub, Feed, Sitemap} {
		now := a.NewState(Text, noon, true, 1)
		now.SetKind(kind)
		if want := a.NewState(kind, noon, true, 1); now != want {
			t.Errorf("a page that turns out to be a %d is %+v, want %+v", kind, now, want)
		}
	}
	same := a.NewState(Text, noon, true, 1)
	if same.SetKind(Text); !same.Profiled() {
		t.Error("a page that turns out to be a page has no profile any more")
	}
	old := State{Belief: Around(3, 4), Visits: 9, Last: noon, Found: 77, trust: 8 << 4}
	if old.SetKind(Hub); old.Belief != Around(3, 4) || old.Found != 77 || old.Kind() != Hub {
		t.Errorf("a history is %+v after another kind", old)
	}
}
