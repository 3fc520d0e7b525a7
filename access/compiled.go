package access

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
)

// condition is what a rule asks of capture and reader beside the key, made ready.
type condition struct {
	from, to, begin, end string // 14 digits; empty: open
	newer, older         Period // zero: any age
	role                 int
	addresses            []netip.Prefix
	broken               bool // the rule cannot be used, and closes what it may concern
}

// Compiled is a policy made ready for many questions. A question costs about the same with a hundred thousand rules as
// with ten. It does not change, and may be used concurrently.
type Compiled struct {
	places  []place  // in the order of their prefixes
	search  []string // these prefixes, beside each other in memory
	coarse  []string // each sixty-fourth of them
	closing []int    // how many of the places before each one have a rule that closes something
	other   Decision // for what no rule applies to
}

// place has all rules with one prefix.
type place struct {
	prefix string
	parent int // the place with the longest other prefix that this one begins with; -1: none
	rules  []placed
}

// placed is a rule at its place, the most specific first.
type placed struct {
	rule Rule
	condition
	at int // in the policy
}

// Compile makes the policy ready. A rule that Check refuses excludes everything that it may concern: a broken policy
// never opens anything.
func (p Policy) Compile() *Compiled {
	c := &Compiled{other: p.Default}
	if p.Default == "" {
		c.other = Allow
	} else if !known(p.Default) {
		c.other = Exclude
	}
	all := make([]placed, 0, len(p.Rules))
	for i, rule := range p.Rules {
		one := placed{rule: rule, at: i}
		if ready, err := rule.compile(); err != nil {
			one.rule.Access, one.rule.Message, one.condition = Exclude, "", condition{broken: true}
		} else {
			one.condition = *ready
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(strings.Compare(a.rule.Prefix, b.rule.Prefix), a.before(&b))
	})
	var above []int // the places whose prefixes the current one begins with
	c.closing = append(c.closing, 0)
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && all[end].rule.Prefix == all[start].rule.Prefix {
			end++
		}
		one := place{prefix: all[start].rule.Prefix, parent: -1, rules: all[start:end:end]}
		for len(above) > 0 && !strings.HasPrefix(one.prefix, c.places[above[len(above)-1]].prefix) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			one.parent = above[len(above)-1]
		}
		above = append(above, len(c.places))
		c.places = append(c.places, one)
		n := c.closing[len(c.closing)-1]
		if one.closes() {
			n++
		}
		c.closing = append(c.closing, n)
		start = end
	}
	c.layOut()
	return c
}

// perCoarse is how many prefixes stand behind one of the coarse ones.
const perCoarse = 64

// layOut copies the prefixes to where a search finds them with few misses of the processor's caches: most of what a
// search reads is in the coarse list, which is small, and the rest of it lies together.
func (c *Compiled) layOut() {
	var all, few strings.Builder
	for i := range c.places {
		all.WriteString(c.places[i].prefix)
		if i%perCoarse == 0 {
			few.WriteString(c.places[i].prefix)
		}
	}
	together, apart := all.String(), few.String()
	for i := range c.places {
		n := len(c.places[i].prefix)
		c.search, together = append(c.search, together[:n]), together[n:]
		if i%perCoarse == 0 {
			c.coarse, apart = append(c.coarse, apart[:n]), apart[n:]
		}
	}
}

