package scope

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/cdx"
	"holdfast/harvest"
)

func rule(t testing.TB, text string) harvest.Rule {
	t.Helper()
	var r harvest.Rule
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(text, err)
	}
	return r
}

func fetched() *Subject {
	return &Subject{URL: "https://www.example.org/a/b.PDF?x=1", Path: "LLE", Via: "http://blog.example.net/post", Source: "http://seed.example/", Queue: "www.example.org",
		Fetched: true, Status: 200, ContentType: "Application/PDF; x=y", Length: 5000, Received: true, Size: 4000, Digest: "sha1:ABC",
		Earlier: func() (string, string) { return "", "Sun, 01 Nov 2026 12:00:00 GMT" }, IP: netip.MustParseAddr("192.0.2.7"),
		Header: func(name string) string {
			return map[string]string{"server": "nginx", "last-modified": "Sun, 01 Nov 2026 12:00:00 GMT"}[strings.ToLower(name)]
		}}
}

// Each rule where it speaks and where it does not. The subject is that of fetched.
func TestRules(t *testing.T) {
	tests := []struct {
		rule string
		want Decision
	}{
		{`{"rule":"accept"}`, Accept},
		{`{"rule":"reject"}`, Reject},
		{`{"rule":"on_domains","values":["example.org"]}`, Accept},
		{`{"rule":"on_domains","values":["http://www.example.org/x"]}`, Accept},
		{`{"rule":"on_domains","values":["http://(org,example,www,)/"],"decision":"reject"}`, Reject},
		{`{"rule":"on_domains","values":["ample.org","b.example.org"]}`, Pass},
		{`{"rule":"not_on_domains","values":["example.com"]}`, Accept},
		{`{"rule":"not_on_domains","values":["example.org"]}`, Pass},
		{`{"rule":"on_hosts","values":["www.example.org"]}`, Accept},
		{`{"rule":"on_hosts","values":["example.org","www.example.org:81"]}`, Pass},
		{`{"rule":"not_on_hosts","values":["example.org"],"decision":"reject"}`, Reject},
		{`{"rule":"scheme_not_in_set","values":["http"]}`, Reject},
		{`{"rule":"scheme_not_in_set"}`, Pass},
		{`{"rule":"scheme_in_set","decision":"accept"}`, Accept},
		{`{"rule":"ip_address_set","values":["192.0.2.0/24"]}`, Reject},
		{`{"rule":"ip_address_set","values":["192.0.2.8","2001:db8::/32"]}`, Pass},
		{`{"rule":"ip_address_set","values":["::ffff:192.0.2.0/120"]}`, Reject},
		{`{"rule":"not_ip_address_set","values":["10.0.0.0/8"]}`, Reject},
		{`{"rule":"class_key_matches_regex","values":["www\\..*"]}`, Reject},
		{`{"rule":"class_key_matches_regex","values":["www"]}`, Pass},
		{`{"rule":"surt_prefixed","values":["http://(org,example,"]}`, Accept},
		{`{"rule":"surt_prefixed","values":["+http://(org,example,","-http://(org,example,www,)/a"]}`, Reject},
		{`{"rule":"surt_prefixed","values":["-http://(org,example,","https://www.example.org/a/x"]}`, Accept},
		{`{"rule":"surt_prefixed","values":["http://example.org/"]}`, Pass},
		{`{"rule":"surt_prefixed","values":["http://example.org"]}`, Accept},
		{`{"rule":"not_surt_prefixed","values":["http://(com,"]}`, Reject},
		{`{"rule":"not_surt_prefixed","values":["http://(org,"]}`, Pass},
		{`{"rule":"not_surt_prefixed","decision":"reject","values":["http://www.example.org/a/x"]}`, Pass},
		{`{"rule":"not_surt_prefixed","decision":"accept","values":["http://www.example.org/a/x"]}`, Accept},
		{`{"rule":"surt_prefixed","decision":"reject","values":["http://www.example.org/a/x"]}`, Pass},
		{`{"rule":"via_not_surt_prefixed","decision":"reject","values":["http://blog.example.net/about"]}`, Pass},
		{`{"rule":"via_surt_prefixed","values":["http://(net,example,"]}`, Accept},
		{`{"rule":"via_surt_prefixed","values":["http://(org,"]}`, Pass},
		{`{"rule":"too_many_hops","max":2}`, Reject},
		{`{"rule":"too_many_hops","max":3}`, Pass},
		{`{"rule":"too_many_hops","max":2,"values":["L"]}`, Pass},
		{`{"rule":"too_many_hops"}`, Pass},
		{`{"rule":"too_many_hops","max":0}`, Reject},
		{`{"rule":"transclusion","max":0}`, Pass},
		{`{"rule":"too_many_path_segments","max":0}`, Reject},
		{`{"rule":"matches_status_code","max":0}`, Pass},
		{`{"rule":"response_content_length","max":0}`, Pass},
		{`{"rule":"resource_longer_than","max":0}`, Reject},
		{`{"rule":"transclusion"}`, Accept},
		{`{"rule":"hops_path_matches_regex","values":["L+E"]}`, Reject},
		{`{"rule":"hops_path_matches_regex","values":["L"]}`, Pass},
		{`{"rule":"hop_crosses_assignment_level_domain"}`, Reject},
		{`{"rule":"too_many_path_segments","max":1}`, Reject},
		{`{"rule":"too_many_path_segments","max":2}`, Pass},
		{`{"rule":"pathological_path"}`, Pass},
		{`{"rule":"matches_regex","values":[".*/a/.*"]}`, Reject},
		{`{"rule":"matches_regex","values":["/a/"]}`, Pass},
		{`{"rule":"not_matches_regex","values":["/a/"],"decision":"accept"}`, Accept},
		{`{"rule":"matches_list_regex","values":["x",".*b.*"]}`, Reject},
		{`{"rule":"matches_list_regex","values":["x",".*b.*"],"min":2}`, Pass},
		{`{"rule":"matches_list_regex","values":[".*a.*",".*b.*"],"min":2}`, Reject},
		{`{"rule":"matches_list_regex"}`, Pass},
		{`{"rule":"not_matches_list_regex","values":["x"]}`, Reject},
		{`{"rule":"matches_file_pattern"}`, Pass},
		{`{"rule":"matches_file_pattern","values":["custom"],"expression":".*(?i)\\.pdf\\?.*"}`, Reject},
		{`{"rule":"not_matches_file_pattern","values":["images"]}`, Reject},
		{`{"rule":"seed_accept"}`, Pass},
		{`{"rule":"prerequisite_accept"}`, Pass},
		{`{"rule":"has_via"}`, Accept},
		{`{"rule":"has_no_via"}`, Pass},
		{`{"rule":"source_seed","values":["http://seed.example/"]}`, Accept},
		{`{"rule":"not_source_seed","values":["http://seed.example/"]}`, Pass},
		{`{"rule":"fetch_status","values":["404","200"]}`, Accept},
		{`{"rule":"not_fetch_status","values":["404","200"]}`, Pass},
		{`{"rule":"fetch_status_matches_regex","values":["2.."]}`, Reject},
		{`{"rule":"fetch_status_not_matches_regex","values":["4.."]}`, Reject},
		{`{"rule":"matches_status_code","min":200,"max":299}`, Accept},
		{`{"rule":"not_matches_status_code","min":200,"max":299}`, Pass},
		{`{"rule":"content_type_matches_regex","values":["(?i)application/pdf.*"]}`, Reject},
		{`{"rule":"content_type_not_matches_regex","values":["text/.*"]}`, Reject},
		{`{"rule":"identical_digest"}`, Pass},
		{`{"rule":"not_identical_digest","decision":"accept"}`, Accept},
		{`{"rule":"same_validators"}`, Reject},
		{`{"rule":"other_validators","decision":"accept"}`, Pass},
		{`{"rule":"content_length","max":5001}`, Accept},
		{`{"rule":"content_length","max":5000}`, Reject},
		{`{"rule":"resource_longer_than","max":4999}`, Reject},
		{`{"rule":"resource_longer_than","max":5000}`, Pass},
		{`{"rule":"resource_no_longer_than","max":5000}`, Reject},
		{`{"rule":"response_content_length","min":4000,"max":4000}`, Accept},
		{`{"rule":"not_response_content_length","min":4001}`, Accept},
		{`{"rule":"expression","expression":"host == 'www.example.org' && port == 443 && scheme == 'https'"}`, Reject},
		{`{"rule":"expression","expression":"headers['Server'].startsWith('nginx') && 'server' in headers && !('x' in headers)","decision":"accept"}`, Accept},
		{`{"rule":"expression","expression":"type == 'application/pdf' && size < length && status == 200 && ip == '192.0.2.7' && digest != ''"}`, Reject},
		{`{"rule":"expression","expression":"domain == 'example.org' && path == '/a/b.PDF' && query == 'x=1' && depth == 2 && hops == 'LLE' && !seed"}`, Reject},
		{`{"rule":"expression","expression":"surt.startsWith('http://(org,example,www,)/a') && via.matches('.*blog.*') && source != queue && url != ''"}`, Reject},
		{`{"rule":"expression","expression":"1 / (status - 200) == 1"}`, Pass},
	}
	used := map[string]bool{}
	for _, tt := range tests {
		r := rule(t, tt.rule)
		used[r.Rule] = true
		rules, err := newRules(recordRules, []harvest.Rule{r}, slog.New(slog.DiscardHandler))
		if err != nil && strings.Contains(err.Error(), "decision: given none, allowed: accept or reject") {
			r.Decision, tt.want = "reject", tt.want&^Accept|(tt.want&Accept)<<1
			rules, err = newRules(recordRules, []harvest.Rule{r}, slog.New(slog.DiscardHandler))
		}
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		got, name := rules.Decide(fetched())
		if got != tt.want || got != Pass && name != "record_rules[0] "+r.Rule {
			t.Errorf("%s: %v by %q, want %v", tt.rule, got, name, tt.want)
		}
		if w := rules.steps[0].word(fetched()); len(rules.steps) != 1 || w.Decision != got || w.Why == "" {
			t.Errorf("%s: explained as %+v", tt.rule, w)
		}
		if unknown, _ := rules.Decide(&Subject{URL: "x:y"}); unknown != Pass && unknown != Accept && unknown != Reject {
			t.Errorf("%s: %v", tt.rule, unknown)
		}
	}
	for name := range ruleNames(definitions()) {
		if !used[name] && !strings.Contains(name, "_not_") {
			t.Errorf("%s is not tested", name)
		}
	}
}

