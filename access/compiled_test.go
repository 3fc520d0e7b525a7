package access

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"holdfast/cdx"
)

// TestTheMostSpecificRuleDecides gives each pair of rules in both orders.
func TestTheMostSpecificRuleDecides(t *testing.T) {
	t.Parallel()
	who := Who{Role: Curator, Address: netip.MustParseAddr("10.1.2.3"), At: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	const key, timestamp = "com,example)/a/b", "20260501000000"
	wide := Rule{Prefix: "com,example", Access: Exclude}
	for name, tt := range map[string]struct {
		a, b Rule
		want Decision
	}{
		"the longer prefix":        {wide, Rule{Prefix: "com,example)/a", Access: Allow}, Allow},
		"the very URL":             {Rule{Prefix: key, Access: Exclude}, Rule{Prefix: key, Exact: true, Access: Allow}, Allow},
		"all, and a host":          {Rule{Access: Block}, Rule{Prefix: "com,", Access: Allow}, Allow},
		"an address":               {wide, Rule{Prefix: "com,example", Addresses: []string{"10.0.0.0/8"}, Access: Allow}, Allow},
		"the narrower range":       {Rule{Addresses: []string{"10.0.0.0/8"}, Access: Block}, Rule{Addresses: []string{"10.1.0.0/16"}, Access: Allow}, Allow},
		"a role":                   {wide, Rule{Prefix: "com,example", Role: Reader, Access: Allow}, Allow},
		"the higher role":          {Rule{Role: Reader, Access: Block}, Rule{Role: Curator, Access: Allow}, Allow},
		"a role that is too high":  {Rule{Access: Block}, Rule{Role: Operator, Access: Allow}, Block},
		"another address":          {Rule{Access: Block}, Rule{Addresses: []string{"192.0.2.0/24"}, Access: Allow}, Block},
		"a date":                   {wide, Rule{Prefix: "com,example", From: "2026", Access: Allow}, Allow},
		"another date":             {wide, Rule{Prefix: "com,example", To: "2025", Access: Allow}, Exclude},
		"of equals the strictest":  {Rule{Access: Block}, Rule{Access: Exclude}, Exclude},
		"of equals the stricter":   {Rule{Access: Block}, Rule{Access: Allow}, Block},
		"an embargo":               {Rule{Access: Allow}, Rule{Newer: "1y", Access: Block}, Block},
		"an embargo that is over":  {Rule{Access: Allow}, Rule{Newer: "2w", Access: Block}, Allow},
		"old ones":                 {Rule{Access: Allow}, Rule{Older: "2w", Access: Block}, Block},
		"none that old":            {Rule{Access: Allow}, Rule{Older: "1y", Access: Block}, Allow},
		"not yet in force":         {Rule{Access: Allow}, Rule{Prefix: key, Begin: "202607", Access: Block}, Allow},
		"in force on its last day": {Rule{Access: Allow}, Rule{Prefix: key, End: "20260601", Access: Block}, Block},
		"in force no more":         {Rule{Access: Allow}, Rule{Prefix: key, End: "20260531", Access: Block}, Allow},
		"another host":             {Rule{Access: Allow}, Rule{Prefix: "com,exam", Access: Block}, Allow},
		"a longer name beside":     {Rule{Prefix: "com,example", Access: Allow}, Rule{Prefix: "com,example)/a/bc", Access: Block}, Allow},
	} {
		for _, rules := range [][]Rule{{tt.a, tt.b}, {tt.b, tt.a}} {
			p := Policy{Rules: rules}
			if err := p.Check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := p.Compile().For(who).Decide(key, timestamp).Access; got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	}
}

// TestWhatDecidesIsNamed looks at the rule's place in the list.
func TestWhatDecidesIsNamed(t *testing.T) {
	t.Parallel()
	s := Policy{Rules: []Rule{{Access: Block}, {Prefix: "org,", Access: Allow, Message: "free"}}}.Compile().For(Who{})
	if v := s.Decide("org,example)/", "20260101000000"); v.Rule != 1 || v.Message != "free" {
		t.Errorf("%+v", v)
	}
	if v := (Policy{}).Compile().For(Who{}).Decide("org,example)/", "20260101000000"); v.Rule != -1 || v.Access != Allow {
		t.Errorf("%+v", v)
	}
}

// TestNoSightExcludesEverything is for a request of which nobody has decided what it may see.
func TestNoSightExcludesEverything(t *testing.T) {
	t.Parallel()
	var none *Sight
	c := cdx.Capture{Key: "com,example)/", Timestamp: "20260101000000"}
	if (Listed{none}).Passes(&c) || (Open{none}).Passes(&c) || !none.Closes("a", "b") || !none.Governed("a") {
		t.Error("a Sight that is not there lets something pass")
	}
	var unset *Compiled
	if unset.For(Who{}) != nil || !unset.Closing() {
		t.Error("a policy that is not there lets somebody see something")
	}
}

// TestRangesThatNoRuleCloses compares Closes with the decisions about all keys.
func TestRangesThatNoRuleCloses(t *testing.T) {
	t.Parallel()
	p := Policy{Rules: []Rule{{Prefix: "com,example", Access: Block}, {Prefix: "com,example)/open", Access: Allow},
		{Prefix: "org,a)/x", Exact: true, Access: Exclude}, {Prefix: "net,", Access: Allow}}}.Compile()
	s := p.For(Who{})
	for _, tt := range []struct {
		low, high string
		want      bool
	}{
		{"com,example)/", "com,example)/\x00", true}, {"com,example,sub)/a", "com,example,sub)/a\x00", true},
		{"com,elsewhere)/", "com,elsewhere)/\x00", false}, {"com,a", "com,b", false}, {"com,", "com-", true},
		{"org,a)/", "org,a*", true}, {"org,a)/x", "org,a)/x\x00", true}, {"org,a)/xy", "org,a)/xy\x00", true},
		{"net,a)/", "net,a*", false}, {"", "z", true}, {"org,b)/", "org,b*", false},
	} {
		if got := s.Closes(tt.low, tt.high); got != tt.want {
			t.Errorf("Closes(%q, %q) = %t", tt.low, tt.high, got)
		}
	}
	if !(Policy{Default: Block}).Compile().For(Who{}).Closes("a", "b") {
		t.Error("a default that blocks closes nothing")
	}
}

// TestBadRulesAreRefused shows that each fault is named.
func TestBadRulesAreRefused(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{
		{}, {Access: "forbid"}, {Access: Block, From: "soon"}, {Access: Block, From: "20261301"},
		{Access: Block, From: "2027", To: "2026"}, {Access: Block, Begin: "2027", End: "2026"}, {Access: Block, Newer: "1"},
		{Access: Block, Newer: "1x"}, {Access: Block, Older: "0d"}, {Access: Block, Older: "3d1y"}, {Access: Block, Newer: "99999y"},
		{Access: Block, Role: "boss"}, {Access: Block, Addresses: []string{"10.0.0.1/8"}},
		{Access: Block, Addresses: []string{"everywhere"}}, {Access: Block, Exact: true}, {Access: Block, Prefix: "a\x00b"},
		{Access: Block, Message: string(make([]byte, MaxMessage+1))},
	} {
		if err := r.Check(); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"2y6m": "2y6m", "3w": "21d", "1m2w1d": "1m15d"} {
		if p, err := ParsePeriod(text); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v", text, p, err)
		}
	}
}

// manyRules are n rules: most of a path, some of a host, some with conditions.
func manyRules(n int) Policy {
	var p Policy
	for i := range n {
		r := Rule{Prefix: fmt.Sprintf("com,site%d)/path/%d", i%5000, i), Access: Exclude}
		switch i % 10 {
		case 0:
			r.Prefix = fmt.Sprintf("com,site%d", i)
		case 1:
			r.Newer = "1y"
		case 2:
			r.Addresses = []string{"10.0.0.0/8"}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

// BenchmarkDecide is one decision with different numbers of rules.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{0, 10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := manyRules(n).Compile().For(Who{Address: netip.MustParseAddr("192.0.2.1"), At: time.Now()})
			i := 0
			for b.Loop() {
				i++
				s.Decide(fmt.Sprintf("com,site%d)/path/%d/more", i%5000, i%100_000), "20200101000000")
			}
		})
	}
}

