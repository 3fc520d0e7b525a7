package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// plan is the table of doc/design.md: which rooms a room may import. Inner rooms follow the rule of the room
// they stand in, and may import that room's other inner rooms; those of node and catalog have rows of their own. Whoever may
// import the catalog may import its subjects.
var plan = map[string][]string{
	"":         {"cli"},
	"access":   {"cdx"},
	"alert":    {},
	"api":      {"alert", "api/wire", "catalog", "harvest", "cdx", "access"},
	"api/wire": {"harvest"},
	"catalog": {"access", "alert", "catalog/agree", "catalog/approvals", "catalog/batches", "catalog/cluster", "catalog/domains", "catalog/files", "catalog/harvests",
		"catalog/history", "catalog/jobs", "catalog/notices", "catalog/people", "catalog/rules", "catalog/runs"},
	"batch":              {"catalog", "cdx", "warc", "internal/disk"},
	"catalog/agree":      {},
	"catalog/approvals":  {"catalog/agree", "catalog/people"},
	"catalog/batches":    {"catalog/agree", "catalog/cluster", "catalog/files"},
	"catalog/cluster":    {"catalog/agree"},
	"catalog/domains":    {"catalog/agree", "catalog/cluster", "catalog/jobs"},
	"catalog/files":      {"catalog/agree", "catalog/cluster"},
	"catalog/harvests":   {"catalog/agree", "catalog/cluster", "catalog/jobs", "harvest"},
	"catalog/history":    {"catalog/agree", "catalog/jobs", "catalog/runs"},
	"catalog/jobs":       {"catalog/agree", "catalog/cluster", "harvest"},
	"catalog/notices":    {"catalog/agree", "catalog/cluster"},
	"catalog/people":     {"catalog/agree", "catalog/cluster"},
	"catalog/rules":      {"access", "catalog/agree"},
	"catalog/runs":       {"catalog/agree", "catalog/cluster", "catalog/domains", "catalog/harvests", "catalog/jobs"},
	"cdx":                {},
	"cli":                {"api/wire", "client", "node", "node/config", "node/membership", "warc", "cdx", "access", "index", "crawler", "replay", "harvest", "catalog", "demo", "peer", "internal/disk", "internal/words", "internal/sorter", "ledger", "ledger/proof", "internal/seal", "node/backups", "node/rebuild", "wacz"},
	"client":             {"api/wire", "harvest", "cdx"},
	"crawler":            {"harvest", "cdx", "warc", "internal/coding", "internal/disk", "internal/kv", "internal/sorter"},
	"demo":               {},
	"duty":               {"alert", "catalog", "harvest"},
	"gossip":             {"catalog"},
	"harvest":            {"cdx"},
	"index":              {"cdx", "warc", "internal/disk", "internal/kv", "internal/sorter"},
	"internal/coding":    {},
	"internal/disk":      {},
	"internal/inprocess": {},
	"internal/kv":        {"internal/disk"},
	"internal/kv/memory": {},
	"internal/look":      {},
	"internal/ports":     {},
	"internal/seed":      {},
	"internal/seal":      {},
	"internal/sorter":    {},
	"internal/trace":     {},
	"internal/words":     {},

	"internal/browsertest":     {},
	"internal/words/wordstest": {"internal/words"},
	"ledger":                   {},
	"ledger/ledgertest":        {"ledger"},
	"ledger/proof":             {"ledger"},
	"node": {"access", "alert", "api", "api/wire", "batch", "catalog", "cdx", "crawler", "gossip", "harvest", "index", "internal/disk", "internal/seal", "internal/trace", "internal/words", "ledger", "ledger/proof",
		"node/agreed", "node/archive", "node/backups", "node/batches", "node/config", "node/figures", "node/front", "node/harvester", "node/ingest", "node/layouts", "node/ledgers", "node/logbook", "node/lookup", "node/membership", "node/metadata", "node/metrics", "node/notices", "node/owed", "node/pages", "node/policy", "node/rebuild", "node/runner", "node/session", "node/soundness", "node/status", "node/steward", "node/vault",
		"node/warrant", "node/wire", "notice", "peer", "raft", "replay", "replica", "warc"},
	"node/agreed":     {"api", "catalog", "internal/trace", "raft"},
	"node/archive":    {"alert", "api", "catalog", "duty", "internal/disk", "node/wire", "replica"},
	"node/batches":    {"api", "api/wire", "batch", "catalog", "duty", "node/wire"},
	"node/config":     {"harvest", "internal/trace", "internal/words"},
	"node/figures":    {"api", "catalog", "internal/disk", "node/wire"},
	"node/front":      {"alert", "node/config"},
	"node/harvester":  {"alert", "api/wire", "catalog", "duty", "harvest", "internal/sorter"},
	"node/ingest":     {"api", "catalog", "harvest", "internal/disk"},
	"node/backups":    {"alert", "api", "catalog", "internal/disk", "internal/seal"},
	"node/soundness":  {"api", "catalog", "node/wire"},
	"node/ledgers":    {"api", "catalog", "internal/disk", "ledger", "node/wire", "replica"},
	"node/logbook":    {"alert", "api", "catalog", "internal/disk", "node/wire"},
	"node/lookup":     {"alert", "api", "catalog", "cdx", "index", "node/wire"},
	"node/membership": {"alert", "api", "catalog", "duty", "internal/disk", "internal/seal", "node/config", "node/wire", "peer"},
	"node/metadata":   {"api", "api/wire", "catalog", "cdx", "crawler", "index", "internal/disk", "internal/sorter", "warc"},
	"node/metrics":    {},
	"node/notices":    {"alert", "api", "catalog", "duty", "internal/seal", "internal/words", "notice"},
	"node/openid":     {},
	"node/policy":     {"access", "catalog", "cdx", "internal/disk", "warc"},
	"node/owed":       {"catalog", "duty", "replica"},
	"node/layouts":    {"api/wire", "catalog", "duty"},
	"node/pages":      {"api", "api/wire", "catalog", "internal/inprocess", "internal/words", "node/config", "node/front", "node/openid", "node/session", "web"},
	"node/rebuild":    {"catalog", "harvest", "internal/disk", "ledger", "replica", "warc"},
	"node/runner":     {"alert", "api", "api/wire", "catalog", "cdx", "crawler", "duty", "harvest", "index", "internal/disk", "internal/sorter", "internal/trace", "node/metadata", "node/wire", "warc"},
	"node/status":     {"alert", "api", "api/wire", "catalog", "node/config", "node/front", "node/metrics", "node/wire"},
	"node/steward":    {"catalog", "duty"},
	"node/session":    {"api", "catalog"},
	"node/vault":      {"alert", "api", "catalog", "duty", "harvest", "internal/seal"},
	"node/warrant":    {"api", "catalog", "node/wire"},
	"node/wire":       {"catalog"},
	"notice":          {"alert", "internal/words"},
	"peer":            {"internal/disk"},
	"raft":            {"catalog", "internal/disk", "internal/kv"},
	"replay":          {"cdx", "warc", "access", "internal/coding", "internal/look", "internal/words", "replay/rewrite"},
	"replay/rewrite":  {"cdx"},
	"replica":         {"catalog", "internal/disk"},
	"wacz":            {},
	"revisit":         {},
	"systemtest":      {"api/wire", "catalog", "client", "harvest", "node", "node/config", "warc", "demo", "internal/disk", "internal/ports", "cdx", "revisit/simulate"},

	"revisit/simulate": {"revisit"},
	"warc":             {"internal/coding", "internal/disk"},
	"web":              {"alert", "api/wire", "client", "harvest", "internal/look", "internal/words"},
}

