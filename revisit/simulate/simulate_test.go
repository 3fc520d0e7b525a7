package simulate

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
)

// In the mixed world at a medium budget the policy reaches 0.95 of what perfect knowledge of every page reaches, uses
// the budget, and leaves the thesis' policy far behind.
func TestAdaptiveComesNearTheOracle(t *testing.T) {
	rows, err := Run(Mixed, Budgets()[1], 1, []string{"adaptive", "heritrix-ar"})
	if err != nil {
		t.Fatal(err)
	}
	adaptive, thesis := rows[3], rows[4]
	if adaptive.Share < 0.95 {
		t.Errorf("adaptive reaches %.3f of the oracle's J, want 0.95", adaptive.Share)
	}
	if adaptive.Used < 0.97 {
		t.Errorf("adaptive uses %.3f of the budget, want 0.97", adaptive.Used)
	}
	if adaptive.Proven > 0.03 {
		t.Errorf("%.3f of the fetches go to proven tickers, want at most 0.03", adaptive.Proven)
	}
	if adaptive.Hints > 0.031 {
		t.Errorf("hints cause %.3f of the fetches, want at most 0.03", adaptive.Hints)
	}
	if adaptive.NewPage > 1.2 {
		t.Errorf("new pages are seen after %.2f hours, want about one", adaptive.NewPage)
	}
	if thesis.Share > 0.8 || thesis.Share < 0.5 {
		t.Errorf("heritrix-ar reaches %.3f of the oracle's J, want about 0.6", thesis.Share)
	}
}

// A world is the same for the same seed, and is what it should be.
func TestWorlds(t *testing.T) {
	for _, kind := range []Kind{Mixed, Kept, Poisson} {
		w := Make(kind, 3)
		if !reflect.DeepEqual(w, Make(kind, 3)) {
			t.Errorf("%s: two worlds of one seed differ", kind)
		}
		changes, pages := 0, 0
		for id := range w.items {
			it := &w.items[id]
			if (id < w.start) != (it.born <= 0) {
				t.Fatalf("%s: item %d is born at %g, and %d are there at the start", kind, id, it.born, w.start)
			}
			if it.form == page || it.form == image {
				pages++
				changes += len(it.changes)
			}
			for i, at := range it.changes {
				if at < it.born || at > length || i > 0 && at < it.changes[i-1] {
					t.Fatalf("%s: item %d changes at %v", kind, id, it.changes)
				}
			}
			if kind == Poisson && (it.form == hub || it.form == feed || it.form == sitemap || it.form == article || it.noise && !it.removable) {
				t.Fatalf("%s: item %d is %+v", kind, id, it)
			}
		}
		if pages != startPages {
			t.Errorf("%s: %d pages at the start, want %d", kind, pages, startPages)
		}
		if rate := float64(changes) / length / startPages; rate < 1.4 || rate > 2.5 {
			t.Errorf("%s: %.2f changes a page and day, want about 1.9", kind, rate)
		}
	}
}

// The score is what can be calculated by hand.
func TestScore(t *testing.T) {
	w := &World{start: 1, items: []item{{changes: []float64{20, 30, 30.4}, rate: 0.1}}}
	visits := &at{times: []float64{10, 20.5, 40}}
	s := run(w, visits, steady(24), 1)
	if want := (20.0 - 15 + 9.5 + 5) / 30; math.Abs(s.Freshness-want) > 0.003 {
		t.Errorf("freshness %.4f, want %.4f", s.Freshness, want)
	}
	if want := 2.0 / 3; math.Abs(s.Completeness-want) > 1e-9 {
		t.Errorf("completeness %.4f, want %.4f", s.Completeness, want)
	}
	if want := 24 * (0.5 + 9.6) / 2; math.Abs(s.Delay-want) > 1 {
		t.Errorf("delay %.2f hours, want %.2f", s.Delay, want)
	}
	if s.Found != 1 {
		t.Errorf("%.2f of the fetches found a change, want all", s.Found)
	}
}

// at visits one item at given times.
type at struct {
	quiet
	times []float64
}

func (a *at) found(int, float64)          {}
func (a *at) visited(int, float64, visit) {}
func (a *at) next(t float64, _ func(int) bool) (int, bool) {
	if len(a.times) == 0 || a.times[0] > t {
		return 0, false
	}
	a.times = a.times[1:]
	return 0, true
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, Poisson, Budget{"tiny", 0.02}, []uint64{1, 2}, []string{"adaptive", "fixed"}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n| "); n != 1+len(Oracles())+2 {
		t.Errorf("the table has %d lines:\n%s", n, out.String())
	}
	if strings.Contains(out.String(), "NaN") {
		t.Errorf("the table has no numbers:\n%s", out.String())
	}
	w := Make(Poisson, 1)
	for _, name := range append(Oracles(), Policies()...) {
		if p, err := build(name, w, 100); err != nil || p == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Table(&out, Poisson, Budget{"tiny", 0.02}, []uint64{1}, []string{"nosuch"}); err == nil || !strings.Contains(err.Error(), `"nosuch" is not a policy`) {
		t.Errorf("a policy that is not there: %v", err)
	}
}
