// Package alert has what a person should know of as data: a kind, what it is of, and its parameters. A page says it in
// the reader's language, a list counts and sorts it, and a notice tells of it once; Text is the English sentence for
// the command line, the log and programs that want one.
package alert

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Text returns the alert as an English sentence, without the node that sees it.
func (a Alert) Text() string {
	text := shapeOf(a.Kind).text
	if text == "" { // of a node with a later program
		text = string(a.Kind) + " " + a.Subject
	}
	var pairs []string
	for name, value := range a.Parameters {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(append(pairs, "{subject}", a.Subject)...).Replace(text)
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

// From returns what another node says that it sees, as what that node sees. Kinds of a later program are taken for
// those that only a node sees.
func From(node string, all []Alert) []Alert {
	out := slices.Clone(all)
	for i := range out {
		shape := shapeOf(out[i].Kind)
		if out[i].Node = ""; shape.local || shape.text == "" {
			out[i].Node = node
		}
		if shape.severity != "" {
			out[i].Severity = shape.severity
		} else if out[i].Severity != Look {
			out[i].Severity = Bad
		}
	}
	return out
}

// Merge puts together what several nodes see. Of the same thing one alert stays, with the earliest time; the bad ones
// come first, the rest is in the order in which it began.
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
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.Since.Compare(b.Since))
	})
	return out
}
