package scope

import (
	"fmt"
	"iter"
	"log/slog"
	"strconv"

	"holdfast/harvest"
)

// Decision is the decision of a rule.
type Decision byte

// The decisions.
const (
	Pass   Decision = 0 // says nothing
	Accept Decision = 1
	Reject Decision = 2
)

// String is ACCEPT, REJECT or PASS.
func (d Decision) String() string {
	switch d {
	case Accept:
		return "ACCEPT"
	case Reject:
		return "REJECT"
	}
	return "PASS"
}

// MarshalText writes the decision as String does.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Word is the decision of one rule about a URI, and the reason.
type Word struct {
	Rule     string   `json:"rule"`
	Decision Decision `json:"decision"`
	Why      string   `json:"why"`
	Decided  bool     `json:"decided"` // this rule made the final decision
}

// step is a rule ready for use.
type step struct {
	name   string
	can    Decision // all it may say, as bits
	status int      // of a URI that it rejects
	needs  need     // to say anything
	says   func(*Subject) Decision
	why    func(*Subject) string
}

// Rules is a sequence of decide rules; the last rule that does not pass decides. It is safe for concurrent use.
type Rules struct {
	steps []step
}

// newRules compiles the rules of a setting. The error wraps harvest.ErrInvalid and names rule, place, the given value
// and the allowed values. Expressions that fail during use are logged.
func newRules(setting string, list []harvest.Rule, log *slog.Logger) (*Rules, error) {
	steps, err := compileRules(setting, list, log)
	if err != nil {
		return nil, err
	}
	return &Rules{steps}, nil
}

// Decide returns the decision of the last rule that did not pass, and its name; Pass if all passed.
func (r *Rules) Decide(u *Subject) (Decision, string) {
	if r == nil {
		return Pass, ""
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		if word := r.steps[i].says(u); word != Pass {
			return word, r.steps[i].name
		}
	}
	return Pass, ""
}

func (s *step) word(u *Subject) Word {
	return Word{Rule: s.name, Decision: s.says(u), Why: s.why(u)}
}

// test is what most rules are: something that holds or does not, and the fact that it looks at.
type test struct {
	holds func(*Subject) bool
	fact  func(*Subject) string
	needs need
}

// need says what has to be known of a URI for a rule to say anything.
type need byte

const (
	needsNothing need = iota
	needsAddress
	needsHead   // of an answer
	needsLength // as declared, or received
	needsBody   // all that came
)

// knownIn is the most that is known about a URI when the rules of a setting are asked.
func knownIn(setting string) need {
	switch setting {
	case midFetchRules:
		return needsLength
	case recordRules:
		return needsBody
	}
	return needsAddress
}

// askable is what rules of a setting may ask for, and where else to ask for more.
func askable(setting string) string {
	if setting == midFetchRules {
		return "what is known when the head of an answer has come; more is known to " + recordRules
	}
	return "what is known before a fetch; more is known to " + midFetchRules + " and " + recordRules
}

func (n need) missing(u *Subject) string {
	switch {
	case n >= needsHead && !u.Fetched:
		return "not fetched yet"
	case n == needsLength && u.Length < 0 && !u.Received, n == needsBody && !u.Received:
		return "not received yet"
	case n == needsAddress && !u.address().IsValid():
		if u.Unresolved {
			return "no address known yet; it is judged by that when its turn comes"
		}
		return "no address known"
	}
	return ""
}

// untold is the decision of a rule about a URI of which it needs a fact that is not known yet. If the address will be
// looked up, the rule accepts what it may accept then, and rejects nothing.
func (n need) untold(u *Subject, decision Decision) Decision {
	if n == needsAddress && u.Unresolved && decision == Accept {
		return Accept
	}
	return Pass
}

// step makes a rule of a test: it says decision where the test holds, or where it does not.
func (t test) step(name string, decision Decision, negated bool) step {
	return step{
		name: name, can: decision, needs: t.needs,
		says: func(u *Subject) Decision {
			if t.needs != needsNothing && t.needs.missing(u) != "" {
				return t.needs.untold(u, decision)
			}
			if t.holds(u) == negated {
				return Pass
			}
			return decision
		},
		why: func(u *Subject) string {
			if m := t.needs.missing(u); m != "" {
				return m
			}
			return t.fact(u)
		},
	}
}

// compileRules makes steps of the rules of a setting.
func compileRules(setting string, list []harvest.Rule, log *slog.Logger) ([]step, error) {
	if len(list) == 0 {
		return nil, nil
	}
	known := definitions()
	steps := make([]step, 0, len(list))
	for i, r := range list {
		at := place{setting: setting, index: i, rule: r.Rule}
		d, negated, ok := find(known, r.Rule)
		if !ok {
			return nil, at.wrong("rule", strconv.Quote(r.Rule),
				"a rule of doc/scope.md"+harvest.DidYouMean(r.Rule, ruleNames(known)))
		}
		s, err := d.compile(at, r, negated, log)
		if err != nil {
			return nil, err
		}
		if s.needs > knownIn(setting) {
			if r.Expression != "" {
				return nil, at.wrong("expression", strconv.Quote(r.Expression), askable(setting))
			}
			return nil, at.wrong("rule", strconv.Quote(r.Rule), "rules over "+askable(setting))
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// place says where a rule was given, for errors.
type place struct {
	setting string
	index   int
	rule    string
}

func (p place) name() string { return p.setting + "[" + strconv.Itoa(p.index) + "] " + p.rule }

func (p place) wrong(field, given, allowed string) error {
	return fmt.Errorf("%w: %s: %s: given %s, allowed: %s", harvest.ErrInvalid, p.name(), field, given, allowed)
}

func find(known []definition, name string) (d *definition, negated, ok bool) {
	for i := range known {
		switch name {
		case known[i].name:
			return &known[i], false, true
		case known[i].opposite:
			return &known[i], name != "", name != ""
		}
	}
	return nil, false, false
}

// ruleNames lists the names of rules and of their opposites.
func ruleNames(known []definition) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range known {
			if !yield(known[i].name) || known[i].opposite != "" && !yield(known[i].opposite) {
				return
			}
		}
	}
}
