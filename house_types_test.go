package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// inner is the part of the table of doc/design.md for rooms inside a room: which of its neighbours each may import, and
// which of them the room around may. A room with inner rooms that is listed has a row for each of them.
var inner = map[string][]string{
	"crawler": {"chain", "control", "events", "fetch", "frontier", "hosts", "journal", "plan", "render", "report", "scope"},

	"crawler/control": {"journal", "chain", "hosts", "plan", "events", "fetch", "frontier", "report", "scope"},
	"crawler/render":  {"chain", "hosts", "plan", "browser", "extract", "fetch", "frontier", "scope"},
	"crawler/journal": {"chain", "hosts", "plan", "events", "extract", "fetch", "frontier", "report", "scope"},
	"crawler/chain":   {"hosts", "plan", "events", "extract", "fetch", "frontier", "pace", "report", "scope"},
	"crawler/hosts":   {"fetch", "frontier", "scope"},
	"crawler/plan":    {"fetch", "frontier", "scope"},

	"crawler/browser":  {},
	"crawler/events":   {},
	"crawler/extract":  {},
	"crawler/fetch":    {},
	"crawler/frontier": {},
	"crawler/pace":     {},
	"crawler/report":   {},
	"crawler/scope":    {},

	"harvest/act":      {},
	"harvest/compose":  {},
	"harvest/domain":   {},
	"harvest/schedule": {},
	"harvest/split":    {},
}

func TestInnerRoomsAreStrangers(t *testing.T) {
	around := map[string]bool{}
	for room := range inner {
		around[path.Dir(room)] = true
	}
	for _, s := range sources(t) {
		allowed, known := inner[s.dir]
		if !known && around[path.Dir(s.dir)] && path.Dir(s.dir) != "." {
			t.Errorf("%s: the room %q has no row", s.path, s.dir)
		}
		if !known || s.test {
			continue
		}
		for _, imp := range s.imports {
			to, ours := strings.CutPrefix(imp, "holdfast/")
			if _, isInner := inner[to]; !ours || !isInner || path.Dir(to) == "." {
				continue
			}
			if s.room == roomOf(to) && !slices.Contains(allowed, path.Base(to)) {
				t.Errorf("%s imports %s: the table has no arrow from %q to %q", s.path, imp, s.dir, to)
			}
		}
	}
}

// What one type may have.
const (
	maxMethods = 40
	maxFields  = 25
	maxColumns = 120 // with tabs of four
)

// crowded are the types that have more methods than they should. The table only shrinks.
var crowded = map[string]int{}

// maxPromoted is how many methods a type may have with those of what it embeds. An object that is made of parts embeds them,
// each inside maxMethods. The number is what the largest of them has; it is only made smaller.
const maxPromoted = 132

// laden are the structs that have more fields than they should. The table only shrinks.
var laden = map[string]int{}

func TestTypesDoNotGrowWithoutEnd(t *testing.T) {
	have := typesOf(t)
	own, promoted := map[string]int{}, map[string]int{}
	for name, methods := range have.methods {
		own[name] = len(methods)
	}
	for name := range have.embedded {
		promoted[name] = len(have.all(name, map[string]bool{}))
	}
	bounded(t, "methods", own, maxMethods, crowded)
	bounded(t, "methods with those of what it embeds", promoted, maxPromoted, nil)
	bounded(t, "fields", have.fields, maxFields, laden)
}

// types are what the program's types have, each by its folder and name.
type types struct {
	methods  map[string][]string // of its own
	embedded map[string][]string
	fields   map[string]int
}

// all has the methods of a type, those that it has by what it embeds among them.
func (h types) all(name string, seen map[string]bool) map[string]bool {
	out := map[string]bool{}
	if seen[name] {
		return out
	}
	seen[name] = true
	for _, m := range h.methods[name] {
		out[m] = true
	}
	for _, of := range h.embedded[name] {
		for m := range h.all(of, seen) {
			out[m] = true
		}
	}
	return out
}

func typesOf(t *testing.T) types {
	t.Helper()
	have := types{map[string][]string{}, map[string][]string{}, map[string]int{}}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					name := s.dir + "." + receiver(d.Recv.List[0].Type)
					have.methods[name] = append(have.methods[name], d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					named, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if of, ok := named.Type.(*ast.StructType); ok {
						have.fields[s.dir+"."+named.Name.Name] = countFields(of)
						have.embedded[s.dir+"."+named.Name.Name] = embeddedIn(of, s)
					}
				}
			}
		}
	}
	return have
}

// embeddedIn are the types of the program that the struct embeds.
func embeddedIn(of *ast.StructType, s source) (names []string) {
	for _, f := range of.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		at := f.Type
		if star, ok := at.(*ast.StarExpr); ok {
			at = star.X
		}
		sel, ok := at.(*ast.SelectorExpr)
		if !ok {
			names = append(names, s.dir+"."+receiver(at))
			continue
		}
		for _, imp := range s.imports {
			from, is := sel.X.(*ast.Ident)
			if to, ours := strings.CutPrefix(imp, "holdfast/"); is && ours && path.Base(to) == from.Name {
				names = append(names, to+"."+sel.Sel.Name)
			}
		}
	}
	return names
}

// bounded fails for what is over the bound and over what the table says, and for what the table need not say any more.
func bounded(t *testing.T, what string, have map[string]int, bound int, table map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if n := have[name]; n > max(bound, table[name]) {
			t.Errorf("%s has %d %s, at most %d", name, n, what, max(bound, table[name]))
		}
	}
	for name, n := range table {
		if have[name] <= bound {
			t.Errorf("%s has %d %s: take it out of the table, where it has %d", name, have[name], what, n)
		}
	}
}

// receiver is the name of the type that a method is of.
func receiver(of ast.Expr) string {
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

func countFields(of *ast.StructType) (n int) {
	for _, f := range of.Fields.List {
		n += max(len(f.Names), 1)
	}
	return n
}

// maxWiring is how many files the room may have where mechanisms meet. What does more than connect them has a room of its own
// inside it.
const maxWiring = 12

func TestNodeIsWiring(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		if s.dir == "node" && !s.test {
			n++
		}
	}
	if n == 0 || n > maxWiring {
		t.Errorf("node has %d files, at most %d", n, maxWiring)
	}
}

// tagged is the tag of a struct's field, which Go cannot break: the line counts as far as the tag.
var tagged = regexp.MustCompile("`[a-zA-Z]+:\".*`$")

func TestLinesFit(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(s.path))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = tagged.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > maxColumns {
				t.Errorf("%s:%d has %d columns, at most %d", s.path, n, columns, maxColumns)
			}
		}
	}
}