// before orders rules with one prefix: the most specific first, of equals the strictest.
func (p *placed) before(o *placed) int {
	return cmp.Or(
		-compareBool(p.broken, o.broken),
		-compareBool(p.rule.Exact, o.rule.Exact),
		-cmp.Compare(p.narrow(), o.narrow()),
		-cmp.Compare(p.role, o.role),
		-compareBool(p.dated(), o.dated()),
		-cmp.Compare(strictness(p.rule.Access), strictness(o.rule.Access)),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// narrow is how many bits of an address the widest range of the rule names, of those of IPv6; 0 without a range.
func (p *placed) narrow() int {
	least := 0
	for i, prefix := range p.addresses {
		bits := prefix.Bits()
		if prefix.Addr().Is4() {
			bits += 96
		}
		if bits++; i == 0 || bits < least { // one more than none
			least = bits
		}
	}
	return least
}

// dated reports whether the rule asks for the capture's date or age.
func (p *placed) dated() bool {
	return p.from != "" || p.to != "" || p.newer != (Period{}) || p.older != (Period{})
}

func strictness(d Decision) int {
	switch d {
	case Allow:
		return 0
	case Block:
		return 1
	}
	return 2
}

func (p *place) closes() bool {
	return slices.ContainsFunc(p.rules, func(r placed) bool { return r.rule.Access != Allow })
}

// after returns how many places have a prefix that is not after the key.
func (c *Compiled) after(key string) int {
	block := notAfter(c.coarse, key)
	if block == 0 {
		return 0
	}
	low := (block - 1) * perCoarse
	return low + notAfter(c.search[low:min(low+perCoarse, len(c.search))], key)
}

// notAfter returns how many of the ordered prefixes are not after the key.
func notAfter(prefixes []string, key string) int {
	low, high := 0, len(prefixes)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if prefixes[mid] <= key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// find returns the place with the longest prefix that the key begins with; -1: none.
func (c *Compiled) find(key string) int {
	at := c.after(key) - 1
	for at >= 0 && !strings.HasPrefix(key, c.places[at].prefix) {
		at = c.places[at].parent
	}
	return at
}

// Rules returns how many rules there are.
func (c *Compiled) Rules() (n int) {
	for i := range c.places {
		n += len(c.places[i].rules)
	}
	return n
}

// Closing reports whether anything at all may be closed to anybody.
func (c *Compiled) Closing() bool {
	return c == nil || c.other != Allow || c.closing[len(c.places)] > 0
}

// closes reports whether a rule may close something with a key from low up to, not including, high.
func (c *Compiled) closes(low, high string) bool {
	if c.other != Allow {
		return true
	}
	if foreign(low) || !strings.ContainsAny(low, ",)") { // what such keys are about may be anywhere
		return c.Closing()
	}
	if from, to := c.after(low), c.after(high); to > from && c.closing[to] > c.closing[from] {
		return true
	}
	for at := c.find(low); at >= 0; at = c.places[at].parent {
		if c.closing[at+1] > c.closing[at] {
			return true
		}
	}
	return false
}

// Who is somebody who asks, and when.
type Who struct {
	Role    Role
	Address netip.Addr // the zero one is not known: nothing is opened to it, and all is closed that might be
	At      time.Time
}

// Verdict is the decision about a capture.
type Verdict struct {
	Access  Decision
	Message string // of the deciding rule
	Rule    int    // its place in the policy's list; -1: no rule applied
}

// Sight is the policy for somebody who asks. A nil Sight excludes everything. It may be used concurrently.
type Sight struct {
	policy *Compiled
	rank   int
	who    Who
	now    string // 14 digits
}

// For returns what the policy lets somebody see.
func (c *Compiled) For(who Who) *Sight {
	if c == nil {
		return nil
	}
	who.Address = who.Address.Unmap().WithZone("")
	return &Sight{policy: c, rank: max(who.Role.rank(), 0), who: who, now: cdx.Timestamp(who.At)}
}

// Decide returns the decision about the capture of a key at a time (14 digits).
func (s *Sight) Decide(key, timestamp string) Verdict {
	if s == nil {
		return Verdict{Access: Exclude, Rule: -1}
	}
	if inner, ok := embedded(key); ok {
		return s.decideForeign(key, inner, timestamp)
	}
	return s.decide(s.policy.find(key), key, timestamp)
}

// decide is Decide, of a key whose place is known.
func (s *Sight) decide(at int, key, timestamp string) Verdict {
	for ; at >= 0; at = s.policy.places[at].parent {
		rules := s.policy.places[at].rules
		for i := range rules {
			if r := &rules[i]; r.rule.covers(key) && s.holds(r, timestamp) {
				return Verdict{Access: r.rule.Access, Message: r.rule.Message, Rule: r.at}
			}
		}
	}
	return Verdict{Access: s.policy.other, Rule: -1}
}

// holds reports whether the rule's conditions about capture and reader are met.
func (s *Sight) holds(r *placed, timestamp string) bool {
	c := &r.condition
	if c.broken {
		return true
	}
	if timestamp < c.from || c.to != "" && timestamp > c.to || s.now < c.begin || c.end != "" && s.now > c.end ||
		s.rank < c.role {
		return false
	}
	if c.newer != (Period{}) && timestamp < cdx.Timestamp(c.newer.before(s.who.At)) {
		return false
	}
	if c.older != (Period{}) && timestamp >= cdx.Timestamp(c.older.before(s.who.At)) {
		return false
	}
	if !s.who.Address.IsValid() && len(c.addresses) > 0 {
		return r.rule.Access != Allow
	}
	return len(c.addresses) == 0 || slices.ContainsFunc(c.addresses, func(p netip.Prefix) bool {
		return p.Contains(s.who.Address)
	})
}

// Includes reports whether who asks has the role, or a higher one.
func (s *Sight) Includes(role Role) bool {
	return s != nil && role.rank() >= 0 && s.rank >= role.rank()
}

// Governed reports whether any rule is about the key, whoever asks and whatever it says: what is said of it is not for
// caches.
func (s *Sight) Governed(key string) bool {
	return s == nil || s.policy.other != Allow || s.policy.find(key) >= 0 || foreign(key) && s.policy.Closing()
}

// Closes reports whether a rule may close something with a key from low up to, not including, high.
func (s *Sight) Closes(low, high string) bool { return s == nil || s.policy.closes(low, high) }

// within returns the gate for captures with keys from low up to, not including, high; nil if none is kept back.
func (s *Sight) within(low, high string, passes func(Decision) bool, whole cdx.Gate) cdx.Gate {
	switch {
	case s == nil:
		return whole
	case high != low+"\x00" || foreign(low):
		if s.policy.closes(low, high) {
			return whole
		}
		return nil
	}
	one := single{Sight: s, key: low, at: s.policy.find(low), passes: passes}
	closing := s.policy.other != Allow
	for at := one.at; at >= 0 && !closing; at = s.policy.places[at].parent {
		closing = s.policy.closing[at+1] > s.policy.closing[at]
	}
	if !closing {
		return nil
	}
	return one
}

// single is the gate for one key, whose place is known.
type single struct {
	*Sight
	key    string
	at     int
	passes func(Decision) bool
}

// Within implements cdx.Gate.
func (g single) Within(low, high string) cdx.Gate { return g.within(low, high, g.passes, g) }

// Passes implements cdx.Gate.
func (g single) Passes(c *cdx.Capture) bool {
	if c.Key != g.key {
		return g.passes(g.Decide(c.Key, c.Timestamp).Access)
	}
	return g.passes(g.decide(g.at, c.Key, c.Timestamp).Access)
}

// Listed lets pass what the reader may know of: what is not excluded.
type Listed struct{ *Sight }

func listed(d Decision) bool { return d != Exclude }

// Within implements cdx.Gate.
func (l Listed) Within(low, high string) cdx.Gate { return l.within(low, high, listed, l) }

// Passes implements cdx.Gate.
func (l Listed) Passes(c *cdx.Capture) bool { return listed(l.Decide(c.Key, c.Timestamp).Access) }

// Open lets pass what the reader may see: what is allowed.
type Open struct{ *Sight }

func opened(d Decision) bool { return d == Allow }

// Within implements cdx.Gate.
func (o Open) Within(low, high string) cdx.Gate { return o.within(low, high, opened, o) }

// Passes implements cdx.Gate.
func (o Open) Passes(c *cdx.Capture) bool { return opened(o.Decide(c.Key, c.Timestamp).Access) }

// InForce is the policy by which somebody is answered.
type InForce struct {
	*Compiled
	Numbers []uint64 // of the rules, in the order of the policy's list
	// Unconfirmed is since when nobody could say whether this is still the agreed policy; zero: it is.
	Unconfirmed time.Time
}
