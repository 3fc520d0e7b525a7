package scope

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdfast/harvest"
)

// A rule is refused where what it asks for is never known.
func TestRulesThatCannotSpeak(t *testing.T) {
	ask := func(expression string) string {
		text, err := json.Marshal(harvest.Rule{Rule: "expression", Decision: "reject", Expression: expression})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const nowhere = ""
	for text, from := range map[string]string{ // the first setting that takes it
		`{"rule":"ip_address_set","decision":"reject","values":["192.0.2.1"]}`:     "rules",
		`{"rule":"fetch_status","decision":"reject","values":["404"]}`:             midFetchRules,
		`{"rule":"content_type_matches_regex","decision":"reject","values":["x"]}`: midFetchRules,
		`{"rule":"same_validators"}`:                                               midFetchRules,
		`{"rule":"content_length","max":1}`:                                        midFetchRules,
		`{"rule":"resource_longer_than","decision":"reject","max":1}`:              midFetchRules,
		`{"rule":"identical_digest"}`:                                              recordRules,
		`{"rule":"not_identical_digest","decision":"reject"}`:                      recordRules,
		`{"rule":"response_content_length","decision":"reject"}`:                   recordRules,
		ask(`ip == "192.0.2.1"`):                                                   "rules",
		ask(`url == "x" || status == 404`):                                         midFetchRules,
		ask(`"x" in headers && unchanged`):                                         midFetchRules,
		ask(`length > 1`):                                                          midFetchRules,
		ask(`size > 1`):                                                            recordRules,
		ask(`identical || digest == ""`):                                           recordRules,
		ask(`nothing`):                                                             nowhere,
	} {
		taken := nowhere
		for _, setting := range []string{recordRules, midFetchRules, "browser_rules", "rules"} {
			s := harvest.DefaultSettings()
			list := map[string]*[]harvest.Rule{recordRules: &s.RecordRules, midFetchRules: &s.MidFetchRules, "browser_rules": &s.BrowserRules, "rules": &s.Rules}[setting]
			*list = []harvest.Rule{rule(t, text)}
			err := Check(s)
			if err == nil {
				taken = setting
			} else if !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), setting+"[0]") || from != nowhere && !strings.Contains(err.Error(), "more is known to") {
				t.Errorf("%s: %v", text, err)
			}
		}
		if taken != from {
			t.Errorf("%s is taken from %q on, want %q", text, taken, from)
		}
	}
}

func TestUnchanged(t *testing.T) {
	for _, tt := range []struct {
		name                              string
		status                            int
		etag, modified, earlier, earlierM string
		want                              bool
	}{
		{"same ETag", 200, `"a"`, "x", `"a"`, "y", true},
		{"other ETag, same date", 200, `"b"`, "x", `"a"`, "x", false},
		{"no ETag any more", 200, "", "x", `"a"`, "x", false},
		{"same date", 200, "", "x", "", "x", true},
		{"other date", 200, "", "y", "", "x", false},
		{"nothing", 200, "", "", "", "", false},
		{"an error", 404, `"a"`, "", `"a"`, "", false},
	} {
		u := &Subject{Fetched: true, Status: tt.status, Earlier: func() (string, string) { return tt.earlier, tt.earlierM },
			Header: func(name string) string {
				return map[string]string{"ETag": tt.etag, "Last-Modified": tt.modified}[name]
			}}
		if got := u.Unchanged(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if (&Subject{Fetched: true, Status: 200, Header: func(string) string { return "a" }}).Unchanged() {
		t.Error("what was not captured before is unchanged")
	}
}
