// Package alert has what a person should know of as data: a kind, what it is of, and its parameters. A page says it in
// the reader's language, a list counts and sorts it, and a notice reports it once; Text is the English sentence for
// the command line, the log and programs that want one.
package alert

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Severity tells how much something matters.
type Severity string

const (
	Bad  Severity = "bad"  // something fails, or copies are at risk
	Look Severity = "look" // something waits for a person, or soon will
)

// Alert is one thing that a person should know of. Two alerts with the same Key are of the same thing at two times.
type Alert struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Subject is what it is of: a node's or replica's name, a path, or the number of a job, a run or a harvest; by the
	// kind. It is empty where there is only one thing that it can be of.
	Subject string `json:"subject,omitempty"`
	// Node is the name of the node that sees it; empty for what every node reads in the agreed state.
	Node       string            `json:"node,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"` // by the names that the kind's sentence has
	Since      time.Time         `json:"since,omitzero"`       // when it was first seen, if somebody keeps watch
}

// New makes an alert. The parameters are names and values by turns; numbers are written by Number.
func New(kind Kind, subject string, parameters ...string) Alert {
	a := Alert{Kind: kind, Subject: subject, Severity: shapeOf(kind).severity}
	if len(parameters) > 1 {
		a.Parameters = make(map[string]string, len(parameters)/2)
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		a.Parameters[parameters[i]] = parameters[i+1]
	}
	return a
}

// Number writes a number as a parameter.
func Number[N ~int | ~int64 | ~uint64](n N) string { return strconv.FormatInt(int64(n), 10) }

// Key tells whether two alerts are of the same thing, as long as it lasts. Parameters may change meanwhile.
func (a Alert) Key() string { return string(a.Kind) + "\x00" + a.Node + "\x00" + a.Subject }

// Text returns the alert as an English sentence of one line, without the node that sees it.
func (a Alert) Text() string {
	text := shapeOf(a.Kind).text
	if text == "" { // of a node with a later program
		text = string(a.Kind) + " {subject}"
	}
	pairs := []string{"{subject}", a.Subject}
	for name, value := range a.Parameters {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return Plain(strings.NewReplacer(pairs...).Replace(text))
}

// Plain returns the text without what would steer a terminal or turn the direction of writing: a space stands for it.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
}

// Texts returns the sentences of the alerts.
func Texts(all []Alert) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Text()
	}
	return out
}

// At returns the alerts as those that a node sees: the kinds that only a node sees get its name.
func At(node string, all []Alert) []Alert {
	out := slices.Clone(all)
	for i := range out {
		if shapeOf(out[i].Kind).local {
			out[i].Node = node
		}
	}
	return out
}

// Bounds of what is taken from another node.
const (
	mostOfOne  = 1000
	mostText   = 1 << 10 // bytes of a subject or a parameter
	mostValues = 16      // parameters
)

// From returns what another node says that it alone sees at the time now; what every node sees is for this one to
// read. Kinds of a later program are taken for those that only a node sees. Of very many, the first are returned.
func From(node string, now time.Time, all []Alert) []Alert {
	var out []Alert
	for _, a := range all {
		shape := shapeOf(a.Kind)
		if shape.text != "" && !shape.local || !isName(string(a.Kind)) {
			continue
		}
		if len(out) == mostOfOne {
			rest := New(MoreAlerts, "", "alerts", Number(len(all)-mostOfOne))
			rest.Node = node
			return append(out, rest)
		}
		is := Alert{Kind: a.Kind, Severity: shape.severity, Subject: clip(a.Subject), Node: node}
		if is.Severity == "" {
			if is.Severity = Bad; a.Severity == Look {
				is.Severity = Look
			}
		}
		if a.Since.Year() > 2000 && !a.Since.After(now.Add(time.Minute)) {
			is.Since = a.Since
		}
		for name, value := range a.Parameters {
			if is.Parameters == nil {
				is.Parameters = map[string]string{}
			}
			if len(is.Parameters) < mostValues && isName(name) {
				is.Parameters[name] = clip(value)
			}
		}
		out = append(out, is)
	}
	return out
}

// isName reports whether the text can be the name of a kind or a parameter.
func isName(text string) bool {
	return text != "" && len(text) <= 64 &&
		strings.IndexFunc(text, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }) < 0
}

func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), mostText)], "") }

// Merge puts together what several nodes see. Of the same thing one alert stays, with the earliest time. The bad ones
// come first, of these what concerns the whole cluster; the rest is in the order in which it began.
func Merge(lists ...[]Alert) []Alert {
	var out []Alert
	places := map[string]int{}
	for _, a := range slices.Concat(lists...) {
		at, there := places[a.Key()]
		if !there {
			places[a.Key()] = len(out)
			out = append(out, a)
		} else if earlier := &out[at].Since; !a.Since.IsZero() && (earlier.IsZero() || a.Since.Before(*earlier)) {
			*earlier = a.Since
		}
	}
	slices.SortStableFunc(out, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Kind.rank(), b.Kind.rank()),
			a.Since.Compare(b.Since))
	})
	return out
}

// rank is lower for what keeps the whole cluster from working.
func (k Kind) rank() int {
	switch k {
	case NoQuorum, CatalogMissing:
		return 0
	case NodeAway:
		return 1
	}
	return 2
}