// fences names the libraries that one room alone may know.
var fences = map[string]string{
	"github.com/hashicorp/raft":       "raft",
	"github.com/hashicorp/raft-wal":   "raft",
	"github.com/hashicorp/memberlist": "gossip",
	"github.com/quic-go/quic-go":      "peer",
	"github.com/danielgtaylor/huma":   "api",
	"github.com/nicksnyder/go-i18n":   "internal/words",
	"github.com/prometheus":           "node/metrics",
	"github.com/wneessen/go-mail":     "notice",
	"github.com/coreos/go-oidc":       "node/openid",
	"golang.org/x/oauth2":             "node/openid",
}

// forTests are the rooms that the tests of any room may use.
var forTests = []string{"internal/kv/memory", "internal/ports", "internal/seed", "internal/words/wordstest", "internal/browsertest", "internal/inprocess", "client", "ledger/ledgertest"}

// impure lists what the pure rooms must not import, with all that is below it; except for what spotless lists.
var impure = []string{"os", "net", "log", "syscall", "runtime", "context", "sync", "unsafe", "plugin", "testing", "math/rand", "crypto/rand", "crypto/tls",
	"hash/maphash", "io/ioutil", "path/filepath", "golang.org/x/sys", "golang.org/x/sync"}

var spotless = []string{"net/url", "net/netip"}

