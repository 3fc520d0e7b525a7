package cli

import (
	"os"
	"regexp"
	"testing"

	"github.com/alecthomas/kong"
)

// The commands that operators are told to type are ones that the program takes as they stand. What they do is
// followed by a test of systemtest.
func TestOperationsCanBeTypedAsTheyStand(t *testing.T) {
	text, err := os.ReadFile("../doc/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	acts := 0
	for _, typed := range regexp.MustCompile(`(?m)^[a-z0-9-]+\$ (holdfast .*)$`).FindAllStringSubmatch(string(text), -1) {
		words := wordsOf(typed[1])
		parser, err := newParser(&grammar{}, kong.Exit(func(int) { t.Errorf("%q ends while it is read", typed[1]) }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(words[1:]); err != nil {
			t.Errorf("%s: %v", typed[1], err)
		}
		acts++
	}
	if acts < 20 {
		t.Errorf("only %d commands: this test looks at the wrong text", acts)
	}
}

// wordsOf splits a line as a shell does that knows double quotes only.
func wordsOf(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
