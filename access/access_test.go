package access

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"holdfast/cdx"
)

// decide returns what a policy says to anybody, and the message.
func decide(p Policy, key, timestamp string) (Decision, string) {
	v := p.Compile().For(Who{At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}).Decide(key, timestamp)
	return v.Access, v.Message
}

func TestDecide(t *testing.T) {
	policy := Policy{Rules: []Rule{
		{Prefix: "com,example)/open", Access: Allow},
		{Prefix: "com,example)/one", Exact: true, Access: Exclude},
		{Prefix: "com,example", From: "2020", To: "202106", Access: Block, Message: "contract"},
		{Prefix: "com,example", From: "2025", Access: Exclude},
		{Prefix: "org,", Access: Block},
	}}
	for _, tt := range []struct {
		url, timestamp string
		want           Decision
	}{
		{"http://example.com/open/x", "20200101000000", Allow},
		{"http://example.com/one", "20100101000000", Exclude},
		{"http://example.com/one/two", "20100101000000", Allow},
		{"http://example.com/", "20191231235959", Allow},
		{"http://example.com/", "20200101000000", Block},
		{"http://example.com/", "20210630235959", Block},
		{"http://example.com/", "20210701000000", Allow},
		{"http://www9.sub.example.com/", "20250101000000", Exclude},
		{"http://example.com:8080/", "20250101000000", Exclude},
		{"http://examples.com/", "20250101000000", Allow},
		{"http://any.org/", "20250101000000", Block},
	} {
		key, err := cdx.Key(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := decide(policy, key, tt.timestamp); got != tt.want {
			t.Errorf("Decide(%s, %s) = %s, want %s", key, tt.timestamp, got, tt.want)
		}
	}
	if _, reason := decide(policy, "com,example)/", "20200101000000"); reason != "contract" {
		t.Errorf("reason %q", reason)
	}
}

func TestDefaults(t *testing.T) {
	if got, _ := decide(Policy{}, "com,example)/", "20200101000000"); got != Allow {
		t.Errorf("the zero policy says %s", got)
	}
	if got, _ := decide(Policy{Default: Block}, "com,example)/", "20200101000000"); got != Block {
		t.Errorf("the default was not used: %s", got)
	}
	for _, broken := range []Policy{{Default: "maybe"}, {Rules: []Rule{{Access: "maybe"}}}, {Rules: []Rule{{From: "soon", Access: Allow}}}} {
		if !errors.Is(broken.Check(), ErrRule) {
			t.Errorf("%+v passes Check", broken)
		}
		if got, _ := decide(broken, "com,example)/", "20200101000000"); got != Exclude {
			t.Errorf("%+v opens: %s", broken, got)
		}
	}
}

func TestRuleFor(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    Rule
	}{
		{"*.example.com", Rule{Prefix: "com,example", Access: Block}},
		{"*.dk", Rule{Prefix: "dk", Access: Block}},
		{"http://example.com/a*", Rule{Prefix: "com,example)/a", Access: Block}},
		{"http://example.com/a?b=1&*", Rule{Prefix: "com,example)/a?b=1&", Access: Block}},
		{"http://example.com/a?&*", Rule{Prefix: "com,example)/a?&", Access: Block}},
		{"http://example.com/a?c=1&b=1*", Rule{Prefix: "com,example)/a?b=1&c=1", Access: Block}},
		{"http://www.example.com/a", Rule{Prefix: "com,example)/a", Exact: true, Access: Block}},
	} {
		if got, err := RuleFor(tt.pattern, Block); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("RuleFor(%q) = %+v, %v", tt.pattern, got, err)
		}
	}
	if _, err := RuleFor("", Block); !errors.Is(err, ErrRule) {
		t.Errorf("an empty pattern: %v", err)
	}
	rule, _ := RuleFor("*.dk", Block)
	if got, _ := decide(Policy{Rules: []Rule{rule}}, "dk,netarkivet)/", "20200101000000"); got != Block {
		t.Errorf("a top level domain's rule says %s", got)
	}
}

// TestARuleIsAboutSomething: a prefix that no key begins with is a mistake, by which what was to be closed stays open.
func TestARuleIsAboutSomething(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"http://example.com/", "https://(com,example,)/", "http:/", "com,Example)/", "com,example)/A", "com,example)/a b",
		"com,ex\u00e4mple", " com,example"} {
		if err := (Rule{Prefix: prefix, Access: Block}).Check(); !errors.Is(err, ErrRule) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	for _, prefix := range []string{"", "com,example", "com,", "http)/", "http:8080)/", "com,example:8080)/", "dns:", "urn:text:http://example.org/",
		"filedesc://IA-1.arc", "com,example)/a?b=%c3%a4", "127.0.0.1)/", "2001:db8::1)/", "com,a%7Fb)/"} {
		if err := (Rule{Prefix: prefix, Access: Block}).Check(); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	for _, url := range []string{"http://Example.COM/A%20b/\u00e4?X=Y", "http://ex\u00e4mple.de/*", "*.Example.com", "http://[2001:DB8::1]/", "http://a.example/~x!*"} {
		if _, err := RuleFor(url, Block); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
