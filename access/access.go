// Package access decides who may see which capture: one policy, asked by replay, CDX server, search, API and export
// alike.
//
// A policy is a plain value: rules, of which the most specific one that applies decides, and a decision for everything
// else. Compile makes it fit for many questions, and For says who asks.
package access

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
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

// Rule applies to captures by place and time, and to readers by role and address. A rule without conditions about
// readers applies to everybody.
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
	// Newer and Older bound the capture's age when it is asked for; see ParsePeriod. With Newer, the rule applies to
	// captures made since then, and so an embargo rolls on. Empty: any age.
	Newer string `json:"newer,omitempty"`
	Older string `json:"older,omitempty"`
	// Begin and End bound when the rule is in force, as From and To do for captures.
	Begin string `json:"begin,omitempty"`
	End   string `json:"end,omitempty"`
	// Role is the least that a reader must be: the rule applies to this role and those above. Empty: everybody.
	Role Role `json:"role,omitempty"`
	// Addresses are the addresses and ranges (CIDR) of the readers to whom the rule applies. Empty: all.
	Addresses []string `json:"addresses,omitempty"`

	Access Decision `json:"access"`
	// Message is shown to readers who are refused.
	Message string `json:"message,omitempty"`
}

// Role is what a reader is in the archive. The empty one is a reader of whom nothing is known.
type Role string

// The roles, of which each may see what those before may.
const (
	Anyone   Role = ""
	Reader   Role = "reader"
	Curator  Role = "curator"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// rank counts the roles up from 0; -1 if there is no such role.
func (r Role) rank() int { return slices.Index([]Role{Anyone, Reader, Curator, Operator, Admin}, r) }

// Limits on a rule.
const (
	MaxAddresses = 100
	MaxMessage   = 1000 // bytes
)

// Policy is a set of rules. The zero value allows everything.
type Policy struct {
	Rules   []Rule   `json:"rules,omitempty"`
	Default Decision `json:"default,omitempty"` // empty: Allow
}

// RuleFor returns a rule for a URL as people write it: * for everything, *.example.com for a domain,
// http://example.com/a* for all that begins so, else one URL.
func RuleFor(pattern string, decision Decision) (Rule, error) {
	if pattern == "*" {
		rule := Rule{Access: decision}
		return rule, rule.Check()
	}
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
	_, err := r.compile()
	return err
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

// About reports whether the rule is about the key, whatever else it asks for.
func (r Rule) About(key string) bool { return r.covers(key) }

// covers reports whether the rule's prefix is about the key.
func (r *Rule) covers(key string) bool {
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

// compile checks the rule and makes its conditions ready.
func (r Rule) compile() (*condition, error) {
	fault := func(format string, args ...any) (*condition, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrRule}, args...)...)
	}
	if !known(r.Access) {
		return fault("no such decision %.40q: want allow, block or exclude", string(r.Access))
	}
	if len(r.Prefix) > cdx.MaxURL {
		return fault("prefix of %d bytes: at most %d", len(r.Prefix), cdx.MaxURL)
	}
	if i := strings.IndexFunc(r.Prefix, func(c rune) bool { return c < ' ' || c == 0x7f }); i >= 0 {
		return fault("prefix %.80q has a control character at %d", r.Prefix, i)
	}
	if why := unkeyed(r.Prefix); why != "" {
		return fault("prefix %.80q: no key begins so, and the rule would be about nothing: %s", r.Prefix, why)
	}
	if r.Exact && r.Prefix == "" {
		return fault("an exact rule without a key")
	}
	c := &condition{}
	for _, span := range []struct {
		what, text string
		pad        cdx.Pad
		into       *string
	}{{"from", r.From, cdx.Low, &c.from}, {"to", r.To, cdx.High, &c.to}, {"begin", r.Begin, cdx.Low, &c.begin},
		{"end", r.End, cdx.High, &c.end}} {
		if span.text == "" {
			continue
		}
		full, err := cdx.PadTimestamp(span.text, span.pad)
		if err == nil {
			_, err = cdx.ParseTimestamp(full, span.pad)
		}
		if err != nil {
			return fault("%s: %w", span.what, err)
		}
		*span.into = full
	}
	if c.to != "" && c.from > c.to {
		return fault("from %s is after to %s", r.From, r.To)
	}
	if c.end != "" && c.begin > c.end {
		return fault("begin %s is after end %s", r.Begin, r.End)
	}
	var err error
	if c.newer, err = parsePeriodOf("newer", r.Newer); err != nil {
		return nil, err
	}
	if c.older, err = parsePeriodOf("older", r.Older); err != nil {
		return nil, err
	}
	if c.role = r.Role.rank(); c.role < 0 {
		return fault("no such role %.40q: want reader, curator, operator or admin", string(r.Role))
	}
	if len(r.Addresses) > MaxAddresses {
		return fault("%d addresses: at most %d", len(r.Addresses), MaxAddresses)
	}
	for _, text := range r.Addresses {
		prefix, err := ParseAddresses(text)
		if err != nil {
			return nil, err
		}
		c.addresses = append(c.addresses, prefix)
	}
	if len(r.Message) > MaxMessage {
		return fault("message of %d bytes: at most %d", len(r.Message), MaxMessage)
	}
	return c, nil
}

// unkeyed says why no key begins with the prefix; empty if one may.
func unkeyed(prefix string) string {
	if strings.HasPrefix(prefix, "filedesc:") { // the only keys that are as they were written
		return ""
	}
	if strings.HasPrefix(prefix, "http:/") || strings.HasPrefix(prefix, "https:/") {
		return "want it as com,example)/path, or give it as a URL"
	}
	for i := range len(prefix) {
		switch c := prefix[i]; {
		case c <= ' ' || c >= 0x7f:
			return "keys have neither spaces nor letters beyond ASCII"
		case 'A' <= c && c <= 'Z' && !strings.Contains(prefix[max(0, i-2):i], "%"): // %7F may be in a host
			return "keys are in lower case"
		}
	}
	return ""
}

// ParseAddresses reads an address or a range of them, such as 192.0.2.7 or 10.0.0.0/8; the error wraps ErrRule.
func ParseAddresses(text string) (netip.Prefix, error) {
	if one, err := netip.ParseAddr(text); err == nil && one.Zone() == "" {
		one = one.Unmap()
		return netip.PrefixFrom(one, one.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: address %.60q: want one such as 192.0.2.7, or a range such as "+
			"192.0.2.0/24", ErrRule, text)
	}
	if a := prefix.Addr(); a.Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%w: range %.60q: write it as a range of IPv4 or of IPv6", ErrRule, text)
		}
		prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
	}
	if prefix.Masked() != prefix {
		return netip.Prefix{}, fmt.Errorf("%w: range %.60q has bits beyond its length: want %s", ErrRule, text,
			prefix.Masked())
	}
	return prefix, nil
}

func known(d Decision) bool { return d == Allow || d == Block || d == Exclude }
