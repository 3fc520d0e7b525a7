package scope

import "strings"

// RuleHelp describes a decide rule for people.
type RuleHelp struct {
	Name     string `json:"name"`
	Opposite string `json:"opposite,omitempty"` // the name of the rule that decides where this one's test does not hold
	Decision string `json:"decision"`           // where none is given; "to be given", or "both"
	Takes    string `json:"takes,omitempty"`    // its fields, and their meaning
	Help     string `json:"help"`               // where it decides
}

// RuleHelps describes every rule there is.
func RuleHelps() (all []RuleHelp) {
	for _, d := range definitions() {
		h := RuleHelp{Name: d.name, Opposite: d.opposite, Decision: strings.ToLower(d.decision.String()), Help: d.help}
		switch {
		case d.name == "content_length":
			h.Decision = "both"
		case d.decision == Pass:
			h.Decision = "to be given"
		}
		var takes []string
		for _, one := range []struct{ field, what string }{{"values", d.values}, {"min", d.min}, {"max", d.max},
			{"expression", d.express}} {
			if one.what != "" {
				takes = append(takes, "`"+one.field+"`: "+one.what)
			}
		}
		h.Takes = strings.Join(takes, "; ")
		all = append(all, h)
	}
	return all
}
