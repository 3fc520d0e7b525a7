package simulate

import (
	"math"
	"testing"

	"holdfast/revisit"
)

// watched is adaptive, and how late its revisits are, in parts of their waits, by hour.
type watched struct {
	*adaptive
	sums, counts [int(length*24) + 2]float64
	settings     revisit.Settings
	budgetAt     func(t float64) float64
	score        Score
}

func (w *watched) next(t float64, free func(int) bool) (int, bool) {
	id, ok := w.adaptive.next(t, free)
	if turn := w.turn; ok && turn.Queue != revisit.New && turn.Due > turn.Last {
		w.counts[int(t*24)]++
		w.sums[int(t*24)] += math.Min(math.Max(float64(millis(t)-turn.Due), 0)/float64(turn.Due-turn.Last), 1)
	}
	return id, ok
}

func (w *watched) hour(t float64) {
	s := w.settings
	if s.Budget = w.budgetAt(t) / 86400; s.Budget > 0 && s != w.settings {
		w.settings = s
		if err := w.policy.SetSettings(s); err != nil {
			panic(err)
		}
	}
	w.adaptive.hour(t)
}

// late is the mean lateness between two days.
func (w *watched) late(from, to float64) float64 {
	sum, count := 0.0, 0.0
	for hour := int(from * 24); hour < int(to*24); hour++ {
		sum += w.sums[hour]
		count += w.counts[hour]
	}
	return sum / math.Max(count, 1)
}

// most is the largest number of requests in one hour between two days.
func (w *watched) most(from, to float64) (most float64) {
	for hour := int(from * 24); hour < int(to*24); hour++ {
		most = math.Max(most, w.counts[hour])
	}
	return most
}

func upset(t *testing.T, budgetAt func(t float64) float64) *watched {
	t.Helper()
	w := &watched{budgetAt: budgetAt, settings: revisit.DefaultSettings()}
	w.settings.Per, w.settings.Budget = revisit.RequestsPerSecond, budgetAt(0)/86400
	a, err := newAdaptive(Make(Mixed, 1), w.settings)
	if err != nil {
		t.Fatal(err)
	}
	w.adaptive = a
	w.score = run(a.world, w, budgetAt, 1)
	return w
}

// After a day asleep there is no burst, and a day later nothing is late.
func TestADayAsleep(t *testing.T) {
	w := upset(t, func(t float64) float64 {
		if t > 20 && t < 21 {
			return 0
		}
		return 4000
	})
	if late := w.late(21, 21.2); late < 0.3 {
		t.Errorf("right after a day asleep visits are late by only %.3f of their waits: the test shows nothing", late)
	}
	if late := w.late(22, 24); late > 0.03 {
		t.Errorf("a day after a day asleep visits are late by %.3f of their waits", late)
	}
	if most := w.most(21, 24); most > 4000.0/24*1.1+10 {
		t.Errorf("after a day asleep %g requests go in an hour, of %g that the budget has", most, 4000.0/24)
	}
	if before := w.late(18, 20); before > 0.03 {
		t.Errorf("before, visits are late by %.3f of their waits", before)
	}
	var o revisit.Outlook
	for _, h := range w.list {
		o = o.Plus(w.policy.Outlook(h))
	}
	if math.Abs(o.Freshness()-w.score.Freshness) > 0.05 || o.Completeness() < w.score.Completeness-0.05 {
		t.Errorf("freshness %.3f and completeness %.3f are expected, and were %.3f and %.3f", o.Freshness(), o.Completeness(),
			w.score.Freshness, w.score.Completeness)
	}
}

// A budget that is a tenth, and then tenfold again, leaves nothing late a day later, and no burst.
func TestABudgetChangedTenfold(t *testing.T) {
	w := upset(t, func(t float64) float64 {
		if t > 20 && t < 30 {
			return 1000
		}
		return 10_000
	})
	for _, from := range []float64{21, 31} {
		if late := w.late(from, from+2); late > 0.03 {
			t.Errorf("from day %g on visits are late by %.3f of their waits", from, late)
		}
	}
	if most := w.most(20.1, 29.9); most > 1000.0/24*1.1+10 {
		t.Errorf("with a tenth of the budget %g requests go in an hour, of %g", most, 1000.0/24)
	}
	if most := w.most(30, 45); most > 10_000.0/24*1.1+10 {
		t.Errorf("with all of the budget again %g requests go in an hour, of %g", most, 10_000.0/24)
	}
}
