package crawler

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/harvest"
)

// The template in the document can be crawled with, and has one of everything.
func TestTemplateDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../doc/template.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d templates", len(blocks))
	}
	s, err := harvest.ParseTemplate([]byte(blocks[0][1]))
	if err != nil {
		t.Fatal(err)
	}
	job := harvest.Job{Name: "j", Seeds: []string{"https://www.example.org/"}, Settings: s}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := Check(job); err != nil {
		t.Fatal(err)
	}
	if len(s.Rules) == 0 || len(s.Credentials) != 2 || len(s.Proxies) == 0 || len(s.SourceAddresses) == 0 || len(s.Sheets) != 2 {
		t.Errorf("the template lacks something: %+v", s)
	}
	for _, name := range []string{"from", "until", "zone", "days", "surt_prefixes", "regex", "ports", "realm", "user", "password", "url", "method", "fields", "via", "hosts"} {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("doc/template.md does not name %s", name)
		}
	}
}
