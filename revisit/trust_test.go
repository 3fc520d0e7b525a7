package revisit

import (
	"math"
	"testing"
)

// Every eighth visit sends no validators; with each that finds them right, twice as many may send them, up to 64.
func TestTrustGrows(t *testing.T) {
	s := State{Visits: 1}
	var gaps []int
	last := 0
	for visit := 1; len(gaps) < 6; visit++ {
		conditional := s.Conditional()
		s.checked(conditional, false)
		if !conditional {
			gaps = append(gaps, visit-last)
			last = visit
		}
	}
	for i, want := range []int{8, 16, 32, 64, 64, 64} {
		if gaps[i] != want {
			t.Errorf("visits without validators come after %v, want 8, 16, 32, 64, 64, 64", gaps)
			break
		}
	}
}

// A server that answers 304 to everything is found out by the eighth visit, and again and again.
func TestOneLieResetsTrust(t *testing.T) {
	s := State{Visits: 1, trust: 3}
	s.checked(false, true)
	for i := range probation {
		if s.Conditional() {
			t.Fatalf("visit %d after a lie sends validators", i+1)
		}
		s.checked(false, false)
	}
	if !s.Conditional() {
		t.Fatal("trust never comes back")
	}
	n := 0
	for ; s.Conditional(); n++ {
		s.checked(true, false)
	}
	if n+1 != 8 {
		t.Errorf("after a lie, visit %d of a row goes without validators, want the 8th", n+1)
	}
	if fresh := (State{}); fresh.Conditional() {
		t.Error("a first visit would send validators")
	}
}

func TestDatesThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		name     string
		modified int64 // to the time of the fetch, a day after the one before
		change   Change
		ok       bool
	}{
		{"inside the interval", -day / 2, Changed, true},
		{"now", 0, Changed, false},
		{"a second ago", -1000, Changed, false},
		{"in the future", day, Changed, false},
		{"changed, but the date is older", -2 * day, Changed, false},
		{"not changed, and the date is older", -2 * day, Unchanged, true},
		{"not changed, but the date is newer", -day / 2, Unchanged, false},
		{"none", -noon, Changed, false},
	} {
		s := State{Last: noon - day, Visits: 2}
		_, ok := s.dated(Visit{At: noon, Modified: noon + tt.modified, Change: tt.change})
		if ok != tt.ok {
			t.Errorf("%s: believed %v, want %v", tt.name, ok, tt.ok)
		}
	}
	s := State{Last: noon - day, Visits: 2}
	for range 2 {
		s.dated(Visit{At: noon, Modified: noon, Change: Changed})
	}
	if _, ok := s.dated(Visit{At: noon, Modified: noon - day/2, Change: Changed}); ok {
		t.Error("after two dates that cannot be, a third is believed")
	}
	if _, ok := s.dated(Visit{At: noon, Modified: noon - day/2, Change: Changed}); !ok {
		t.Error("after a date that could be, the next is not believed")
	}
	for range 10 {
		s.dated(Visit{At: noon, Modified: noon - day/2, Change: Changed})
	}
	if s.flags != 0 {
		t.Errorf("good dates leave the marks %x", s.flags)
	}
}

// A feed that announces everything is soon believed no more; one that is right causes visits, up to its share of
// requests.
func TestHints(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	a.price = int(math.Log(0.05) * fine)
	turn := Turn{Queue: Classed, Due: noon, Last: noon - day}
	announce := func(right bool, n int) (came int) {
		s := a.NewState(Text, noon, false, 1)
		a.Visited(&s, h, nil, Visit{At: noon, Change: Changed})
		at := noon
		for range n {
			at += day
			for range 40 {
				a.Went(at, turn, false)
			}
			if a.Hint(&s, h, at-1000, at) {
				came++
				if p := a.Place(s, h); !p.Dated || p.Due > at {
					t.Errorf("it is due at %d, want by %d", p.Due, at)
				}
			}
			v := Visit{At: at, Change: Unchanged}
			if right {
				v.Change = Changed
			}
			a.Visited(&s, h, nil, v)
		}
		return came
	}
	if came := announce(true, 30); came < 25 {
		t.Errorf("of 30 right hints, %d caused a visit", came)
	}
	if h.Hints.Precision() < 0.9 || h.Hints.Recall() < 0.5 {
		t.Errorf("precision %g, recall %g", h.Hints.Precision(), h.Hints.Recall())
	}
	*h = *NewHost()
	if came := announce(false, 500); came > 40 {
		t.Errorf("of 500 wrong hints, %d caused a visit", came)
	}
	if h.Hints.Recall() != 0 {
		t.Errorf("wrong hints have a recall of %g", h.Hints.Recall())
	}

	a, h = adaptive(t, nil), NewHost()
	a.price = int(math.Log(0.05) * fine)
	came := 0
	for i := range int64(10_000) {
		a.Went(noon, turn, false)
		s := a.NewState(Text, noon, false, 1)
		a.Visited(&s, h, nil, Visit{At: noon, Change: Changed})
		if a.Hint(&s, h, noon+i+1, noon+i+1) {
			came++
		}
	}
	if came > 300 || came < 250 {
		t.Errorf("hints caused %d visits of 10000 requests, want at most 3 %%", came)
	}
	s := a.NewState(Text, noon, false, 1)
	a.Visited(&s, h, nil, Visit{At: noon, Change: Changed})
	a.hintCredit = 50
	soon := s
	if !a.Hint(&soon, h, noon+day/2, noon+day/4) || a.Place(soon, h).Due > noon+day/4 {
		t.Errorf("a date that is a few hours ahead does not let it come now: %+v", a.Place(soon, h))
	}
	for name, date := range map[string]int64{"old": noon - 5, "of the far future": noon + 400*day, "before time": math.MinInt64} {
		a.hintCredit = 50
		if a.Hint(&s, h, date, noon+5) {
			t.Errorf("a hint that is %s causes a visit", name)
		}
	}
}

// Whatever dates a server sends, what is believed of a page comes from whether it changed.
func TestServersWithWrongDates(t *testing.T) {
	for name, date := range map[string]func(at int64, i int) int64{
		"always now":        func(at int64, _ int) int64 { return at },
		"always an hour on": func(at int64, _ int) int64 { return at + day/24 },
		"running back":      func(at int64, i int) int64 { return at - int64(i+1)*day*2 },
		"none":              func(int64, int) int64 { return 0 },
		"before 1970":       func(int64, int) int64 { return -5 },
	} {
		a, h := adaptive(t, nil), NewHost()
		steady, daily := a.NewState(Text, noon, false, 1), a.NewState(Text, noon, false, 1)
		for i := range 60 {
			at := noon + int64(i)*day
			a.Visited(&steady, h, nil, Visit{At: at, Change: Unchanged, Modified: date(at, i)})
			change := Unchanged
			if i%2 == 0 {
				change = Changed
			}
			a.Visited(&daily, h, nil, Visit{At: at, Change: change, Modified: date(at, i)})
		}
		if steady.Rate() > 0.02 {
			t.Errorf("dates that are %s: a page that never changes has a rate of %g", name, steady.Rate())
		}
		if rate := daily.Rate(); rate < 0.4 || rate > 1.2 { // ln 2 a day is likeliest
			t.Errorf("dates that are %s: a page that is another one every second day has a rate of %g", name, rate)
		}
	}
}
