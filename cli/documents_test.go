package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What documents call a command is one, and the design lists all of them.
func TestDocumentsNameTheCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&grammar{})
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string][]string{} // of each command; none: it has none
	for _, c := range parser.Model.Children {
		if c.Hidden {
			continue
		}
		verbs[c.Name] = nil
		for _, v := range c.Children {
			if !v.Hidden {
				verbs[c.Name] = append(verbs[c.Name], v.Name)
			}
		}
	}
	documents, err := filepath.Glob("../doc/*.md")
	if err != nil || len(documents) < 5 {
		t.Fatal(documents, err)
	}
	more, err := filepath.Glob("../doc/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:^|[^"])holdfast ([a-z|]+(?:-[a-z]+)?)(?: ([a-z|]+(?:-[a-z|]+)*))?`)
	designed := map[string]bool{}
	for _, path := range slices.Concat(documents, more, []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md"}) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range named.FindAllStringSubmatch(string(text), -1) {
			for _, name := range strings.Split(words[1], "|") {
				of, there := verbs[name]
				if !there {
					t.Errorf("%s: %s: there is no %s", path, words[0], name)
				}
				for _, verb := range strings.Split(words[2], "|") {
					if verb != "" && len(of) > 0 && !slices.Contains(of, verb) {
						t.Errorf("%s: %s: there is no %s %s", path, words[0], name, verb)
					}
					designed[name+" "+verb] = designed[name+" "+verb] || strings.HasSuffix(path, "/design.md")
				}
				designed[name] = designed[name] || strings.HasSuffix(path, "/design.md")
			}
		}
	}
	for name, of := range verbs {
		if !designed[name] {
			t.Errorf("the design does not list %s", name)
		}
		for _, verb := range of {
			if !designed[name+" "+verb] {
				t.Errorf("the design does not list %s %s", name, verb)
			}
		}
	}
}
