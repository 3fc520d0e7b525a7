package harvest

import (
	"strings"
	"testing"
)

func TestScopePrefix(t *testing.T) {
	for given, want := range map[string]string{
		"example.org": "http://(org,example,", "http://example.org/": "http://(org,example,)/", "https://example.org/a(b)/c": "http://(org,example,)/a(b)/", "(org,example,": "http://(org,example,",
	} {
		if got, err := ScopePrefix(given, false); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", given, got, err, want)
		}
	}
	if got, err := ScopePrefix("http://example.org/a/b", true); got != "http://(org,example,)/a/b" || err != nil {
		t.Errorf("whole: %q, %v", got, err)
	}
}

func TestSURTPrefix(t *testing.T) {
	for given, want := range map[string]string{
		"http://(org,example,":            "http://(org,example,",
		"http://(org,example":             "http://(org,example",
		"https://(ORG,Example,)/Path":     "http://(org,example,)/path",
		" (org,example,)/a":               "http://(org,example,)/a",
		"http://(127.0.0.1":               "http://(127.0.0.1",
		"http://(127.0.":                  "http://(127.0.",
		"http://(127.0.0.1:8080)/":        "http://(127.0.0.1:8080)/",
		"http://([2001:db8::1])/":         "http://([2001:db8::1])/",
		"http://(org,example,:8080)/a":    "http://(org,example,:8080)/a",
		"http://(":                        "http://(",
		"http://(org,example,)/a(b)/c.de": "http://(org,example,)/a(b)/c.de",
		"http://(example.org)/a":          "!http://(org,example,)/a is meant",
		"(www.example.org:81)/":           "!http://(org,example,www,:81)/ is meant",
		"http://(example.org":             "!http://(org,example, is meant",
		"http://(org,example)/a":          "!http://(org,example,)/a is meant",
		"http://example.org/a":            "!http://(org,example,)/a is one",
		"example.org":                     "!is not a SURT prefix",
		"http://(org, example,":           "!is not a SURT prefix",
		"":                                "!is not a SURT prefix",
	} {
		got, err := SURTPrefix(given)
		if message, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%q: %q, %v, want %s", given, got, err, message)
			}
		} else if got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", given, got, err, want)
		}
	}
}