// Rules over a response say nothing before there is one.
func TestRulesBeforeTheFetch(t *testing.T) {
	for _, text := range []string{`{"rule":"fetch_status","values":["0"],"decision":"accept"}`, `{"rule":"content_length","max":1}`, `{"rule":"resource_no_longer_than","max":1,"decision":"reject"}`,
		`{"rule":"content_type_not_matches_regex","values":["x"],"decision":"reject"}`, `{"rule":"not_matches_status_code","min":200,"max":299,"decision":"reject"}`,
		`{"rule":"not_ip_address_set","values":["10.0.0.0/8"],"decision":"reject"}`} {
		rules, err := newRules(recordRules, []harvest.Rule{rule(t, text)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		u := &Subject{URL: "http://a.example/", Path: "L"}
		if got, _ := rules.Decide(u); got != Pass {
			t.Errorf("%s: %v", text, got)
		}
		if why := rules.steps[0].word(u).Why; !strings.Contains(why, "yet") && why != "no address known" {
			t.Errorf("%s: %q", text, why)
		}
	}
}

func TestTheLastRuleThatSpeaksDecides(t *testing.T) {
	s := harvest.DefaultSettings()
	s.Rules = []harvest.Rule{
		rule(t, `{"rule":"on_domains","values":["other.org"]}`),
		rule(t, `{"rule":"matches_regex","values":[".*/private/.*"],"decision":"reject"}`),
		rule(t, `{"rule":"matches_regex","values":[".*/private/open.*"],"decision":"accept"}`),
	}
	sc := newScope(t, s, "http://www.example.org/")
	for url, want := range map[string]string{
		"http://other.org/x":                  "rules[0] on_domains",
		"http://other.org/private/x":          "rules[1] matches_regex",
		"http://other.org/private/open":       "rules[2] matches_regex",
		"http://www.example.org/x":            "scope",
		"http://www.example.org/private/x":    "rules[1] matches_regex",
		"http://third.org/":                   "reject",
		"http://www.example.org/private/open": "scope",
	} {
		u := &Subject{URL: url, Path: "L"}
		v := sc.Decide(u)
		if v.Rule != want && !(want == "scope" && v.Accepted()) {
			t.Errorf("%s: %+v, want %s", url, v, want)
		}
		agrees(t, sc, u, v)
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		`{"rule":"on_domain","values":["a"]}`:                          `rules[0] on_domain: rule: given "on_domain", allowed: a rule of doc/scope.md; did you mean "on_domains"?`,
		`{"rule":"zzzzzzzzzzz"}`:                                       `given "zzzzzzzzzzz"`,
		`{"rule":"on_domains"}`:                                        `values: given none, allowed: domains`,
		`{"rule":"on_domains","values":["a b"]}`:                       `rules[0] on_domains: values: given "a b"`,
		`{"rule":"accept","values":["x"]}`:                             `values: given "x", allowed: none`,
		`{"rule":"accept","decision":"reject"}`:                        `decision: given "reject"`,
		`{"rule":"accept","decision":"maybe"}`:                         `decision: given "maybe", allowed: accept or reject`,
		`{"rule":"too_many_hops","max":-1}`:                            `max: given -1`,
		`{"rule":"too_many_hops","values":["Q"]}`:                      `given "Q", allowed: R, E, X`,
		`{"rule":"matches_regex","values":["("]}`:                      `regular expressions (RE2)`,
		`{"rule":"matches_list_regex","values":["a"],"min":2}`:         `min: given 2`,
		`{"rule":"expression","expression":"hostt == 'a'"}`:            `undeclared reference to 'hostt'`,
		`{"rule":"expression","expression":"host"}`:                    `its result is of type string`,
		`{"rule":"expression","expression":"host == 1"}`:               `no matching overload`,
		`{"rule":"expression"}`:                                        `expression: given none`,
		`{"rule":"ip_address_set","values":["300.1.1.1"]}`:             `given "300.1.1.1", allowed: addresses or ranges`,
		`{"rule":"fetch_status","values":["ok"]}`:                      `given "ok", allowed: status codes`,
		`{"rule":"matches_file_pattern","values":["movies"]}`:          `given "movies", allowed: images, audio`,
		`{"rule":"surt_prefixed","values":["http://["]}`:               `rules[0] surt_prefixed`,
		`{"rule":"seed_accept","min":1}`:                               `min: given 1, allowed: none`,
		`{"rule":"matches_regex","values":["a"]}`:                      `decision: given none, allowed: accept or reject`,
		`{"rule":"not_on_hosts","values":["a"]}`:                       `decision: given none`,
		`{"rule":"content_length"}`:                                    `max: given none`,
		`{"rule":"resource_longer_than"}`:                              `max: given none`,
		`{"rule":"pathological_path","max":0}`:                         `max: given 0, allowed: 1 or more`,
		`{"rule":"matches_list_regex","values":["a"],"min":0}`:         `min: given 0, allowed: 1 or more`,
		`{"rule":"seed_accept","max":0}`:                               `max: given 0, allowed: none`,
		`{"rule":"on_hosts","values":["h"],"expression":"1 == 1"}`:     `expression: given "1 == 1", allowed: none`,
		`{"rule":"class_key_matches_regex","values":["` + "(a" + `"]}`: `class_key_matches_regex`,
	} {
		s := harvest.DefaultSettings()
		s.Rules = []harvest.Rule{rule(t, text)}
		if err := Check(s); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestCheckLooksEverywhere(t *testing.T) {
	for want, change := range map[string]func(*harvest.Settings){
		"mid_fetch_rules[0]": func(s *harvest.Settings) { s.MidFetchRules = []harvest.Rule{{Rule: "x"}} },
		"browser_rules[0]":   func(s *harvest.Settings) { s.BrowserRules = []harvest.Rule{{Rule: "x"}} },
		"keep_types":         func(s *harvest.Settings) { s.KeepTypes = []string{"text"} },
		"discard_types":      func(s *harvest.Settings) { s.DiscardTypes = []string{"a/b;c"} },
		"discard_if":         func(s *harvest.Settings) { s.DiscardIf = "size >" },
		"deduplicate_types":  func(s *harvest.Settings) { s.DeduplicateTypes = []string{""} },
		"canonicalization":   func(s *harvest.Settings) { s.Canonicalization = []string{"strip_ww"} },
		"surt_prefixes":      func(s *harvest.Settings) { s.SURTPrefixes = []string{"+http://["} },
		"sheet odd": func(s *harvest.Settings) {
			s.Sheets = []harvest.Sheet{{Name: "odd", Settings: map[string]json.RawMessage{"rules": json.RawMessage(`[{"rule":"on_hots"}]`)}}}
		},
	} {
		s := harvest.DefaultSettings()
		change(&s)
		if err := Check(s); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := Check(harvest.DefaultSettings()); err != nil {
		t.Error(err)
	}
}

// The form that is made of a URL's parts is the one that cdx makes of the URL.
func TestSURTForm(t *testing.T) {
	for _, url := range append(links(), "http://a.b.c.example.org:8080/X?Y=%C3%A9#f", "https://example.org", "http://192.0.2.1/a", "http://[2001:db8::1]:81/", "http://u:p@example.org/", "ftp://example.org/x",
		"dns:example.org", "http://example.org./", "https://example.org?q", "http://1.2.3.example.org/") {
		normal, err := cdx.Normalize(url)
		if err != nil {
			t.Fatal(err)
		}
		want, err := cdx.SURT(normal)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Subject{URL: normal}).SURT(); got != want {
			t.Errorf("%s: %s, want %s", normal, got, want)
		}
	}
}

// What the code finds in a path is what Heritrix's expression, which Go's cannot be, matches.
func TestRepeated(t *testing.T) {
	tests := map[string]bool{
		"http://h/a/a/a/": true, "http://h/a/a/a": false, "http://h/a/a/b/": false, "http://h/a/b/a/b/a/b/": true, "http://h/a/b/a/b/a/": false, "http://h/x/a/a/a/y": true,
		"http://a/a/a/": true, "http://h////": true, "http://h///": false, "http://h//": false, "http://h/?q=/a/a/a/": true, "http://h/abc/abc/abc/abc": true, "http://h/": false, "": false, "///": false, "////": true,
	}
	for uri, want := range tests {
		if group, _ := repeated(uri, 2); (group != "") != want {
			t.Errorf("%q: group %q, want %v", uri, group, want)
		}
		if got := backtrack(uri, 2); got != want {
			t.Errorf("%q: the expression says %v", uri, got)
		}
	}
}

// backtrack is .*?/(.*?/)\1{most,}.* tried at every place.
func backtrack(uri string, most int) bool {
	for i := range uri {
		if uri[i] != '/' {
			continue
		}
		for j := i + 1; j < len(uri); j++ {
			if uri[j] == '/' && strings.HasPrefix(uri[j+1:], strings.Repeat(uri[i+1:j+1], most)) {
				return true
			}
		}
	}
	return false
}

func FuzzRepeated(f *testing.F) {
	f.Add("http://h/a/b/a/b/a/b/")
	f.Fuzz(func(t *testing.T, uri string) {
		if len(uri) > 200 {
			return
		}
		if group, _ := repeated(uri, 2); (group != "") != backtrack(uri, 2) {
			t.Fatalf("%q: %q", uri, group)
		}
	})
}

func FuzzRules(f *testing.F) {
	f.Add([]byte(`[{"rule":"on_domains","values":["example.org"]},{"rule":"expression","expression":"size > 10","decision":"reject"}]`), "http://example.org/a?b", "LLE")
	f.Add([]byte(`[{"rule":"surt_prefixed","values":["+http://(org,","-x"]}]`), "http://[::1]/", "")
	f.Fuzz(func(t *testing.T, data []byte, url, path string) {
		var list []harvest.Rule
		if json.Unmarshal(data, &list) != nil {
			return
		}
		rules, err := newRules(recordRules, list, slog.New(slog.DiscardHandler))
		if err != nil {
			if !errors.Is(err, harvest.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		u := &Subject{URL: url, Path: path, Fetched: true}
		word, _ := rules.Decide(u)
		last := Pass
		for i := range rules.steps {
			if w := rules.steps[i].word(u); w.Decision != Pass {
				last = w.Decision
			}
		}
		if last != word {
			t.Fatalf("the last word is %v, decided %v", last, word)
		}
	})
}

func FuzzExpression(f *testing.F) {
	f.Add(`host.endsWith(".org") && headers["a"] != ""`)
	f.Add(`[1,2,3].all(x, [1,2,3].exists(y, y > x || url.matches("(a+)+$")))`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := NewExpression(text, nil)
		if err == nil {
			_ = e.holds(fetched())
		}
	})
}

// An expression that would run for ever is broken off, and told.
func TestExpressionsAreBounded(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + "]"
	e, err := NewExpression(list+".all(a, "+list+".all(b, "+list+".all(c, a + b + c > 0)))", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(fetched()); err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("error %v", err)
	}
	if e.holds(fetched()) || e.failed.Load() != 1 {
		t.Error("not told")
	}
	if _, err := NewExpression(strings.Repeat("(", 5000)+"true"+strings.Repeat(")", 5000), nil); err == nil {
		t.Error("5 000 brackets were taken")
	}
}

// doc/scope.md names every rule, variable and canonicalization there is.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../doc/scope.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, d := range RuleHelps() {
		if !strings.Contains(doc, ruleLine(&d)) {
			t.Errorf("doc/scope.md lacks the line\n%s", ruleLine(&d))
		}
	}
	for _, v := range variables() {
		if line := "| `" + v.name + "` | " + v.kind + " | " + v.help + " |"; !strings.Contains(doc, line) {
			t.Errorf("doc/scope.md lacks the line\n%s", line)
		}
	}
	for _, c := range canonicalRules() {
		if !strings.Contains(doc, "| `"+c.name+"` |") {
			t.Errorf("doc/scope.md lacks canonicalization %s", c.name)
		}
	}
	for _, name := range regexp.MustCompile(`trap:\w+`).FindAllString(doc, -1) {
		if trapHelp(name) == "" {
			t.Errorf("doc/scope.md names %s, which there is not", name)
		}
	}
}

func ruleLine(r *RuleHelp) string {
	name := "`" + r.Name + "`"
	if r.Opposite != "" {
		name += ", `" + r.Opposite + "`"
	}
	return "| " + name + " | " + r.Decision + " | " + r.Takes + " | " + r.Help + " |"
}
