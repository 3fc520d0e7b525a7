package scope

import (
	"fmt"
	"log/slog"
	"strconv"

	"holdfast/harvest"
)

// definition describes a rule: its name, what it takes, and how it is made.
type definition struct {
	name     string
	opposite string // the name of the rule that decides where this one's test does not hold
	help     string
	decision Decision // where none is given; Pass: one has to be given
	fixed    bool     // it can say nothing else
	values   string   // what the values mean; "": takes none
	optional bool     // values may be left out
	min, max string   // what the numbers mean; "": takes none
	express  string   // what the expression means; "": takes none

	build   func(r harvest.Rule) (test, error)
	special func(at place, r harvest.Rule, decision Decision, log *slog.Logger) (step, error) // instead of build
}

// onlyBytes describes the required number of a rule.
const onlyBytes = "bytes"

// compile makes a step of a given rule, and refuses what the rule does not take.
func (d *definition) compile(at place, r harvest.Rule, negated bool, log *slog.Logger) (step, error) {
	decision := d.decision
	if negated {
		decision = Pass
	}
	switch r.Decision {
	case "":
	case "accept":
		decision = Accept
	case "reject":
		decision = Reject
	default:
		return step{}, at.wrong("decision", strconv.Quote(r.Decision), "accept or reject")
	}
	if d.fixed && decision != d.decision {
		return step{}, at.wrong("decision", strconv.Quote(r.Decision), "none, or the rule's own")
	}
	if err := d.takes(at, r); err != nil {
		return step{}, err
	}
	made, err := d.make(at, r, decision, negated, log)
	if err == nil && decision == Pass && !d.fixed {
		err = at.wrong("decision", "none", "accept or reject")
	}
	return made, err
}

func (d *definition) make(at place, r harvest.Rule, decision Decision, negated bool, log *slog.Logger) (step, error) {
	if d.special != nil {
		return d.special(at, r, decision, log)
	}
	t, err := d.build(r)
	if err != nil {
		return step{}, fmt.Errorf("%w: %s: %w", harvest.ErrInvalid, at.name(), err)
	}
	return t.step(at.name(), decision, negated), nil
}

func (d *definition) takes(at place, r harvest.Rule) error {
	switch {
	case d.values == "" && len(r.Values) > 0:
		return at.wrong("values", strconv.Quote(r.Values[0]), "none")
	case d.values != "" && !d.optional && len(r.Values) == 0:
		return at.wrong("values", "none", d.values)
	case r.Min != nil && d.min == "":
		return at.wrong("min", strconv.FormatInt(*r.Min, 10), "none")
	case r.Max != nil && d.max == "":
		return at.wrong("max", strconv.FormatInt(*r.Max, 10), "none")
	case r.Min != nil && *r.Min < 0:
		return at.wrong("min", strconv.FormatInt(*r.Min, 10), d.min+", not negative")
	case r.Max != nil && *r.Max < 0:
		return at.wrong("max", strconv.FormatInt(*r.Max, 10), d.max+", not negative")
	case r.Max == nil && d.max == onlyBytes:
		return at.wrong("max", "none", "a number of bytes")
	case r.Expression != "" && d.express == "":
		return at.wrong("expression", strconv.Quote(r.Expression), "none")
	}
	return nil
}

// given is an error about one of a rule's parts.
func given(field, value, allowed string) error {
	return fmt.Errorf("%s: given %s, allowed: %s", field, value, allowed)
}

// definitions are all rules that there are.
func definitions() []definition {
	var all []definition
	for _, group := range [][]definition{wordRules(), hostRules(), surtRules(), hopRules(), pathRules(), textRules(),
		originRules(), answerRules(), contentRules()} {
		all = append(all, group...)
	}
	return all
}

func wordRules() []definition {
	always := func(harvest.Rule) (test, error) {
		return test{holds: func(*Subject) bool { return true },
			fact: func(*Subject) string { return "says so to all" }}, nil
	}
	return []definition{
		{name: "accept", help: "Accepts every URI.", decision: Accept, fixed: true, build: always},
		{name: "reject", help: "Rejects every URI.", decision: Reject, fixed: true, build: always},
		{name: "expression", help: "Speaks where the expression is true. One that fails says nothing, which is told " +
			"in the log.",
			express: "a CEL expression", special: expressionStep},
	}
}