var pure = []string{"cdx", "access", "alert", "harvest", "catalog", "catalog/agree", "catalog/approvals", "catalog/batches", "catalog/cluster", "catalog/domains", "catalog/files",
	"catalog/harvests", "catalog/history", "catalog/jobs", "catalog/notices", "catalog/people", "catalog/rules", "catalog/runs", "duty", "internal/look", "internal/words", "ledger", "revisit"}

const maxLines = 500

type source struct {
	path, dir, room string
	test            bool
	imports         []string
	comment         bool
	lines           int
}

func TestArrowsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := plan[s.room]
		if !known {
			t.Errorf("%s: room %q is not in the plan", s.path, s.room)
			continue
		}
		if (s.room == "node" || s.room == "catalog") && s.dir != s.room {
			t.Errorf("%s: the room %q has no row", s.path, s.dir)
		}
		for _, imp := range s.imports {
			target, ours := strings.CutPrefix(imp, "holdfast/")
			if !ours {
				continue
			}
			to := roomOf(target)
			if s.test && slices.Contains(forTests, to) {
				continue
			}
			if path.Dir(to) == "catalog" && !strings.HasPrefix(s.room, "catalog") && slices.Contains(allowed, "catalog") {
				continue
			}
			if to != s.room && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: the plan has no arrow from %q to %q", s.path, imp, s.room, to)
			}
		}
	}
}

func TestLibrariesStayInTheirRoom(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range s.imports {
			for library, room := range fences {
				if (imp == library || strings.HasPrefix(imp, library+"/")) && s.room != room {
					t.Errorf("%s imports %s, which only %s may know", s.path, imp, room)
				}
			}
		}
	}
}

func TestPureRoomsStayPure(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.room) {
			continue
		}
		for _, imp := range s.imports {
			if within(imp, impure) && !slices.Contains(spotless, imp) {
				t.Errorf("%s imports %s, but %s is pure", s.path, imp, s.room)
			}
		}
	}
	for room := range plan {
		if (room == "catalog" || path.Dir(room) == "catalog") && !slices.Contains(pure, room) {
			t.Errorf("the catalog is pure: %s has to be in the list of pure rooms", room)
		}
	}
}

// within reports whether the package is one of the list, or below one.
func within(imp string, list []string) bool {
	return slices.ContainsFunc(list, func(of string) bool { return imp == of || strings.HasPrefix(imp, of+"/") })
}

// A row for a room that has gone would let another one of that name do what nobody decided.
func TestTheRoomsOfTheTablesAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, s := range sources(t) {
		there[s.room], there[s.dir] = true, true
	}
	rooms := slices.Concat(slices.Collect(maps.Keys(plan)), slices.Collect(maps.Keys(inner)), pure, forTests, slices.Collect(maps.Values(fences)))
	for room, allowed := range plan {
		rooms = append(rooms, allowed...)
		if slices.Contains(allowed, room) {
			t.Errorf("the row of %q has the room itself", room)
		}
	}
	slices.Sort(rooms)
	for _, room := range slices.Compact(rooms) {
		if !there[room] && room != "" {
			t.Errorf("the tables name the room %q, which is not there", room)
		}
	}
}

