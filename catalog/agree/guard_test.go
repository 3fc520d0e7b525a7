package agree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog/agree"
)

// guarded applies a command under conditions, of a cluster whose level knows of them.
func (m *machine) guarded(t *testing.T, at agree.Time, g agree.Guard) agree.Result {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return m.do(t, agree.Command{Kind: agree.Guarded, At: at}, string(text))
}

func newGuarded(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	if r := m.do(t, agree.Command{Kind: begin}, fmt.Sprintf(`{"id":"c","level":%d}`, agree.LevelOfGuards)); r.Refusal != nil {
		t.Fatal(r.Refusal)
	}
	return m
}

func code(r agree.Result) agree.Code {
	if r.Refusal == nil {
		return ""
	}
	return r.Refusal.Code
}

func name(c byte) string { return strings.Repeat(string(c), 32) }

// TestAChangeOfWhatWasSeen changes a value that is as it was seen, and one that is not.
func TestAChangeOfWhatWasSeen(t *testing.T) {
	m := newGuarded(t)
	g := agree.Guard{Keys: []string{"total", "nothing"}, Kind: count, Body: json.RawMessage(`{"name":"a","by":2}`)}
	for i, want := range []agree.Code{"", agree.Stale} { // the first change is what makes the second one stale
		if i == 0 {
			v, err := agree.VersionOf(&m.Tx, g.Keys...)
			if err != nil {
				t.Fatal(err)
			}
			g.Version = v
		}
		if r := m.guarded(t, 0, g); code(r) != want {
			t.Errorf("change %d: %+v", i, r)
		}
	}
	if m.total(t) != 2 {
		t.Errorf("counted %d", m.total(t))
	}
	seen := map[string]bool{}
	for _, keys := range [][]string{{"total"}, {"total", "nothing"}, {"totalnothing"}, {"nothing"}, {"nothing", "total"}, {}} {
		v, err := agree.VersionOf(&m.Tx, keys...)
		if err != nil || seen[v] {
			t.Errorf("%q has the version of others: %v", keys, err)
		}
		seen[v] = true
	}
}

// TestARequestIsCarriedOutOnce repeats a request, in another boot or by another node: it gets its answer again. A day
// later it is another one.
func TestARequestIsCarriedOutOnce(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	m := newGuarded(t)
	g := agree.Guard{Once: name('a'), Digest: name('1'), Kind: count, Body: json.RawMessage(`{"name":"a","by":2}`)}
	for i := range 3 {
		r := m.guarded(t, 5000, g)
		if code(r) != "" || r.Repeated != (i > 0) || string(r.Value) != `{"N":2}` {
			t.Errorf("time %d: %+v %s", i, r, r.Value)
		}
	}
	other := g
	other.Digest = name('2')
	if r := m.guarded(t, 5000, other); code(r) != agree.Conflict {
		t.Errorf("another request of that name: %+v", r)
	}
	for i := range 20 { // each drops some of what is old
		next := g
		next.Once = fmt.Sprintf("%032x", i)
		if r := m.guarded(t, 6000+day, next); code(r) != "" || r.Repeated {
			t.Errorf("%+v", r)
		}
	}
	if r := m.guarded(t, 6000+day, g); code(r) != "" || r.Repeated {
		t.Errorf("a day later: %+v", r)
	}
	if all, err := agree.Tails(&m.Tx, "once/", "", 0); err != nil || len(all) != 21 {
		t.Errorf("%d requests are kept, %v", len(all), err)
	}
	if m.total(t) != 44 {
		t.Errorf("counted %d", m.total(t))
	}
}

// TestWhatWasRefusedMayBeAskedAgain refuses a request: nothing of it is remembered.
func TestWhatWasRefusedMayBeAskedAgain(t *testing.T) {
	m := newGuarded(t)
	g := agree.Guard{Once: name('a'), Digest: name('1'), Kind: spoil, Body: json.RawMessage(`{"name":"a"}`)}
	for range 2 {
		if r := m.guarded(t, 0, g); code(r) != agree.Unsafe || r.Repeated {
			t.Errorf("%+v", r)
		}
	}
	if there, err := agree.HasAny(&m.Tx, "once"); err != nil || there {
		t.Errorf("a refused request is remembered: %v", err)
	}
}

// TestBadGuards sends conditions that cannot be.
func TestBadGuards(t *testing.T) {
	ok := agree.Guard{Once: name('a'), Digest: name('1'), Kind: count, Body: json.RawMessage(`{"name":"a"}`)}
	with := func(change func(*agree.Guard)) agree.Guard { g := ok; change(&g); return g }
	for name, tt := range map[string]struct {
		guard agree.Guard
		want  agree.Code
	}{
		"no condition":      {with(func(g *agree.Guard) { g.Once, g.Digest = "", "" }), agree.Invalid},
		"a short name":      {with(func(g *agree.Guard) { g.Once = "a" }), agree.Invalid},
		"no hexadecimal":    {with(func(g *agree.Guard) { g.Once = name('x') }), agree.Invalid},
		"a separator in it": {with(func(g *agree.Guard) { g.Once = name('/') }), agree.Invalid},
		"no digest":         {with(func(g *agree.Guard) { g.Digest = "" }), agree.Invalid},
		"too many keys":     {with(func(g *agree.Guard) { g.Keys = make([]string, 9) }), agree.Invalid},
		"an empty key":      {with(func(g *agree.Guard) { g.Keys = []string{""} }), agree.Invalid},
		"a long key":        {with(func(g *agree.Guard) { g.Keys = []string{strings.Repeat("k", 4<<10)} }), agree.Invalid},
		"itself":            {with(func(g *agree.Guard) { g.Kind = agree.Guarded }), agree.Invalid},
		"a founding":        {with(func(g *agree.Guard) { g.Kind = begin }), agree.Invalid},
		"an unknown kind":   {with(func(g *agree.Guard) { g.Kind = "nothing" }), agree.Unsupported},
		"a bad body":        {with(func(g *agree.Guard) { g.Body = json.RawMessage(`{"x":1}`) }), agree.Invalid},
	} {
		m := newGuarded(t)
		if r := m.guarded(t, 0, tt.guard); code(r) != tt.want {
			t.Errorf("%s: %+v", name, r)
		}
		if m.total(t) != 0 {
			t.Errorf("%s: counted", name)
		}
	}
	m := newMachine(t) // a cluster that does not know of guards
	if r := m.guarded(t, 0, ok); code(r) != agree.Unsupported || r.Refusal.Message != `command "guarded" is not known at level 1` {
		t.Errorf("at level 1: %+v", r)
	}
	plain := agree.Command{Kind: count, Actor: "ann", Node: "m"}
	if got := agree.Unguarded(&plain); got != &plain {
		t.Error("a plain command is changed")
	}
	text, err := json.Marshal(ok)
	if err != nil {
		t.Fatal(err)
	}
	c := agree.Command{Kind: agree.Guarded, Actor: "ann", Node: "m", Body: text}
	if got := agree.Unguarded(&c); got.Kind != count || got.Actor != "ann" || got.Node != "m" || string(got.Body) != string(ok.Body) {
		t.Errorf("%+v", got)
	}
}
