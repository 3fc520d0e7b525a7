// Package rules is the subject of who may see what of the archive: the access rules that archivists agree on. What a
// rule means, package access says. It is pure and deterministic.
package rules

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/access"
	"holdfast/catalog/agree"
)

// Level is the level of a cluster that keeps access rules.
const Level = 5

// Limits on rules.
const (
	Most       = 250_000 // rules
	MostAtOnce = 50      // of one command
	MaxReason  = 1000    // bytes of a private reason
	maxPrefix  = 2 << 10 // bytes of a prefix: a list of fifty rules has to fit into a command
	maxShown   = 200     // bytes of a text that stands in the audit trail beside others
)

// Asked is what a person says of a rule.
type Asked struct {
	access.Rule
	Reason string `json:"reason,omitempty"` // private: for those who keep the rules
}

// Rule is an access rule.
type Rule struct {
	Number  uint64     `json:"number"`  // never given twice
	Version uint64     `json:"version"` // grows with each change
	Asked              // flat in JSON
	Made    agree.Time `json:"made"`
	Maker   string     `json:"maker"`
	Changed agree.Time `json:"changed"`
	By      string     `json:"by"` // who changed it last
}

// State counts the rules.
type State struct {
	Last    uint64 `json:"last"`    // the number that was given last
	Count   int    `json:"count"`   // of rules that there are
	Version uint64 `json:"version"` // grows with each command that changes a rule
}

// Adding adds rules. Its value is the number of the first; the others follow on it.
type Adding struct {
	Rules []Asked `json:"rules"`
}

// Added is the answer to Adding.
type Added struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Changing puts another text in the place of a rule's.
type Changing struct {
	Number  uint64 `json:"number"`
	Version uint64 `json:"version"` // that is changed
	Asked   Asked  `json:"rule"`
}

// Removing removes rules.
type Removing struct {
	Rules  []Ref  `json:"rules"`
	Reason string `json:"reason,omitempty"`
}

// Ref names a rule as it was seen.
type Ref struct {
	Number  uint64 `json:"number"`
	Version uint64 `json:"version,omitempty"` // 0: whichever there is
}

// The kinds of commands and their bodies.
const (
	Add    agree.Kind = "rule.add"    // Adding
	Change agree.Kind = "rule.change" // Changing
	Remove agree.Kind = "rule.remove" // Removing
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Add, Level: Level, Do: agree.With(add)},
	{Kind: Change, Level: Level, Do: agree.With(change)},
	{Kind: Remove, Level: Level, Do: agree.With(remove)},
}

// The subject's keys, in the order of doc/format/catalog.md. All are of level 5.
const (
	Prefix   = "rule/"     // <number>: Rule
	keyState = "rulestate" // State
)

// Keys are the prefixes of all that a policy is made of, for who watches them.
func Keys() []string { return []string{Prefix, keyState} }

// KeyOf is where a rule stands, for the version of what a person has seen.
func KeyOf(number uint64) string { return Prefix + agree.Hex(number) }

// Check refuses what cannot be a rule.
func (a *Asked) Check() error {
	if err := a.Rule.Check(); err != nil {
		return agree.Refuse(agree.Invalid, "%v", err)
	}
	if len(a.Prefix) > maxPrefix {
		return agree.Refuse(agree.Invalid, "prefix of %d bytes: at most %d", len(a.Prefix), maxPrefix)
	}
	if len(a.Reason) > MaxReason {
		return agree.Refuse(agree.Invalid, "reason of %d bytes: at most %d", len(a.Reason), MaxReason)
	}
	for _, text := range []string{a.Message, a.Reason} {
		if !agree.Readable(text) {
			return agree.Refuse(agree.Invalid, "message and reason: want readable text in one line")
		}
	}
	return nil
}

func add(s *agree.State, b *Adding) (any, error) {
	if len(b.Rules) < 1 || len(b.Rules) > MostAtOnce {
		return nil, agree.Refuse(agree.Invalid, "%d rules: want 1 to %d", len(b.Rules), MostAtOnce)
	}
	n, _, err := agree.Get[State](s, keyState)
	if err != nil {
		return nil, err
	}
	if n.Count+len(b.Rules) > Most {
		return nil, agree.Refuse(agree.Conflict, "there are %d rules: at most %d", n.Count, Most)
	}
	first := n.Last + 1
	for i := range b.Rules {
		asked := &b.Rules[i]
		if err := asked.Check(); err != nil {
			return nil, of(err, "rule %d: ", i+1)
		}
		n.Last++
		r := Rule{Number: n.Last, Version: 1, Asked: *asked, Made: s.At, Maker: s.Actor, Changed: s.At, By: s.Actor}
		err := errors.Join(s.Set(KeyOf(r.Number), &r), s.Event(Add, subject(r.Number), "%s", asked.describe()))
		if err != nil {
			return nil, err
		}
	}
	n.Count, n.Version = n.Count+len(b.Rules), n.Version+1
	return Added{First: first, Last: n.Last}, s.Set(keyState, n)
}

