package revisit

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
)

// A crawl that is opened again from what was written has the same waits.
func TestACrawlGoesOn(t *testing.T) {
	a, h := adaptive(t, nil), NewHost()
	var states []State
	var places []Place
	for i := range int64(300) {
		s := a.NewState(Kind(i%5), noon+i*day/10, i%2 == 0, 1)
		var from *Place
		for visit := range int64(8) {
			at := noon + 30*day + visit*day/2 + i
			v := Visit{At: at, Change: Change(1 + (i+visit)%2), Links: int(i % 3), Hints: 1}
			p := a.Visited(&s, h, from, v)
			from = &p
			a.Hint(&s, h, at+1000*(i%4), at+5000)
		}
		states, places = append(states, s), append(places, *from)
	}
	now := noon + 40*day
	a.Reprice(now, []*Host{h})
	a.Reprice(now+day/24, []*Host{h})

	written, err := json.Marshal(a.Memory())
	if err != nil {
		t.Fatal(err)
	}
	var m Memory
	if err := json.Unmarshal(written, &m); err != nil {
		t.Fatal(err)
	}
	b, again := adaptive(t, nil), NewHost()
	if err := b.Remember(m); err != nil {
		t.Fatal(err)
	}
	if err := again.Hints.Remember(h.Hints.Memory()); err != nil {
		t.Fatal(err)
	}
	for i, s := range states {
		read, err := ParseState(s.Append(nil))
		if err != nil || read != s {
			t.Fatalf("%+v is read as %+v: %v", s, read, err)
		}
		if want, got := a.Place(s, h), b.Place(read, again); got != want {
			t.Errorf("URI %d belongs to %+v, before that to %+v", i, got, want)
		}
		b.Admit(again, places[i])
	}
	b.reprice(again, b.price)
	for i, l := range h.lines {
		if i >= len(again.lines) || again.lines[i].class != l.class || again.lines[i].count != l.count || again.lines[i].wait != l.wait {
			t.Fatalf("classes are %+v, before that %+v", again.lines, h.lines)
		}
	}
}

func TestStatesThatCannotBe(t *testing.T) {
	a := adaptive(t, nil)
	good := a.NewState(Hub, noon, true, 10)
	for name, change := range map[string]func(s *State){
		"no number":            func(s *State) { s.Alpha = float32(math.NaN()) },
		"no bound":             func(s *State) { s.Beta = float32(math.Inf(1)) },
		"no rate":              func(s *State) { s.Beta = 0 },
		"negative links":       func(s *State) { s.Links = -1 },
		"a kind that is none":  func(s *State) { s.flags |= 7 },
		"a trust that is none": func(s *State) { s.trust = s.trust&^15 | 9 },
		"no importance":        func(s *State) { s.trust = 0 },
	} {
		s := good
		change(&s)
		if _, err := ParseState(s.Append(nil)); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseState(good.Append(nil)[:39]); !errors.Is(err, ErrState) {
		t.Errorf("a part of a state: %v", err)
	}
	if _, err := ParseARState(ARState{Wait: -1}.Append(nil)); !errors.Is(err, ErrState) {
		t.Errorf("a negative wait: %v", err)
	}
	before := a.Memory()
	for name, change := range map[string]func(m *Memory){
		"a price without bound": func(m *Memory) { m.Price = 1 << 40 },
		"no weight":             func(m *Memory) { m.Capture = 0 },
		"no number":             func(m *Memory) { m.Rates[3] = math.NaN() },
	} {
		m := before
		change(&m)
		if err := a.Remember(m); err == nil || a.Memory() != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	var h Hints
	if err := h.Remember(HintMemory{Right: float32(math.NaN())}); err == nil || h != (Hints{}) {
		t.Errorf("hints of no number: %v", err)
	}
}

// Whatever the bytes, reading does not fail otherwise than with an error, and what was read is written as it was, and
// usable.
func FuzzParseState(f *testing.F) {
	a, err := NewAdaptive(DefaultSettings())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.NewState(Text, noon, true, 1).Append(nil))
	f.Add(a.NewState(Sitemap, noon, true, 0.1).Append(nil))
	f.Add(ARState{Wait: 5, Due: noon}.Append(nil))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseARState(b); err == nil && !bytes.Equal(s.Append(nil), b) {
			t.Errorf("%x is written as %x", b, s.Append(nil))
		}
		s, err := ParseState(b)
		if err != nil {
			return
		}
		if !bytes.Equal(s.Append(nil), b) {
			t.Errorf("%x is written as %x", b, s.Append(nil))
		}
		a, err := NewAdaptive(DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			a.Visited(&s, NewHost(), nil, Visit{At: noon, Change: Changed})
			if again, err := ParseState(s.Append(nil)); err != nil || again != s {
				t.Fatalf("after a visit %+v is %v", s, err)
			}
		}
	})
}
