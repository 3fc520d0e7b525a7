package revisit

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Evaluator calculates the waits of URIs of some content types, as a WaitEvaluator of Heritrix does.
type Evaluator struct {
	Types           string        // expression that the whole content type matches; empty: any
	Initial         time.Duration // after the first visit
	Default         time.Duration // after a visit of which nobody knows whether the content changed
	Min, Max        time.Duration // bounds of each wait
	ChangedFactor   float64       // divides the wait after a change; over 1
	UnchangedFactor float64       // multiplies it if nothing changed; over 1
	UseOverdue      bool          // adds the time by which the visit was late to the wait before the factor counts
}

// ThesisEvaluators are the evaluators with the thesis' values (2005): text, image, any other.
func ThesisEvaluators() []Evaluator {
	of := func(types string, initial time.Duration) Evaluator {
		return Evaluator{Types: types, Initial: initial, Default: 72 * time.Hour, Min: initial,
			Max: 28 * 24 * time.Hour, ChangedFactor: 1.5, UnchangedFactor: 1.5}
	}
	return []Evaluator{of(`text/.*`, 20*time.Second), of(`image/.*`, 200*time.Second), of("", 1000*time.Second)}
}

// HeritrixEvaluators are the evaluators with the values of the classes of Heritrix 1.14, which are made for crawls of
// large sites.
func HeritrixEvaluators() []Evaluator {
	of := func(types string, initial time.Duration) Evaluator {
		return Evaluator{Types: types, Initial: initial, Default: 72 * time.Hour, Min: time.Hour,
			Max: 28 * 24 * time.Hour, ChangedFactor: 1.5, UnchangedFactor: 1.5}
	}
	return []Evaluator{of(`text/.*`, 12*time.Hour), of(`image/.*`, 48*time.Hour), of("", 24*time.Hour)}
}

// ARState is what heritrix-ar keeps of a URI: 32 bytes.
type ARState struct {
	Wait     int64 // milliseconds from the end of a fetch to the next one; 0 before the first success
	Due      int64 // milliseconds since 1970
	Last     int64 // end of the last fetch that succeeded; 0 before it
	Visits   uint32
	Versions uint32
}

// ARVisit is what heritrix-ar is told of a visit.
type ARVisit struct {
	Outcome     Outcome
	Began       int64 // milliseconds since 1970
	Ended       int64
	ContentType string // without parameters
	Change      Change
}

// AR is the policy heritrix-ar.
type AR struct {
	evaluators []Evaluator
	types      []*regexp.Regexp
}

// NewAR checks the evaluators. The first that matches a content type counts; the last has to match any.
func NewAR(evaluators []Evaluator) (*AR, error) {
	if len(evaluators) == 0 {
		return nil, refuse("evaluators", "empty", "a list of at least one")
	}
	p := &AR{evaluators: evaluators}
	for i, e := range evaluators {
		types, err := regexp.Compile(`\A(?:` + e.Types + `)\z`)
		if err != nil {
			err = refuse("types", strconv.Quote(e.Types), "a regular expression (%v)", err)
		} else if i == len(evaluators)-1 && e.Types != "" {
			err = refuse("types", strconv.Quote(e.Types), "empty in the last evaluator, for all other content types")
		} else if i < len(evaluators)-1 && e.Types == "" {
			err = refuse("types", `""`, "an expression in all but the last: those after it are never reached")
		} else {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("evaluator %d: %w", i+1, err)
		}
		if e.Types == "" {
			types = nil
		}
		p.types = append(p.types, types)
	}
	return p, nil
}

