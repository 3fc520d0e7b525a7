package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The commands that operators are told to type are ones that the program takes as they stand.
func TestOperationsCanBeTypedAsTheyStand(t *testing.T) {
	text, err := os.ReadFile("../doc/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	acts := 0
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			words := wordsOf(strings.TrimSpace(line))
			if len(words) == 0 || words[0] != "holdfast" {
				t.Errorf("%q is no command of the program", line)
				continue
			}
			parser, err := newParser(&grammar{}, kong.Exit(func(int) { t.Errorf("%q ends while it is read", line) }))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(words[1:]); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
			}
			acts++
		}
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
