package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// unasked are the tests that .ci/run cannot run: what they read may not be copied.
var unasked = []string{"TestForeignFiles"}

// check is a test or a fuzz target, which runs its seeds as a test: its name, its folder, and the build constraint of its file.
type check struct{ name, dir, built string }

// command is a call of "go test" by a target of the Makefile.
type command struct {
	tags, packages []string
	run            *regexp.Regexp
	slow           bool // by systemtest/slow.sh: of the tests, only those in files that are built when slow is a tag
}

var (
	asked  = regexp.MustCompile(`(?m)^make ([a-z0-9]+)`)
	target = regexp.MustCompile(`^([a-z0-9]+):([^=]*)$`)
	tested = regexp.MustCompile(`^\t(.*)\$\(GO\) test (.*)$`)
	slowly = regexp.MustCompile(`^slow( |$)`)
)

// commandsOf returns the calls of "go test" by the targets that ci asks for, and by those they lean on.
func commandsOf(makefile, ci string) (all []command) {
	leans, calls, at := map[string][]string{}, map[string][]command{}, ""
	for line := range strings.Lines(strings.ReplaceAll(makefile, "\\\n", " ")) {
		line = strings.TrimRight(line, "\n")
		if m := target.FindStringSubmatch(line); m != nil && !strings.Contains(m[2], ":") {
			at = m[1]
			leans[at] = append(leans[at], strings.Fields(m[2])...)
		} else if m := tested.FindStringSubmatch(line); m != nil {
			calls[at] = append(calls[at], commandOf(m[2], strings.Contains(m[1], "systemtest/slow.sh")))
		}
	}
	var todo []string
	for _, m := range asked.FindAllStringSubmatch(ci, -1) {
		todo = append(todo, m[1])
	}
	done := map[string]bool{}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if !done[next] {
			done[next] = true
			all = append(all, calls[next]...)
			todo = append(todo, leans[next]...)
		}
	}
	return all
}

// commandOf reads what follows "go test". Packages that a script names, as those of make race, count as none.
func commandOf(arguments string, slow bool) command {
	c := command{run: regexp.MustCompile(""), slow: slow}
	words := strings.Fields(arguments)
	for i, word := range words {
		switch {
		case word == "-tags":
			c.tags = append(c.tags, strings.Split(words[i+1], ",")...)
		case word == "-run":
			c.run = regexp.MustCompile(words[i+1])
		case word == "-race":
			c.tags = append(c.tags, "race")
		case word == "." || strings.HasPrefix(word, "./"):
			c.packages = append(c.packages, word)
		}
	}
	if slow {
		c.tags, c.packages = append(c.tags, "slow"), []string{"./..."}
	}
	return c
}

// runs reports whether the command runs the check.
func (c command) runs(k check) bool {
	if c.slow && (!slowly.MatchString(k.built) || !strings.HasPrefix(k.name, "Test")) || !c.run.MatchString(k.name) {
		return false
	}
	if k.built != "" {
		expr, err := constraint.Parse("//go:build " + k.built)
		if err != nil || !expr.Eval(func(tag string) bool {
			return tag == runtime.GOOS || tag == runtime.GOARCH || slices.Contains(c.tags, tag)
		}) {
			return false
		}
	}
	return slices.ContainsFunc(c.packages, func(p string) bool {
		if tree, ok := strings.CutSuffix(p, "/..."); ok {
			tree = path.Clean(tree)
			return tree == "." || k.dir == tree || strings.HasPrefix(k.dir, tree+"/")
		}
		return path.Clean(p) == k.dir
	})
}

// unrun lists the checks that no command runs.
func unrun(commands []command, checks []check) (out []string) {
	for _, k := range checks {
		if !slices.ContainsFunc(commands, func(c command) bool { return c.runs(k) }) {
			out = append(out, k.dir+" "+k.name+" ("+k.built+")")
		}
	}
	return out
}

// Every test is run by some command of a target that .ci/run asks for.
func TestEveryTestIsRun(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	for _, s := range sources(t) {
		if s.test {
			checks = append(checks, checksOf(t, s)...)
		}
	}
	if len(checks) < 1000 {
		t.Errorf("found only %d tests", len(checks))
	}
	for _, name := range unrun(commandsOf(string(makefile), string(ci)), checks) {
		t.Errorf("no target of .ci/run runs %s", name)
	}
}

func checksOf(t *testing.T, s source) (out []check) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	built := ""
	for _, group := range file.Comments {
		for _, c := range group.List {
			if of, ok := strings.CutPrefix(c.Text, "//go:build "); ok && c.Pos() < file.Package {
				built = of
			}
		}
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" || slices.Contains(unasked, f.Name.Name) {
			continue
		}
		if strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz") {
			out = append(out, check{f.Name.Name, s.dir, built})
		}
	}
	return out
}

// What TestEveryTestIsRun leans on finds tests that nothing runs.
func TestUnrunTestsAreFound(t *testing.T) {
	const makefile = "GO ?= go\ntest: lint unit\nunit race: export A := b\nunit:\n\t$(GO) test -short ./...\n" +
		"slow:\n\tsh systemtest/slow.sh $(GO) test -short\n" +
		"pages:\n\tA=1 $(GO) test -tags browser -race -run Browser \\\n\t\t./web ./inner/...\n" +
		"race:\n\t$(GO) test -race -tags slow $$(sh systemtest/packages.sh)\n" +
		"never:\n\t$(GO) test -tags never ./...\n"
	const ci = "set -e\nmake test </dev/null\nmake slow\nmake pages\nmake race\n# make never\n"
	for _, tt := range []struct {
		check
		run bool
	}{
		{check{"TestA", "web", ""}, true},
		{check{"FuzzA", ".", "!race"}, true},
		{check{"TestA", "web", "slow"}, true},
		{check{"TestA", "web", "slow && !race"}, true},
		{check{"TestBrowserA", "web", "browser"}, true},
		{check{"FuzzA", "web", "slow"}, false}, // slow.sh looks for tests
		{check{"TestBrowserA", "inner/room", "browser"}, true},
		{check{"TestA", "web", "browser"}, false},             // its name is not asked for
		{check{"TestBrowserA", "node", "browser"}, false},     // nor its package
		{check{"TestBrowserA", "webs", "browser"}, false},     // which is another one
		{check{"TestA", "web", "never"}, false},               // its target is not asked for
		{check{"TestA", "web", "nosuch"}, false},              // no target has its tag
		{check{"TestA", "web", "!race && slow"}, false},       // slow.sh looks for files that begin with slow
		{check{"TestA", "web", "slow && browser"}, false},     // no target has both
		{check{"TestBrowserA", "web", "windows"}, false},      // not here
		{check{"TestBrowserA", "web", "race && slow"}, false}, // which packages race is for, a script says
	} {
		if got := len(unrun(commandsOf(makefile, ci), []check{tt.check})) == 0; got != tt.run {
			t.Errorf("%v: run %v, want %v", tt.check, got, tt.run)
		}
	}
}
