package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"holdfast/node"
)

type manCmd struct {
	Command []string `arg:"" optional:"" help:"A command, such as: file put. Default: the page of the program itself."`
	Out     string   `placeholder:"DIR" help:"Write the pages of all commands into this folder, under names such as holdfast-file-put.1."`
}

func (manCmd) Help() string {
	return "holdfast man file put | man -l -    shows a page; --out /usr/local/share/man/man1 installs them."
}

func (c manCmd) Run(a *app) error {
	parser, err := newParser(&grammar{})
	if err != nil {
		return err
	}
	at := parser.Model.Node
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
		return writePages(c.Out, at)
	}
	for _, word := range c.Command {
		if at = subcommand(at, word); at == nil || at.Hidden {
			return usage("there is no command %s; holdfast help lists them", strings.Join(c.Command, " "))
		}
	}
	return writePage(a.stdout, at)
}

// writePages writes the pages of a command and of its subcommands.
func writePages(dir string, at *kong.Node) error {
	var text strings.Builder
	if err := writePage(&text, at); err != nil {
		return err
	}
	path := filepath.Join(dir, strings.ReplaceAll(nameOfCommand(at), " ", "-")+".1")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write a manual page: %w", err)
	}
	for _, c := range at.Children {
		if c.Hidden {
			continue
		}
		if err := writePages(dir, c); err != nil {
			return err
		}
	}
	return nil
}

// nameOfCommand is a command with the words before it: holdfast file put.
func nameOfCommand(at *kong.Node) string {
	if at.Parent == nil {
		return at.Name
	}
	return nameOfCommand(at.Parent) + " " + at.Name
}

// writePage writes a command's manual page for troff's man macros.
func writePage(w io.Writer, at *kong.Node) error {
	var p manPage
	name := nameOfCommand(at)
	p.line(".TH %s 1 \"\" %s \"Holdfast\"", quote(strings.ToUpper(strings.ReplaceAll(name, " ", "-"))),
		quote(node.Version()))
	p.line(".SH NAME")
	p.text(strings.ReplaceAll(name, " ", "-") + " - " + strings.TrimSuffix(helpOf(at), "."))
	p.line(".SH SYNOPSIS")
	p.text(at.FullPath() + synopsis(at))
	if detail := at.Detail; detail != "" {
		p.line(".SH DESCRIPTION")
		p.line(".nf")
		p.text(detail)
		p.line(".fi")
	}
	p.commands(at)
	p.arguments(at)
	p.flags(at)
	if at.Leaf() && at.Parent != nil {
		p.line(".SH EXIT STATUS")
		for _, code := range exitCodes(at) {
			number, meaning, _ := strings.Cut(code, " ")
			p.entry(number, strings.TrimSpace(meaning))
		}
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

func helpOf(at *kong.Node) string {
	if at.Parent == nil {
		return about
	}
	return at.Help
}

// synopsis is what may follow a command's name.
func synopsis(at *kong.Node) string {
	out := " [flags]"
	if len(at.Children) > 0 {
		return out + " COMMAND"
	}
	for _, arg := range at.Positional {
		out += " " + arg.Summary()
	}
	return out
}

// manPage is a manual page that is being written.
type manPage struct{ b strings.Builder }

func (p *manPage) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

// text writes lines of text, so that troff takes none of it for a request.
func (p *manPage) text(text string) {
	for line := range strings.Lines(text) {
		line = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = "\\&" + line
		}
		p.b.WriteString(line + "\n")
	}
}

func (p *manPage) entry(name, text string) {
	p.line(".TP")
	p.text(name)
	p.text(text)
}

func (p *manPage) commands(at *kong.Node) {
	if len(at.Children) == 0 {
		return
	}
	p.line(".SH COMMANDS")
	for _, c := range at.Children {
		if !c.Hidden {
			p.entry(c.Name, c.Help)
		}
	}
}

func (p *manPage) arguments(at *kong.Node) {
	if len(at.Positional) == 0 {
		return
	}
	p.line(".SH ARGUMENTS")
	for _, arg := range at.Positional {
		p.entry(arg.Summary(), arg.Help)
	}
}

func (p *manPage) flags(at *kong.Node) {
	p.line(".SH OPTIONS")
	for n := at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Hidden {
				continue
			}
			help := f.Help
			for _, env := range f.Envs {
				help += " ($" + env + ")"
			}
			p.entry(f.String(), help)
		}
	}
}

func quote(text string) string { return "\"" + strings.ReplaceAll(text, "\"", "") + "\"" }
