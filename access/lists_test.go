package access

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestACLJ reads each kind of line, and writes what it read.
func TestACLJ(t *testing.T) {
	t.Parallel()
	const file = `org,example, - {"access": "exclude", "newer": {"years": 1, "weeks": 2}}
# a note
org,example)/a### - {"access": "allow_ignore_embargo", "url": "http://example.org/a"}
org,example)/ - {"access": "block", "before": "2015", "user": "staff"}

*, - {"access": "allow", "after": "20200229"}
`
	rules, err := ParseACLJ(strings.NewReader(file), map[string]Role{"staff": Curator})
	want := []Rule{{Prefix: "org,example,", Access: Exclude, Newer: "1y14d"}, {Prefix: "org,example)/a", Exact: true, Access: Allow}, {Prefix: "org,example)/", Access: Block, To: "20141231235959", Role: Curator},
		{Access: Allow, From: "20200301000000"}}
	if err != nil || !reflect.DeepEqual(rules, want) {
		t.Fatalf("%+v, %v", rules, err)
	}
	out, err := FormatACLJ(rules, map[Role]string{Curator: "staff"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseACLJ(strings.NewReader(string(out)), map[string]Role{"staff": Curator})
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("%+v, %v:\n%s", again, err, out)
	}
	if !strings.HasSuffix(string(out), "*, - {\"access\":\"allow\",\"after\":\"20200229235959\"}\n") {
		t.Errorf("what is about everything is not last:\n%s", out)
	}
	host, err := FormatACLJ([]Rule{{Prefix: "org,example", Access: Block}}, nil)
	if err != nil || strings.Count(string(host), "org,example") != 3 {
		t.Errorf("%s, %v", host, err)
	}
	if _, err := FormatACLJ([]Rule{{Access: Block}, {Access: Block, End: "2027"}}, nil); !errors.Is(err, ErrRule) || !strings.Contains(err.Error(), "rule 2") {
		t.Errorf("what pywb cannot say: %v", err)
	}
}

// TestBadACLJ names the line, and opens nothing.
func TestBadACLJ(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"org,example)/", "org,example)/ - {", `org,example)/ - {"access":"forbid"}`, `org,exam - {"access":"block"}`,
		`org - {"access":"block"}`, `org,a)/ - {"access":"block","hosts":["a"]}`, `org,a)/ - {"access":"block","user":"staff"}`,
		`org,a)/ - {"access":"block","before":"x"}`, `org,a)/ - {"access":"block","newer":{}}`, `org,a)/ - {"access":"block","newer":{"days":-3}}`,
		`org,a)/ - {"access":"block"} more`, "### - {\"access\":\"block\"}", strings.Repeat("a", maxLine+1)} {
		rules, err := ParseACLJ(strings.NewReader("*, - {\"access\":\"allow\"}\n"+line+"\n"), nil)
		if !errors.Is(err, ErrRule) || !strings.HasPrefix(err.Error(), "line 2: ") || rules != nil {
			t.Errorf("%.60s: %+v, %v", line, rules, err)
		}
	}
}

// TestOutback reads a list as OutbackCDX answers it.
func TestOutback(t *testing.T) {
	t.Parallel()
	const list = `[{"id": 1, "policyId": 2, "urlPatterns": ["*.example.org", "http://a.org/x*"], "captured": {"start": "2010-01-01T00:00:00Z", "end": 1400000000000},
		"period": {"years": 1, "months": 0, "days": 3}, "publicMessage": "closed", "privateComment": "case 7", "reason": "court", "pinned": true, "created": "x", "enabled": true},
		{"id": 2, "policyId": "off", "urlPatterns": ["*"], "enabled": false},
		{"id": 3, "policyId": "staff", "urlPatterns": ["*"], "accessed": {"end": "2027-01-01"}, "period": null}]`
	rules, off, err := ParseOutback(strings.NewReader(list), map[string]Decision{"2": Block, "staff": Exclude})
	one := Rule{Prefix: "org,example", Access: Block, From: "20100101000000", To: "20140513165320", Newer: "1y3d", Message: "closed"}
	two := one
	two.Prefix = "org,a)/x"
	want := []Imported{{one, "court: case 7"}, {two, "court: case 7"}, {Rule{Access: Exclude, End: "20270101000000"}, ""}}
	if err != nil || off != 1 || !reflect.DeepEqual(rules, want) {
		t.Errorf("%+v, %d, %v", rules, off, err)
	}
	for _, bad := range []string{`{}`, `[{"policyId":"x","urlPatterns":["*"]}]`, `[{"policyId":"2"}]`, `[{"policyId":"2","urlPatterns":["http://"]}]`,
		`[{"policyId":"2","urlPatterns":["*"],"captured":{"start":"soon"}}]`, `[{"policyId":"2","urlPatterns":["*"],"hosts":[]}]`,
		`[{"policyId":"2","urlPatterns":["*"],"period":{"days":-1}}]`} {
		if rules, _, err := ParseOutback(strings.NewReader(bad), map[string]Decision{"2": Block}); !errors.Is(err, ErrRule) || rules != nil {
			t.Errorf("%s: %+v, %v", bad, rules, err)
		}
	}
}
