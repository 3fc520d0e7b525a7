package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTripsNameWhatThereIs looks for each function, method, type and value that the trips of doc/design.md name: a trip that
// names code that has gone is found here.
func TestTripsNameWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("doc/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, trips, begun := strings.Cut(string(text), "\n## The five trips\n")
	trips, _, ended := strings.Cut(trips, "\n## ")
	if !begun || !ended {
		t.Fatal("doc/design.md has no section of that name")
	}
	known := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				known[n.Name.Name] = true
			case *ast.TypeSpec:
				known[n.Name.Name] = true
			case *ast.Field:
				for _, name := range n.Names {
					known[name.Name] = true
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					known[name.Name] = true
				}
				for _, value := range n.Values { // kinds of streams and commands
					if text, ok := value.(*ast.BasicLit); ok {
						known[strings.Trim(text.Value, "\"`")] = true
					}
				}
			}
			return true
		})
	}
	names := regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)*)`").FindAllStringSubmatch(trips, -1)
	if len(names) < 50 {
		t.Fatalf("the trips name %d things", len(names))
	}
	for _, name := range names {
		last := name[1][strings.LastIndexByte(name[1], '.')+1:]
		if !known[last] && !known[name[1]] {
			t.Errorf("the trips name %s, which is not there", name[1])
		}
	}
}
