// Package wordstest checks, for the tests of rooms that show texts, that every language has what they show.
package wordstest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"holdfast/internal/words"
)

// Check fails the test for each message of a room (those whose names begin with the room's) that is missing in a
// language of the program, lacks a plural form there or has other parameters, that nobody uses, or that is used with
// other parameters. code is the folder with the room's Go files and templates.
func Check(t *testing.T, room string, code fs.FS) {
	t.Helper()
	w, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range Faults(w, room, code) {
		t.Error(fault)
	}
}

// Faults returns what Check fails for.
func Faults(w *words.Words, room string, code fs.FS) []string {
	u := &uses{words: w.Language("en"), prefix: room + ".", used: map[string]bool{}}
	for _, tag := range w.Tags() {
		for _, lack := range w.Lacks(tag) {
			if of, _ := strings.CutPrefix(lack, "message "); of == lack || strings.HasPrefix(of, u.prefix) {
				u.fault("%s.toml lacks: %s", tag, lack)
			}
		}
	}
	err := fs.WalkDir(code, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "testdata" {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(name, "_test.go") || path.Ext(name) != ".go" && path.Ext(name) != ".html" {
			return nil
		}
		text, err := fs.ReadFile(code, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".go" {
			return u.code(name, text)
		}
		return u.template(name, string(text))
	})
	if err != nil {
		u.fault("%v", err)
	}
	for _, key := range u.words.Keys() {
		if strings.HasPrefix(key, u.prefix) && !u.used[key] {
			u.fault("%s is used by nobody", key)
		}
	}
	return u.faults
}

// uses collects the messages that code and templates use.
type uses struct {
	words  *words.Language
	prefix string
	used   map[string]bool
	faults []string
}

func (u *uses) fault(format string, args ...any) {
	u.faults = append(u.faults, fmt.Sprintf(format, args...))
}

// isKey reports whether a text in the code is the name of a message, and marks it as used.
func (u *uses) isKey(where, s string) bool {
	name, ok := strings.CutPrefix(s, u.prefix)
	if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) {
		return false
	}
	if u.words.Parameters(s) == nil && !slices.Contains(u.words.Keys(), s) {
		u.fault("%s: there is no message %q", where, s)
	}
	u.used[s] = true
	return true
}

// call checks the parameters of a call: Parts may leave some to the template, which then names them.
func (u *uses) call(where, function, key string, given []string, named map[string]bool) {
	wanted := u.words.Parameters(key)
	for _, name := range given {
		if !slices.Contains(wanted, name) {
			u.fault("%s: %s has no parameter %q", where, key, name)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(given, name) && (function != "Parts" || !named[name]) {
			u.fault("%s: %s needs the parameter %q", where, key, name)
		}
	}
}

// code looks through a Go file.
func (u *uses) code(name string, text []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	named, inCall := map[string]bool{}, map[*ast.BasicLit]bool{}
	for n := range ast.Preorder(file) {
		if s, ok := literal(n); ok {
			named[s] = true
		}
	}
	for n := range ast.Preorder(file) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		for i, arg := range call.Args {
			s, ok := literal(arg)
			if !ok || !u.isKey(name, s) {
				continue
			}
			inCall[arg.(*ast.BasicLit)] = true
			var given []string
			for j := i + 1; j < len(call.Args); j += 2 {
				if s, ok := literal(call.Args[j]); ok {
					given = append(given, s)
				}
			}
			function := ""
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				function = f.Sel.Name
			}
			u.call(name, function, s, given, named)
			break
		}
	}
	for n := range ast.Preorder(file) { // and what stands elsewhere, as in a table
		if s, ok := literal(n); ok && !inCall[n.(*ast.BasicLit)] {
			u.isKey(name, s)
		}
	}
	return nil
}

func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// template looks through a template's file.
func (u *uses) template(name, text string) error {
	trees := map[string]*parse.Tree{}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return err
	}
	var commands []*parse.CommandNode
	for _, key := range slices.Sorted(maps.Keys(trees)) {
		walk(trees[key].Root, func(c *parse.CommandNode) { commands = append(commands, c) })
	}
	named := map[string]bool{}
	for _, c := range commands {
		for _, arg := range c.Args {
			if s, ok := arg.(*parse.StringNode); ok {
				named[s.Text] = true
			}
		}
	}
	for _, c := range commands {
		for i, arg := range c.Args {
			s, ok := arg.(*parse.StringNode)
			if !ok || !u.isKey(name, s.Text) {
				continue
			}
			var given []string
			for j := i + 1; j < len(c.Args); j += 2 {
				if s, ok := c.Args[j].(*parse.StringNode); ok {
					given = append(given, s.Text)
				}
			}
			u.call(name, called(c.Args[0]), s.Text, given, named)
			break
		}
	}
	return nil
}

// called returns the name of the function or method that a command calls.
func called(n parse.Node) string {
	switch n := n.(type) {
	case *parse.FieldNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.VariableNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.IdentifierNode:
		return n.Ident
	}
	return ""
}

// walk visits the commands below a node.
func walk(n parse.Node, see func(*parse.CommandNode)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				walk(child, see)
			}
		}
	case *parse.ActionNode:
		walk(n.Pipe, see)
	case *parse.TemplateNode:
		walk(n.Pipe, see)
	case *parse.IfNode:
		walkBranch(&n.BranchNode, see)
	case *parse.RangeNode:
		walkBranch(&n.BranchNode, see)
	case *parse.WithNode:
		walkBranch(&n.BranchNode, see)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				walk(c, see)
			}
		}
	case *parse.CommandNode:
		see(n)
		for _, arg := range n.Args {
			walk(arg, see)
		}
	}
}

func walkBranch(n *parse.BranchNode, see func(*parse.CommandNode)) {
	walk(n.Pipe, see)
	walk(n.List, see)
	walk(n.ElseList, see)
}
