package revisit

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func policy(t *testing.T, evaluators []Evaluator) *AR {
	t.Helper()
	p, err := NewAR(evaluators)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// anyType is an evaluator of any content type.
func anyType(initial, least, most time.Duration) Evaluator {
	return Evaluator{Initial: initial, Default: 72 * time.Hour, Min: least, Max: most, ChangedFactor: 1.5, UnchangedFactor: 1.5}
}

const noon = int64(1_700_000_000_000)

func TestWaits(t *testing.T) {
	day := anyType(24*time.Hour, time.Hour, 28*24*time.Hour)
	overdue := day
	overdue.UseOverdue = true
	odd := day
	odd.ChangedFactor, odd.UnchangedFactor = 3, 1.0001
	for _, tt := range []struct {
		name      string
		evaluator Evaluator
		before    int64 // wait
		late      int64
		outcome   Outcome
		change    Change
		want      int64
	}{
		{"the first visit has the initial wait", day, 0, 0, Success, Changed, 86_400_000},
		{"a first visit without content has the default wait", day, 0, 0, Success, Unknown, 259_200_000},
		{"an unknown state has the default wait", day, 86_400_000, 0, Success, Unknown, 259_200_000},
		{"a change divides", day, 86_400_000, 0, Success, Changed, 57_600_000},
		{"no change multiplies", day, 86_400_000, 0, Success, Unchanged, 129_600_000},
		{"the minimum holds", day, 3_700_000, 0, Success, Changed, 3_600_000},
		{"the maximum holds", day, 2_000_000_000, 0, Success, Unchanged, 2_419_200_000},
		{"parts of a millisecond are cut off", odd, 10_000_001, 0, Success, Changed, 3_600_000},
		{"parts of a millisecond are cut off, up", odd, 10_000_001, 0, Success, Unchanged, 10_001_001},
		{"each change has its factor", odd, 30_000_000, 0, Success, Changed, 10_000_000},
		{"overdue time does not count by itself", day, 86_400_000, 3_600_000, Success, Unchanged, 129_600_000},
		{"overdue time is added before the factor", overdue, 86_400_000, 3_600_000, Success, Unchanged, 135_000_000},
		{"overdue time is added before a change divides", overdue, 86_400_000, 3_600_000, Success, Changed, 60_000_000},
		{"overdue time does not change the initial wait", overdue, 0, 3_600_000, Success, Changed, 86_400_000},
		{"overdue time does not change the default wait", overdue, 86_400_000, 3_600_000, Success, Unknown, 259_200_000},
		{"a failure leaves the wait", day, 86_400_000, 0, Failed, Unknown, 86_400_000},
		{"a disregarded URI keeps its wait", day, 86_400_000, 0, Disregarded, Unknown, 86_400_000},
		{"a retry leaves the wait", overdue, 86_400_000, 3_600_000, RetryLater, Unknown, 86_400_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(t, []Evaluator{tt.evaluator})
			s := ARState{Wait: tt.before, Due: noon - tt.late, Visits: 1, Versions: 1}
			if tt.before == 0 {
				s.Visits, s.Versions = 0, 0
			}
			s = p.Visited(s, ARVisit{Outcome: tt.outcome, Began: noon, Ended: noon + 1500, Change: tt.change})
			if s.Wait != tt.want {
				t.Errorf("waits %d ms, want %d", s.Wait, tt.want)
			}
			if tt.outcome == Success && s.Due != noon+1500+tt.want {
				t.Errorf("due at %d, want one wait after the end of the fetch", s.Due)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	p := policy(t, ThesisEvaluators())
	was := ARState{Wait: 50_000, Due: noon, Last: noon - 50_000, Visits: 7, Versions: 3}
	for _, outcome := range []Outcome{RetryNow, RetryLater} {
		if got := p.Visited(was, ARVisit{Outcome: outcome, Began: noon, Ended: noon + 9}); got != was {
			t.Errorf("after %d: %+v, want what it was", outcome, got)
		}
	}
	for _, outcome := range []Outcome{Disregarded, Failed} {
		got := p.Visited(was, ARVisit{Outcome: outcome, Began: noon, Ended: noon + 9})
		want := was
		if want.Due = Never; got != want {
			t.Errorf("after %d: %+v, want its history, and the far future", outcome, got)
		}
		if again := got.Let(noon + 5); again.Due != noon+5 || again.Visits != 7 {
			t.Errorf("let in again, it is %+v", again)
		}
	}
	if later := was.Let(noon + 5); later.Due != noon {
		t.Errorf("a URI that is added again is moved back to %d", later.Due)
	}
	if s := p.New(noon); s.Due != noon || s.Wait != 0 {
		t.Errorf("a new URI is %+v, want due at once", s)
	}
}

func TestVisitsAndVersionsAreCounted(t *testing.T) {
	p := policy(t, ThesisEvaluators())
	s := p.New(noon)
	for i, step := range []struct {
		change           Change
		visits, versions uint32
	}{{Unknown, 1, 0}, {Changed, 2, 1}, {Unchanged, 3, 1}, {Changed, 4, 2}, {Unknown, 5, 2}} {
		s = p.Visited(s, ARVisit{Began: noon, Ended: noon, Change: step.change})
		if s.Visits != step.visits || s.Versions != step.versions {
			t.Errorf("step %d: %d visits, %d versions, want %d and %d", i+1, s.Visits, s.Versions, step.visits, step.versions)
		}
	}
}

func TestDefaultsOfTheThesis(t *testing.T) {
	for _, tt := range []struct {
		of          []Evaluator
		contentType string
		initial     time.Duration
		least       time.Duration
	}{
		{ThesisEvaluators(), "text/html", 20 * time.Second, 20 * time.Second},
		{ThesisEvaluators(), "image/png", 200 * time.Second, 200 * time.Second},
		{ThesisEvaluators(), "application/pdf", 1000 * time.Second, 1000 * time.Second},
		{ThesisEvaluators(), "", 1000 * time.Second, 1000 * time.Second},
		{HeritrixEvaluators(), "text/css", 12 * time.Hour, time.Hour},
		{HeritrixEvaluators(), "image/gif", 48 * time.Hour, time.Hour},
		{HeritrixEvaluators(), "video/mp4", 24 * time.Hour, time.Hour},
	} {
		p := policy(t, tt.of)
		e := p.evaluator(tt.contentType)
		if e.Initial != tt.initial || e.Min != tt.least || e.Max != 2_419_200*time.Second || e.Default != 259_200*time.Second ||
			e.ChangedFactor != 1.5 || e.UnchangedFactor != 1.5 || e.UseOverdue {
			t.Errorf("%q has %+v", tt.contentType, e)
		}
	}
}

func TestTheFirstEvaluatorThatMatchesCounts(t *testing.T) {
	a, b, c := anyType(time.Minute, time.Second, time.Hour), anyType(2*time.Minute, time.Second, time.Hour), anyType(3*time.Minute, time.Second, time.Hour)
	a.Types, b.Types = "text/html|text/plain", "text/.*"
	p := policy(t, []Evaluator{a, b, c})
	for contentType, want := range map[string]time.Duration{"text/html": time.Minute, "text/plain": time.Minute, "text/css": 2 * time.Minute,
		"application/text/html": 3 * time.Minute, "text/htmlx": 2 * time.Minute, "": 3 * time.Minute} {
		if got := p.evaluator(contentType).Initial; got != want {
			t.Errorf("%q waits %s first, want %s", contentType, got, want)
		}
	}
}

func TestBadEvaluators(t *testing.T) {
	good := anyType(time.Minute, time.Second, time.Hour)
	with := func(change func(e *Evaluator)) []Evaluator {
		e, text := good, good
		text.Types = "text/.*"
		change(&e)
		return []Evaluator{text, e}
	}
	for _, tt := range []struct {
		name, setting, place string
		evaluators           []Evaluator
	}{
		{"none", "evaluators", "", nil},
		{"minimum above maximum", "min", "evaluator 2", with(func(e *Evaluator) { e.Min = 2 * time.Hour })},
		{"factor of 1", "changed_factor", "evaluator 2", with(func(e *Evaluator) { e.ChangedFactor = 1 })},
		{"factor under 1", "unchanged_factor", "evaluator 2", with(func(e *Evaluator) { e.UnchangedFactor = 0.5 })},
		{"no number", "unchanged_factor", "evaluator 2", with(func(e *Evaluator) { e.UnchangedFactor = math.NaN() })},
		{"without end", "changed_factor", "evaluator 2", with(func(e *Evaluator) { e.ChangedFactor = math.Inf(1) })},
		{"no wait", "initial", "evaluator 2", with(func(e *Evaluator) { e.Initial = 0 })},
		{"negative", "default", "evaluator 2", with(func(e *Evaluator) { e.Default = -time.Hour })},
		{"part of a millisecond", "min", "evaluator 2", with(func(e *Evaluator) { e.Min = 1500 * time.Microsecond })},
		{"too long", "max", "evaluator 2", with(func(e *Evaluator) { e.Max = math.MaxInt64 })},
		{"no expression", "types", "evaluator 2", with(func(e *Evaluator) { e.Types = "(" })},
		{"a last one that leaves some out", "types", "evaluator 2", with(func(e *Evaluator) { e.Types = "text/.*" })},
		{"one that is never reached", "types", "evaluator 1", []Evaluator{good, good}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewAR(tt.evaluators)
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Setting != tt.setting || !strings.Contains(err.Error(), tt.place) {
				t.Errorf("refused with %v, want %s of %q", err, tt.setting, tt.place)
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	p := policy(t, []Evaluator{anyType(45*time.Second, time.Second, time.Hour)})
	before := ARState{Wait: 67_500, Due: noon - 3, Visits: 2, Versions: 1}
	v := ARVisit{Began: noon, Ended: noon + 800, Change: Unchanged}
	s := p.Visited(before, v)
	if got, want := Annotations(before, s, v), []string{"wt:1m41s250ms", "3vis", "1ver", "ov:3ms", "unchanged"}; !reflect.DeepEqual(got, want) {
		t.Errorf("annotated with %q, want %q", got, want)
	}
	v.Change = Changed
	s = p.Visited(before, v)
	if got, want := Annotations(before, s, v), []string{"wt:45s0ms", "3vis", "2ver", "ov:3ms"}; !reflect.DeepEqual(got, want) {
		t.Errorf("annotated with %q, want %q", got, want)
	}
	v.Outcome = Failed
	if got := Annotations(before, p.Visited(before, v), v); got != nil {
		t.Errorf("a failure is annotated with %q", got)
	}
	for ms, want := range map[int64]string{0: "0ms", 3: "3ms", 1000: "1000ms", 1001: "1s1ms", 45_000: "45s0ms", 86_400_000: "24h0ms",
		90_061_001: "1d1h1m1s1ms"} {
		if got := conventional(ms); got != want {
			t.Errorf("%d ms is %s, want %s", ms, got, want)
		}
	}
}

// Whatever clocks say, a wait stays inside its bounds and a time is not before the fetch.
func FuzzWaits(f *testing.F) {
	f.Add(int64(86_400_000), noon, noon, noon+100, uint8(1), true)
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), int64(0), uint8(2), true)
	f.Add(int64(-5), int64(1), int64(math.MaxInt64), int64(Never), uint8(0), false)
	f.Fuzz(func(t *testing.T, wait, due, began, ended int64, change uint8, overdue bool) {
		e := anyType(time.Minute, time.Second, time.Hour)
		e.UseOverdue = overdue
		s := policy(t, []Evaluator{e}).Visited(ARState{Wait: wait, Due: due, Visits: 1},
			ARVisit{Began: began, Ended: ended, Change: Change(change % 3)})
		if s.Wait < 1000 || s.Wait > 3_600_000 || ended < Never && s.Due < ended {
			t.Errorf("%+v after a fetch that ended at %d", s, ended)
		}
	})
}