func (e Evaluator) check() error {
	const longestWait = 3650 * 24 * time.Hour
	for _, of := range []struct {
		name string
		wait time.Duration
	}{{"initial", e.Initial}, {"default", e.Default}, {"min", e.Min}, {"max", e.Max}} {
		if of.wait < time.Millisecond || of.wait > longestWait {
			return refuse(of.name, of.wait, "1ms to %s", longestWait)
		}
		if of.wait%time.Millisecond != 0 {
			return refuse(of.name, of.wait, "whole milliseconds")
		}
	}
	if e.Min > e.Max {
		return refuse("min", e.Min, "at most max (%s)", e.Max)
	}
	for _, of := range []struct {
		name   string
		factor float64
	}{{"changed_factor", e.ChangedFactor}, {"unchanged_factor", e.UnchangedFactor}} {
		if !(of.factor > 1) || of.factor > 1e6 {
			return refuse(of.name, of.factor, "more than 1, and at most 1000000")
		}
	}
	return nil
}

// New is the state of a URI that was just found: it is due at once.
func (p *AR) New(now int64) ARState { return ARState{Due: now} }

// evaluator is the first evaluator that the content type matches.
func (p *AR) evaluator(contentType string) Evaluator {
	for i, types := range p.types {
		if types == nil || types.MatchString(contentType) {
			return p.evaluators[i]
		}
	}
	return p.evaluators[len(p.evaluators)-1]
}

// Visited returns the state after a visit. After a success the URI is due one wait after the end of the fetch. After a
// failure the wait is what it was: a URI that is tried again stays due, and one that is disregarded or failed is due in
// the far future.
func (p *AR) Visited(s ARState, v ARVisit) ARState {
	switch v.Outcome {
	case Success:
	case Disregarded, Failed:
		s.Due = Never
		return s
	default:
		return s
	}
	s.Wait = p.wait(s, v)
	s.Visits++
	if v.Change == Changed || s.Versions == 0 && v.Change != Unknown {
		s.Versions++
	}
	s.Last = v.Ended
	s.Due = later(v.Ended, s.Wait)
	return s
}

func (p *AR) wait(s ARState, v ARVisit) int64 {
	e := p.evaluator(v.ContentType)
	wait := e.Initial.Milliseconds()
	switch {
	case v.Change == Unknown:
		wait = e.Default.Milliseconds()
	case s.Wait > 0:
		wait = s.Wait
		if e.UseOverdue {
			wait = later(wait, Overdue(s, v))
		}
		if v.Change == Changed {
			wait = int64(float64(wait) / e.ChangedFactor)
		} else {
			wait = int64(math.Min(float64(wait)*e.UnchangedFactor, Never))
		}
	}
	return min(max(wait, e.Min.Milliseconds()), e.Max.Milliseconds())
}

// Overdue is by how many milliseconds the visit began later than the URI was due.
func Overdue(before ARState, v ARVisit) int64 {
	if v.Began <= before.Due || before.Due <= 0 {
		return 0
	}
	return v.Began - before.Due
}

// Let returns the state of a URI that is let in again at a time: failed, disregarded or waiting. A URI's time is never
// moved back.
func (s ARState) Let(at int64) ARState {
	s.Due = min(s.Due, at)
	return s
}

// Annotations are the words on a visit in crawl.log, as Heritrix writes them: the wait, visits, versions and by how
// much the visit was late. Before and after are the URI's states before and after the visit.
func Annotations(before, after ARState, v ARVisit) []string {
	if v.Outcome != Success {
		return nil
	}
	words := []string{"wt:" + conventional(after.Wait), fmt.Sprintf("%dvis", after.Visits),
		fmt.Sprintf("%dver", after.Versions), "ov:" + conventional(Overdue(before, v))}
	if v.Change == Unchanged && before.Visits > 0 {
		words = append(words, "unchanged")
	}
	return words
}

// conventional writes milliseconds as Heritrix does: 45s0ms. A unit comes only where there is more than one of it.
func conventional(ms int64) string {
	out := ""
	for _, unit := range []struct {
		ms   int64
		name string
	}{{msPerDay, "d"}, {3_600_000, "h"}, {60_000, "m"}, {1000, "s"}} {
		if ms > unit.ms {
			out += fmt.Sprint(ms/unit.ms) + unit.name
			ms %= unit.ms
		}
	}
	return out + fmt.Sprint(ms) + "ms"
}