// The table of doc/design.md says of each room what plan says. Rows in words, and rooms that are described with another one,
// are excepted.
func TestThePlanIsInTheDesign(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("doc", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, begun := strings.Cut(string(text), "\n| room | purpose | may import |\n|---|---|---|\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !begun || !ended {
		t.Fatal("doc/design.md has no table of the rooms")
	}
	said := map[string]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		said[strings.Trim(cells[0], "`")] = inParentheses.ReplaceAllString(cells[len(cells)-1], "")
	}
	inWords := []string{"", "catalog", "node", "systemtest"}
	described := []string{"ledger/ledgertest", "ledger/proof"}
	for _, room := range slices.Sorted(maps.Keys(plan)) {
		if room == "" || slices.Contains(described, room) {
			continue
		}
		row, ok := said[room]
		if !ok {
			t.Errorf("doc/design.md has no row for the room %s", room)
		}
		if !ok || slices.Contains(inWords, room) {
			continue
		}
		var want []string
		if row != "nothing" {
			want = strings.Split(row, ", ")
		}
		slices.Sort(want)
		if have := slices.Sorted(slices.Values(plan[room])); !slices.Equal(have, want) {
			t.Errorf("%s may import %v, and doc/design.md says %v", room, have, want)
		}
	}
	for room := range said {
		if _, ok := plan[room]; !ok {
			t.Errorf("doc/design.md has a row for the room %q, which the plan does not have", room)
		}
	}
}

var inParentheses = regexp.MustCompile(` ?\([^)]*\)`)

func TestFilesFitAReader(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > maxLines {
			t.Errorf("%s has %d lines, at most %d", s.path, s.lines, maxLines)
		}
	}
}

// Nothing is skipped in silence: what a test needs and does not find is a failure, and what is not always built has a build
// tag and a target of the Makefile. In the model of the catalog, skipping lets rapid draw another action.
func TestNoTestIsSkipped(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test || s.path == "house_test.go" || s.path == filepath.Join("catalog", "model_test.go") {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{".Skip(", ".Skipf(", ".SkipNow("} {
			if bytes.Contains(text, []byte(call)) {
				t.Errorf("%s calls %s)", s.path, call[1:])
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	commented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			commented[s.dir] = commented[s.dir] || s.comment
		}
	}
	for dir, ok := range commented {
		if !ok {
			t.Errorf("package in %q has no comment", dir)
		}
	}
}

// roomOf returns the room that a package's folder stands in: its longest prefix in the plan.
func roomOf(dir string) string {
	for d := dir; d != "." && d != ""; d = path.Dir(d) {
		if _, ok := plan[d]; ok {
			return d
		}
	}
	if dir == "." || dir == "" {
		return ""
	}
	return dir
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "third_party") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		s, err := read(p)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d Go files: this test looks at the wrong folder", len(all))
	}
	return all
}

func read(p string) (source, error) {
	text, err := os.ReadFile(p)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	dir := filepath.ToSlash(filepath.Dir(p))
	s := source{path: p, dir: dir, room: roomOf(dir), test: strings.HasSuffix(p, "_test.go"),
		comment: file.Doc != nil, lines: bytes.Count(text, []byte("\n"))}
	for _, imp := range file.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, name)
	}
	return s, nil
}

// clocks are what package time has that looks at a clock or waits. To find them, it has to be called time.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// Time comes into a pure room as a value, and nothing in it runs beside anything else.
func TestPureRoomsHaveNoClockGoroutineOrLock(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.room) {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, s.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			if imp.Name != nil && imp.Path.Value == `"time"` {
				t.Errorf("%s imports time under the name %s, but %s is pure", s.path, imp.Name.Name, s.room)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "starts a goroutine"
			case *ast.ChanType, *ast.SelectStmt:
				what = "has a channel"
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					what = "calls time." + n.Sel.Name
				}
			}
			if what != "" {
				t.Errorf("%s %s, but %s is pure", set.Position(n.Pos()), what, s.room)
			}
			return true
		})
	}
}
