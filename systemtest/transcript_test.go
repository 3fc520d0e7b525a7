package systemtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const document = "# A\ntext $ no\n```sh\nx\n```\n## B\n```console\nnorth-1$ holdfast node remove \\\n    south-1\nNode  Id          Free\na     hzx23ekl6u  74.7 GiB\n…\nDone.\n$ true\n```\n"

func TestSectionsAndSteps(t *testing.T) {
	all := Sections(document)
	if len(all) != 3 || all[1].Heading != "A" || all[2].Heading != "B" || all[1].Blocks[0].Text != "x\n" || len(all[2].Blocks) != 1 {
		t.Fatalf("%+v", all)
	}
	steps, err := all[2].Blocks[0].Steps()
	if err != nil || len(steps) != 2 {
		t.Fatal(steps, err)
	}
	if s := steps[0]; s.Machine != "north-1" || s.Command != "holdfast node remove south-1" || len(s.Want) != 4 || s.Line != 8 {
		t.Errorf("%+v", s)
	}
	if s := steps[1]; s.Machine != "" || s.Command != "true" || s.Want != nil {
		t.Errorf("%+v", s)
	}
	steps, err = (Block{Text: "$ a\n$ b\nholdfast: no\n$ c\n$ echo $?\n1\n$ d\n$ echo $?\n0\n"}).Steps()
	for i, fails := range []bool{false, true, true, false, false, false} {
		if err != nil || steps[i].Fails != fails {
			t.Errorf("%s fails: %v; %v", steps[i].Command, steps[i].Fails, err)
		}
	}
	if _, err := (Block{Text: "no prompt\n"}).Steps(); err == nil {
		t.Error("a transcript without a prompt is read")
	}
}

func TestShows(t *testing.T) {
	for name, tt := range map[string]struct {
		want, got string
		ok        bool
	}{
		"the same":               {"Healthy.", "Healthy.\n", true},
		"another":                {"Healthy.", "Not healthy.\n", false},
		"nothing":                {"", "", true},
		"nothing wanted":         {"", "more", false},
		"nothing shown":          {"Healthy.", "", false},
		"room between words":     {"a  b", "a       b", true},
		"ids":                    {"a hzx23ekl6u b", "a fmviak27br b", true},
		"no id":                  {"a hzx23ekl6u b", "a - b", false},
		"words of ten letters":   {"bitarchive", "assistants", false},
		"sizes":                  {"74.7 GiB", "9 KiB", true},
		"no size":                {"74.7 GiB", "-", false},
		"times":                  {"at 2026-11-20 22:37:57 it", "at 2027-01-01 00:00:00 it", true},
		"large numbers":          {"2047 shards", "2100 shards", true},
		"a large number, and 0":  {"2047 shards", "0 shards", false},
		"small numbers":          {"3 files", "4 files", false},
		"text left out":          {"cluster … led by …", "cluster x (1) led by y.", true},
		"lines left out":         {"a\n…\nd", "a\nb\nc\nd", true},
		"no lines left out":      {"a\n…\nd", "a\nd", true},
		"lines after":            {"a\n…\nd", "a\nb\nd\ne", false},
		"the end left out":       {"a\n…", "a\nb\nc", true},
		"another order of lines": {"…\na\nb\n…", "b\na\n", false},
		"ids of clusters":        {"(b850b91f),", "(00000000),", true},
	} {
		var want []string
		if tt.want != "" {
			want = strings.Split(tt.want, "\n")
		}
		if err := (Step{Want: want}).Shows(tt.got); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCopied(t *testing.T) {
	got, err := Copied("join holdfast-join-… now", strings.Fields("holdfast-join-1 holdfast-join-2 other"))
	if err != nil || got != "join holdfast-join-2 now" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := Copied("join holdfast-…", nil); !errors.Is(err, ErrNoCopied) {
		t.Errorf("%v", err)
	}
}

// TestEveryActOfTheOperatorIsFollowed: what doc/operations.md tells has its place in TestOperations, which takes minutes
// to say so.
func TestEveryActOfTheOperatorIsFollowed(t *testing.T) {
	told, err := os.ReadFile(filepath.Join("..", "doc", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("operations_test.go")
	if err != nil {
		t.Fatal(err)
	}
	all := Sections(string(told))[2:]
	if len(all) < 10 {
		t.Fatalf("doc/operations.md has %d sections", len(all))
	}
	for _, s := range all {
		if !strings.Contains(string(test), fmt.Sprintf("%q:", s.Heading)) {
			t.Errorf("doc/operations.md has %q: write down in acts of operations_test.go what it promises", s.Heading)
		}
	}
}
