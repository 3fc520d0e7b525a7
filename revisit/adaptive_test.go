package revisit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

const day = int64(msPerDay)

func adaptive(t *testing.T, change func(s *Settings)) *Adaptive {
	t.Helper()
	s := DefaultSettings()
	s.Per, s.Budget = RequestsPerSecond, 1
	if change != nil {
		change(&s)
	}
	a, err := NewAdaptive(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStateFitsIntoFortyBytes(t *testing.T) {
	if n := unsafe.Sizeof(State{}); n > 40 {
		t.Errorf("the state of adaptive has %d bytes, at most 40", n)
	}
	if n := unsafe.Sizeof(ARState{}); n > 40 {
		t.Errorf("the state of heritrix-ar has %d bytes, at most 40", n)
	}
}

func TestBadSettings(t *testing.T) {
	for setting, change := range map[string]func(s *Settings){
		"min_wait":         func(s *Settings) { s.MinWait = 29 * 24 * time.Hour },
		"max_wait":         func(s *Settings) { s.MaxWait = math.MaxInt64 },
		"new_page":         func(s *Settings) { s.NewPage = 0 },
		"freshness":        func(s *Settings) { s.Freshness = 1 },
		"versions_per_day": func(s *Settings) { s.PerDay = math.NaN() },
		"hint_share":       func(s *Settings) { s.HintShare = 2 },
		"budget":           func(s *Settings) { s.Per, s.Budget = BytesPerDay, 0 },
		"per":              func(s *Settings) { s.Per = 9 },
	} {
		s := DefaultSettings()
		change(&s)
		_, err := NewAdaptive(s)
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Setting != setting || refusal.Reason == "" {
			t.Errorf("%s: refused with %v", setting, err)
		}
		a := adaptive(t, nil)
		was := a.settings
		if err := a.SetSettings(s); err == nil || a.settings != was {
			t.Errorf("%s: changed to what is refused: %v", setting, err)
		}
	}
	s := DefaultSettings()
	if s.Budget = 3; s.Check() == nil {
		t.Error("a budget that nothing counts is let through")
	}
	for of, ok := range map[float64]bool{0.1: true, 1: true, 10: true, 0: false, -1: false, 11: false, math.NaN(): false} {
		if err := CheckImportance(of); (err == nil) != ok {
			t.Errorf("importance %g: %v", of, err)
		}
	}
	if err := CheckImportance(0); !strings.Contains(err.Error(), "importance is 0: it has to be 0.1 to 10") {
		t.Error(err)
	}
}

// crowd puts URIs of given rates at a host, as if they had been visited long enough to be known well.
func crowd(a *Adaptive, h *Host, rate float64, n int, now int64) Class {
	s := a.NewState(Text, now, false, 1)
	s.Belief, s.Visits, s.Last = Around(rate, 6), 9, now
	p := a.Place(s, h)
	a.count(h, p.Class, n)
	a.SetHead(h, p.Class, now, true)
	return p.Class
}

// The price makes all URIs together ask for the budget, whatever that is; with enough
// requests, pages that change more often are visited more often.
func TestThePriceMeetsTheBudget(t *testing.T) {
	for _, perDay := range []float64{300, 1000, 20_000} {
		a, h := adaptive(t, func(s *Settings) { s.Budget = perDay / 86400 }), NewHost()
		rates := []float64{0.01, 0.1, 1, 10}
		var classes []Class
		for _, rate := range rates {
			classes = append(classes, crowd(a, h, rate, 500, noon))
		}
		a.Reprice(noon, []*Host{h})
		asked := a.demand(h, a.price)
		if asked > perDay || asked < perDay*0.9 {
			t.Errorf("a budget of %g: %g requests are asked for", perDay, asked)
		}
		var waits []int64
		for _, c := range classes {
			waits = append(waits, a.wait(c, a.price))
		}
		if perDay > 5000 && !slices.IsSortedFunc(waits, func(x, y int64) int { return int(y - x) }) {
			t.Errorf("with enough requests, waits are %v ms for rates %v", waits, rates)
		}
	}
}

// A host that lets little through has a price of its own; what it leaves goes to the others.
func TestAHostHasItsPrice(t *testing.T) {
	a, slow, quick := adaptive(t, func(s *Settings) { s.Budget = 5000.0 / 86400 }), NewHost(), NewHost()
	slow.Capacity = 100
	for _, h := range []*Host{slow, quick} {
		crowd(a, h, 1, 1000, noon)
	}
	a.Reprice(noon, []*Host{slow, quick})
	atSlow, atQuick := a.demand(slow, a.price+slow.offset), a.demand(quick, a.price+quick.offset)
	if atSlow > 90 || atSlow < 75 {
		t.Errorf("the slow host is asked for %g requests a day, of 100", atSlow)
	}
	if sum := atSlow + atQuick; sum > 5000 || sum < 4750 {
		t.Errorf("%g requests are asked for, of 5000", sum)
	}
	if a.PriceOf(slow) <= a.PriceOf(quick) {
		t.Errorf("a request costs %g at the slow host, %g at the other", a.PriceOf(slow), a.PriceOf(quick))
	}
	if asked := slow.lines[0].wait; asked <= quick.lines[0].wait {
		t.Errorf("at the slow host the same class waits %d ms, at the other %d ms", asked, quick.lines[0].wait)
	}
}

func TestWithoutBudgetPolitenessBinds(t *testing.T) {
	a, h := adaptive(t, func(s *Settings) { s.Per, s.Budget = Politeness, 0 }), NewHost()
	h.Capacity = 1000
	crowd(a, h, 1, 500, noon)
	a.Reprice(noon, []*Host{h})
	if asked := a.demand(h, a.price+h.offset); asked > 900 || asked < 800 {
		t.Errorf("%g requests a day are asked for, of 1000 that the host lets through", asked)
	}
}

func TestImportance(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	wait := func(importance float64) int64 {
		s := a.NewState(Text, noon, false, importance)
		s.Visits, s.Last = 3, noon
		return a.wait(a.Place(s, h).Class, a.price)
	}
	a.price = int(math.Log(0.3) * fine)
	if low, mean, high := wait(0.1), wait(1), wait(10); !(high < mean && mean < low) {
		t.Errorf("an importance of 0.1, 1 and 10 waits %d, %d, %d ms", low, mean, high)
	}
}

// What is due comes first, the longest due before others; otherwise what is ahead of its time by the least share of its
// wait, if that is under a quarter.
func TestWhoseTurnItIs(t *testing.T) {
	a := adaptive(t, nil)
	turn := func(due, last int64) Turn { return Turn{Queue: Classed, Due: noon + due, Last: noon + last} }
	rank := func(t Turn) float64 {
		r, ok := a.Rank(noon, t)
		if !ok {
			return math.Inf(1)
		}
		return r
	}
	fresh := Turn{Queue: New, Due: noon - 5, Last: noon - 5}
	if !(rank(fresh) < rank(turn(-1000, -5000)) && rank(turn(-1000, -5000)) < rank(turn(-10, -90000)) && rank(turn(-10, -90)) < rank(turn(1, -1000))) {
		t.Error("turns are not in order: new, due for long, due, early")
	}
	if !(rank(turn(200, -800)) < rank(turn(100, -350))) {
		t.Error("a fifth of the wait is earlier than two ninths")
	}
	if !math.IsInf(rank(turn(250, -750)), 1) || math.IsInf(rank(turn(249, -751)), 1) {
		t.Error("turns are early up to a quarter of their wait")
	}
	for wait := int64(1); wait < 40; wait++ {
		of := turn(wait, 0)
		for now := noon; now <= of.Due; now++ {
			early := float64(of.Due-now)/float64(wait) < 0.25
			if _, ok := a.Rank(now, of); ok != (now >= a.From(of)) || ok != early {
				t.Fatalf("a wait of %d, %d before its end: may go %v, from %d on", wait, of.Due-now, ok, of.Due-a.From(of))
			}
		}
	}
	for range 200 {
		a.Went(noon, fresh, false)
	}
	if rank(fresh) < rank(turn(-1000, -5000)) {
		t.Error("new pages without end keep all others from their turns")
	}
	a.settings.Without.EarlyTurns = true
	if !math.IsInf(rank(turn(1, -1000)), 1) {
		t.Error("early turns cannot be switched off")
	}
}

// The queues of classes give, without sorting, what is due first.
func TestTurnsOfAHost(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	slow, quick := crowd(a, h, 0.01, 5, noon-20*day), crowd(a, h, 5, 5, noon)
	a.Reprice(noon, []*Host{h})
	turns, n := h.Turns(noon)
	if n != 1 || turns[0].Class != quick && turns[0].Class != slow {
		t.Fatalf("%d turns: %+v", n, turns)
	}
	for i := range 200 {
		turns, _ = h.Turns(noon)
		first := turns[0]
		for _, l := range h.lines {
			if l.queued && l.due() < first.Due {
				t.Fatalf("step %d: %+v has its turn before a class that is due at %d", i, first, l.due())
			}
		}
		a.SetHead(h, first.Class, first.Last+day/24, true)
	}
	h.SetNext(New, noon, noon, true)
	h.SetNext(Dated, noon+5, noon-day, true)
	if _, n = h.Turns(noon); n != 3 {
		t.Errorf("%d turns of three queues", n)
	}
	for _, c := range []Class{slow, quick} {
		a.SetHead(h, c, 0, false)
	}
	h.SetNext(New, 0, 0, false)
	h.SetNext(Dated, 0, 0, false)
	if turns, n = h.Turns(noon); n != 0 {
		t.Errorf("empty queues have turns: %+v", turns[:n])
	}
}

// After a clock that ran back by a year, what was visited in its future is due, not late by a year or due in a year.
func TestAClockThatRunsBack(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	class := crowd(a, h, 1, 5, noon)
	a.Reprice(noon, []*Host{h})
	past := noon - 365*day
	turns, n := h.Turns(past)
	if n != 1 || turns[0].Due != past || turns[0].Class != class {
		t.Fatalf("a year back, turns are %+v", turns[:n])
	}
	if _, ok := a.Rank(past, turns[0]); !ok {
		t.Error("it may not go")
	}
	s := a.NewState(Text, noon, false, 1)
	s.Visits, s.Last = 3, noon
	before := s.Belief
	a.Visited(&s, h, nil, Visit{At: past, Change: Changed})
	if s.Belief != before || s.Last != past {
		t.Errorf("what happened in less than no time changed the belief to %v, last visit %d", s.Belief, s.Last)
	}
	a.Reprice(past, []*Host{h})
	if a.trim != 0 || math.IsNaN(a.firsts) {
		t.Errorf("trimmed by %g, first visits %g", a.trim, a.firsts)
	}
}

func TestNewPagesAge(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	for i := range 3000 { // pages that change twice a day for two days, then never
		s := a.NewState(Text, noon, true, 1)
		at := noon
		var place *Place
		for age := 0.0; age < 40; age += 0.5 + age/8 {
			at = noon + int64(age*msPerDay)
			v := Visit{At: at, Change: Unchanged}
			if age > 0 && age < 2.5 && (i+int(age*2))%3 > 0 {
				v.Change = Changed
			}
			p := a.Visited(&s, h, place, v)
			place = &p
		}
	}
	a.profile.Learn(1)
	if young, old := a.profile.Rate(1), a.profile.Rate(20); young < 1 || old > 0.1 {
		t.Errorf("the profile has %g changes a day at one day, %g at twenty", young, old)
	}
	a.price = int(math.Log(0.2) * fine)
	s := a.NewState(Text, noon, true, 1)
	s.Visits, s.Last = 1, noon+day
	young := a.Place(s, h)
	s.Last = noon + 20*day
	old := a.Place(s, h)
	if !young.Dated || !old.Dated || young.Due-noon-day >= old.Due-noon-20*day {
		t.Errorf("at one day it waits %d ms, at twenty %d ms", young.Due-noon-day, old.Due-noon-20*day)
	}
	s.Last = noon + 200*day
	if p := a.Visited(&s, h, nil, Visit{At: noon + 201*day, Change: Unchanged}); p.Dated || s.Profiled() {
		t.Errorf("after 200 days it is in a queue by time still: %+v", p)
	}
}

func TestLinksMakeAHub(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	s := a.NewState(Text, noon, false, 1)
	a.Visited(&s, h, nil, Visit{At: noon, Links: 500, Change: Changed})
	if s.Links != 0 {
		t.Errorf("links of the first visit, which may be old, count as %g a day", s.Links)
	}
	for i := range int64(80) {
		a.Visited(&s, h, nil, Visit{At: noon + (i+1)*day/2, Links: 2, Change: Unchanged})
	}
	if s.Links < 3.5 || s.Links > 4.1 {
		t.Errorf("four new links a day count as %g", s.Links)
	}
	a.price = int(math.Log(0.2) * fine)
	with := a.wait(a.Place(s, h).Class, a.price)
	a.settings.Without.Links = true
	clear(a.waits)
	if without := a.wait(a.Place(s, h).Class, a.price); with*4 > without {
		t.Errorf("a hub waits %d ms, without the value of its links %d ms", with, without)
	}
}

func TestTickers(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	visit := func(s *State, at int64, change Change, similarity float64) {
		a.Visited(s, h, nil, Visit{At: noon + at*day, Change: change, Similarity: similarity})
	}
	page := func(similarities ...float64) State {
		s := a.NewState(Text, noon, false, 1)
		visit(&s, 0, Changed, 0)
		for i, of := range similarities {
			visit(&s, int64(i+1), Changed, of)
		}
		return s
	}
	for _, tt := range []struct {
		name string
		of   []float64
		want bool
	}{
		{"four changes", []float64{1, 1, 1, 1}, false},
		{"five small changes", []float64{0.98, 0.98, 0.99, 1, 1}, true},
		{"three of five are small", []float64{0.98, 0.98, 0.99, 0.5, 0.5}, false},
		{"four of five are small", []float64{0.98, 0.98, 0.99, 0.99, 0.5}, true},
		{"exactly 0.97 is not small", []float64{0.97, 0.97, 0.97, 0.97, 0.97}, false},
		{"none is small, for long", make([]float64, 60), false},
		{"no numbers", []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}, false},
	} {
		if s := page(tt.of...); s.Ticker() != tt.want {
			t.Errorf("%s: a ticker %v, want %v", tt.name, s.Ticker(), tt.want)
		}
	}
	s := page(1, 1, 1, 1, 1)
	versions, rate := s.Versions, s.Rate()
	visit(&s, 6, Changed, 0.99)
	if s.Versions != versions || s.Rate() >= rate {
		t.Errorf("noise of a ticker counts as a change: %d versions, %g a day", s.Versions, s.Rate())
	}
	visit(&s, 7, Changed, 0.9)
	if s.Versions != versions+1 {
		t.Error("a change of a ticker that is not small does not count")
	}
	for i := range int64(3) {
		visit(&s, 8+i, Unchanged, 1)
	}
	if s.Ticker() {
		t.Error("what stays as it is stays a ticker")
	}
}

func FuzzVisited(f *testing.F) {
	f.Add(int64(0), int64(1), int64(-1), 0.5, int64(3), uint8(1), true)
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), math.NaN(), int64(math.MaxInt64), uint8(2), false)
	f.Add(noon, noon, noon, math.Inf(1), noon+day, uint8(2), true)
	f.Fuzz(func(t *testing.T, first, second, third int64, similarity float64, modified int64, change uint8, running bool) {
		a, h := adaptive(t, nil), NewHost()
		s := a.NewState(Kind(change%5), first, running, 1)
		var from *Place
		for i, at := range []int64{first, second, third, second} {
			p := a.Visited(&s, h, from, Visit{At: at, Change: Change(int(change) % 3), Similarity: similarity, Modified: modified,
				Links: int(modified), Hints: int(second), Bytes: third, Conditional: i%2 == 0, Lied: i == 2})
			if a.Hint(&s, h, modified, at) && !a.Place(s, h).Dated {
				t.Error("a hint let it come, and it has no time")
			}
			from = &p
			if !(s.Alpha >= minAlpha && s.Alpha <= maxAlpha && s.Beta > 0 && s.Beta <= maxBeta) || !(s.Links >= 0 && s.Links <= 1e5) {
				t.Fatalf("after visit %d: %+v", i, s)
			}
			if p.Dated && at < Never && p.Due < at {
				t.Fatalf("after visit %d at %d it is due at %d", i, at, p.Due)
			}
			a.Reprice(at, []*Host{h})
			if price := a.Price(); !(price > 0) || math.IsInf(price, 0) || math.IsNaN(a.trim) || math.IsNaN(a.firsts) {
				t.Fatalf("after visit %d: price %g, trim %g, first visits %g", i, price, a.trim, a.firsts)
			}
		}
		if len(h.lines) != 1 || h.lines[0].count != 1 {
			t.Errorf("one URI is counted as %+v", h.lines)
		}
	})
}

