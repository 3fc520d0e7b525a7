// Package access decides who may see which capture: one policy, asked by
// replay, CDX server, search and export alike.
//
// A policy is a plain value, an ordered list of rules of which the first that
// applies decides, and a decision for everything else.
package access

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/cdx"
)

// ErrRule reports a rule that cannot be used.
var ErrRule = errors.New("not a usable access rule")

// Decision is a rule's decision about a capture.
type Decision string

// The decisions, named as pywb's access files name them.
const (
	Allow   Decision = "allow"   // may be seen
	Block   Decision = "block"   // is listed, its content is refused (451)
	Exclude Decision = "exclude" // is treated as if it were not archived (404)
)

// Rule applies to captures by place and time.
type Rule struct {
	// Prefix is the start of a CDX key. Without a ")" it names a host and all
	// hosts under it: com,example is example.com and www2.a.example.com, but
	// not examples.com. Empty: everything.
	Prefix string `json:"prefix,omitempty"`
	// Exact says that Prefix is the whole key.
	Exact bool `json:"exact,omitempty"`
	// From and To bound the capture's time, both ends included; a short timestamp
	// names the whole span. Empty: open.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`

	Access Decision `json:"access"`
	// Reason is shown to readers who are refused.
	Reason string `json:"reason,omitempty"`
}

// Policy is an ordered list of rules. The zero value allows everything.
type Policy struct {
	Rules   []Rule   `json:"rules,omitempty"`
	Default Decision `json:"default,omitempty"` // empty: Allow
}

// RuleFor returns a rule for a URL as people write it: *.example.com for a
// domain, http://example.com/a* for all that begins so, else one URL.
func RuleFor(pattern string, decision Decision) (Rule, error) {
	url, scope := cdx.Pattern(pattern)
	low, _, err := cdx.Query{URL: url, Match: scope}.Range()
	if err != nil {
		return Rule{}, fmt.Errorf("%w: %w", ErrRule, err)
	}
	rule := Rule{Prefix: low, Exact: scope == cdx.Exact, Access: decision}
	if scope == cdx.Domain {
		rule.Prefix = strings.TrimRight(low, ",)/")
	}
	return rule, rule.Check()
}

// Check reports what is wrong with a rule; the error wraps ErrRule.
func (r Rule) Check() error {
	if !known(r.Access) {
		return fmt.Errorf("%w: no such decision %.40q", ErrRule, string(r.Access))
	}
	for _, timestamp := range []string{r.From, r.To} {
		if timestamp == "" {
			continue
		}
		if _, err := cdx.PadTimestamp(timestamp, cdx.Low); err != nil {
			return fmt.Errorf("%w: %w", ErrRule, err)
		}
	}
	if len(r.Prefix) > cdx.MaxURL {
		return fmt.Errorf("%w: prefix of %d bytes", ErrRule, len(r.Prefix))
	}
	return nil
}

// Check reports the first rule that cannot be used; the error wraps ErrRule.
func (p Policy) Check() error {
	if p.Default != "" && !known(p.Default) {
		return fmt.Errorf("%w: no such decision %.40q", ErrRule, string(p.Default))
	}
	for i, rule := range p.Rules {
		if err := rule.Check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

// Decide returns the decision about the capture of a key at a time (14 digits), with the reason that the deciding
// rule gives. A rule that Check refuses excludes everything that it may concern: a broken policy never opens
// anything.
func (p Policy) Decide(key, timestamp string) (Decision, string) {
	for _, rule := range p.Rules {
		if !rule.covers(key) {
			continue
		}
		in, err := rule.during(timestamp)
		switch {
		case err != nil || !known(rule.Access):
			return Exclude, ""
		case in:
			return rule.Access, rule.Reason
		}
	}
	switch {
	case p.Default == "":
		return Allow, ""
	case known(p.Default):
		return p.Default, ""
	}
	return Exclude, ""
}

func (r Rule) covers(key string) bool {
	if r.Exact {
		return key == r.Prefix
	}
	rest, ok := strings.CutPrefix(key, r.Prefix)
	if !ok {
		return false
	}
	if r.Prefix == "" || rest == "" || strings.ContainsAny(r.Prefix, "):") || strings.HasSuffix(r.Prefix, ",") {
		return true
	}
	return rest[0] == ')' || rest[0] == ',' || rest[0] == ':'
}

func (r Rule) during(timestamp string) (bool, error) {
	if r.From != "" {
		from, err := cdx.PadTimestamp(r.From, cdx.Low)
		if err != nil || timestamp < from {
			return false, err
		}
	}
	if r.To != "" {
		to, err := cdx.PadTimestamp(r.To, cdx.High)
		if err != nil || timestamp > to {
			return false, err
		}
	}
	return true, nil
}

func known(d Decision) bool { return d == Allow || d == Block || d == Exclude }