// Shut adds rules that show the archive to operators alone, in the place of rules that are lost.
func Shut(s *agree.State) error {
	const reason = "the catalog was rebuilt, and its access rules are lost: bring them in again, then remove this rule"
	_, err := add(s, &Adding{Rules: []Asked{{Rule: access.Rule{Access: access.Exclude}, Reason: reason},
		{Rule: access.Rule{Access: access.Allow, Role: access.Operator}, Reason: reason}}})
	return err
}

// of puts which rule it is before a refusal.
func of(err error, format string, args ...any) error {
	var refused *agree.Refusal
	if errors.As(err, &refused) {
		return agree.Refuse(refused.Code, "%s%s", fmt.Sprintf(format, args...), refused.Message)
	}
	return err
}

func change(s *agree.State, b *Changing) (any, error) {
	r, err := find(s, Ref{b.Number, b.Version})
	if err != nil {
		return nil, err
	}
	if err := b.Asked.Check(); err != nil {
		return nil, err
	}
	n, _, err := agree.Get[State](s, keyState)
	if err != nil {
		return nil, err
	}
	n.Version++
	before := r.describe()
	r.Asked, r.Version, r.Changed, r.By = b.Asked, r.Version+1, s.At, s.Actor
	return &r, errors.Join(s.Set(KeyOf(r.Number), &r), s.Set(keyState, n),
		s.Event(Change, subject(r.Number), "%s; before: %s", r.describe(), before))
}

func remove(s *agree.State, b *Removing) (any, error) {
	if len(b.Rules) < 1 || len(b.Rules) > MostAtOnce {
		return nil, agree.Refuse(agree.Invalid, "%d rules: want 1 to %d", len(b.Rules), MostAtOnce)
	}
	if len(b.Reason) > MaxReason || !agree.Readable(b.Reason) {
		return nil, agree.Refuse(agree.Invalid, "reason: want readable text of at most %d bytes in one line", MaxReason)
	}
	n, _, err := agree.Get[State](s, keyState)
	if err != nil {
		return nil, err
	}
	n.Version++
	for _, ref := range b.Rules {
		r, err := find(s, ref)
		if err != nil {
			return nil, err
		}
		s.Delete(KeyOf(r.Number))
		n.Count--
		text := r.describe()
		if b.Reason != "" {
			text = "because=" + agree.ClipReason(b.Reason) + " " + text
		}
		if err := s.Event(Remove, subject(r.Number), "%s", text); err != nil {
			return nil, err
		}
	}
	return nil, s.Set(keyState, n)
}

// find returns the rule, or a refusal.
func find(s *agree.State, ref Ref) (Rule, error) {
	r, there, err := agree.Get[Rule](s, KeyOf(ref.Number))
	if err != nil || !there {
		return r, agree.OrNotFound(err, "there is no rule %d", ref.Number)
	}
	if ref.Version != 0 && ref.Version != r.Version {
		return r, agree.Refuse(agree.Conflict, "rule %d is of version %d by now", r.Number, r.Version)
	}
	return r, nil
}

// About reports whether the rule is about the key, whatever else it asks for.
func (a *Asked) About(key string) bool { return a.Rule.About(key) }

func subject(number uint64) string { return fmt.Sprint(number) }

// describe says in the trail what a rule is.
func (a *Asked) describe() string {
	kind := "prefix"
	if a.Exact {
		kind = "exact"
	}
	parts := []string{"access=" + string(a.Access), kind + "=" + agree.Clip(a.Prefix, 3*maxShown)}
	for _, p := range [][2]string{{"from", a.From}, {"to", a.To}, {"newer", a.Newer}, {"older", a.Older},
		{"begin", a.Begin}, {"end", a.End}, {"role", string(a.Role)},
		{"addresses", agree.Clip(strings.Join(a.Addresses, ","), maxShown)},
		{"message", agree.Clip(a.Message, maxShown)},
		{"reason", agree.ClipReason(a.Reason)}} {
		if p[1] != "" {
			parts = append(parts, p[0]+"="+p[1])
		}
	}
	return strings.Join(parts, " ")
}

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// All returns all rules by number.
func (v View) All() ([]Rule, error) { return agree.List[Rule](v.Reader, Prefix, "", 0) }

// Page returns at most n rules behind the one of that number.
func (v View) Page(after uint64, n int) ([]Rule, error) {
	behind := ""
	if after != 0 {
		behind = agree.Hex(after)
	}
	return agree.List[Rule](v.Reader, Prefix, behind, n)
}

// Rule returns the rule, or ErrNotFound.
func (v View) Rule(number uint64) (Rule, error) {
	return agree.Found(agree.Get[Rule](v.Reader, KeyOf(number)))
}

// State counts the rules.
func (v View) State() (State, error) {
	n, _, err := agree.Get[State](v.Reader, keyState)
	return n, err
}

// Policy returns the rules as package access knows them, and beside it the rules.
func (v View) Policy() (access.Policy, []Rule, error) {
	all, err := v.All()
	if err != nil {
		return access.Policy{}, nil, err
	}
	var p access.Policy
	for i := range all {
		p.Rules = append(p.Rules, all[i].Rule)
	}
	return p, all, nil
}