// A clock that runs ahead by a year, and back, leaves most of what was believed.
func TestAClockThatRunsAhead(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	a.price = int(math.Log(0.2) * fine)
	for _, running := range []bool{false, true} {
		s := a.NewState(Text, noon, running, 1)
		var from *Place
		at := noon
		visit := func(change Change) {
			p := a.Visited(&s, h, from, Visit{At: at, Change: change})
			from = &p
		}
		for range 40 {
			at += day / 2
			visit(Changed)
			at += day / 2
			visit(Unchanged)
		}
		before, _, _ := a.RateOf(s, at)
		at += 365 * day
		visit(Unchanged)
		at -= 365 * day
		visit(Unchanged)
		if after, _, _ := a.RateOf(s, at); after < before/3 {
			t.Errorf("found while it ran %v: a rate of %g becomes %g", running, before, after)
		}
	}
}

// A clock that runs ahead, or a year asleep, leaves what was learnt of young pages.
func TestTheProfileOutlivesAJump(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	for range 500 {
		for age := 0.0; age < 8; age += 0.5 {
			a.profile.Saw(age, age+0.5, 1, age < 1)
		}
	}
	for hour := range int64(3) {
		a.Reprice(noon+hour*day/24, []*Host{h})
	}
	young, old := a.profile.Rate(0.3), a.profile.Rate(6)
	for hour := range int64(48) {
		a.Reprice(noon+365*day+hour*day/24, []*Host{h})
	}
	a.Reprice(noon+day, []*Host{h})
	if now := a.profile.Rate(0.3); young < 1 || now < young*0.9 || a.profile.Rate(6) > old*1.5+0.01 {
		t.Errorf("a rate of %g and %g becomes %g and %g", young, old, now, a.profile.Rate(6))
	}
}

// A shortest wait that is changed holds at once, for all that wait.
func TestAMinimumThatChanges(t *testing.T) {
	a, h := adaptive(t, func(s *Settings) { s.Budget = 10 }), NewHost()
	class := crowd(a, h, 5, 100, noon)
	a.Reprice(noon, []*Host{h})
	if turns, _ := h.Turns(noon); turns[0].Due != noon+60_000 {
		t.Fatalf("with plenty of budget it is due %d ms after its last visit, want the minimum", turns[0].Due-noon)
	}
	s := a.settings
	s.MinWait = 6 * time.Hour
	if err := a.SetSettings(s); err != nil {
		t.Fatal(err)
	}
	a.Reprice(noon, []*Host{h})
	if turns, n := h.Turns(noon); n != 1 || turns[0].Class != class || turns[0].Due != noon+day/4 {
		t.Errorf("with another minimum turns are %+v", turns[:n])
	}
}