// BenchmarkCompile is what a change of the rules costs a node.
func BenchmarkCompile(b *testing.B) {
	p := manyRules(100_000)
	for b.Loop() {
		p.Compile()
	}
}

// TestWhatIsRecordedBesideAPageIsClosedWithIt: its picture and text, and the address of its host.
func TestWhatIsRecordedBesideAPageIsClosedWithIt(t *testing.T) {
	t.Parallel()
	s := Policy{Rules: []Rule{{Prefix: "org,example", Access: Exclude}, {Prefix: "org,example)/open", Access: Allow}, {Prefix: "urn:fullpage:", Access: Block}}}.Compile().For(Who{})
	for url, want := range map[string]Decision{
		"urn:text:http://www.Example.org/Secret?b=1&a=2": Exclude, "urn:text:https://example.org/open": Allow, "screenshot:http://example.org/": Exclude,
		"dns:www.example.org": Exclude, "dns:example.com": Allow, "urn:text:http://example.com/": Allow, "urn:fullPage:http://example.org/open": Block,
		"urn:fullPage:http://example.org/": Exclude, "http://example.com/?url=http://example.org/": Allow, "http://localhost:8080/http://example.org/": Allow,
		"urn:uuid:1": Allow, "urn:pageinfo:https://example.org/share?u=http://example.com/": Exclude,
		"urn:pageinfo:https://example.com/share?u=http://example.org/": Allow, "youtube-dl:0001:https://example.org/film": Exclude,
		"urn:text:ftp://example.org/": Exclude, "dns:192.0.2.1": Allow, "http://localhost:8080/": Allow,
	} {
		key, err := cdx.Key(url)
		if err != nil {
			t.Fatal(err)
		}
		c := cdx.Capture{Key: key, Timestamp: "20260101000000"}
		got := s.Decide(key, c.Timestamp).Access
		if got != want {
			t.Errorf("%s (%s): %s, want %s", url, key, got, want)
		}
		for _, query := range []cdx.Query{{URL: url, Gate: Open{s}}, {URL: url, Match: cdx.Prefix, Gate: Open{s}}} {
			plan, err := query.Compile()
			if err != nil {
				t.Fatal(err)
			}
			if passes := plan.Match(&c); passes && want != Allow || !passes && want == Allow && query.Match == "" {
				t.Errorf("%s, %q: a query passes it: %t", url, query.Match, passes)
			}
		}
	}
	plan, err := cdx.Query{URL: "urn:", Match: cdx.Prefix, Gate: Listed{s}}.Compile()
	if err != nil || plan.Match(&cdx.Capture{Key: "urn:text:http://example.org/x", Timestamp: "20260101000000"}) {
		t.Errorf("a query for all texts passes one that is excluded: %v", err)
	}
}
