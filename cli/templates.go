package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type templateCmd struct {
	List     templateListCmd     `cmd:"" help:"List the templates."`
	Show     templateShowCmd     `cmd:"" help:"Show a template and its settings."`
	Get      templateGetCmd      `cmd:"" help:"Print a template's settings as JSON, as crawl --template takes them."`
	Versions templateVersionsCmd `cmd:"" help:"List the versions of a template, oldest first."`
	Create   templateCreateCmd   `cmd:"" help:"Create a template from a file with settings, or the default one from a contact."`
	Set      templateSetCmd      `cmd:"" help:"Change a template: a file becomes its next version."`
	Copy     templateCopyCmd     `cmd:"" help:"Copy a template."`
	Delete   templateDeleteCmd   `cmd:"" help:"Delete a template that nothing uses."`
}

// copyFlags are the arguments of copies of what archivists define.
type copyFlags struct {
	From    string `arg:"" help:"The name of what is copied."`
	Name    string `arg:"" help:"The name of the copy."`
	Version int    `name:"number" placeholder:"VERSION" help:"Copy this version. Default: the latest."`
}

func (c copyFlags) copying() wire.Copying { return wire.Copying{Name: c.Name, Version: c.Version} }

// switchFlags switch something on or off.
type switchFlags struct {
	On  bool `xor:"switch" help:"Switch it on: it is in use."`
	Off bool `xor:"switch" help:"Switch it off: it stays as it is, and is not in use."`
}

// active is what the flags say, nil for nothing.
func (f switchFlags) active() *bool {
	if !f.On && !f.Off {
		return nil
	}
	return &f.On
}

// readJSON reads a file that has a JSON value.
func readJSON(path string) (json.RawMessage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !json.Valid(text) {
		return nil, usage("%s is not JSON", path)
	}
	return text, nil
}

// versionTable shows the versions of what archivists define.
func versionTable(a *app, all []wire.Version) error {
	return list(a, all, table.Row{"Version", "Made", "By"}, func(v wire.Version) table.Row {
		return table.Row{v.Version, when(v.Made), v.MadeBy}
	})
}

// definedRows are the rows that all have which archivists define.
func definedRows(what string, d wire.Defined) []table.Row {
	rows := []table.Row{{what, d.Name}, {"version", d.Version}}
	if d.Shown != d.Version {
		rows = append(rows, table.Row{"shown", d.Shown})
	}
	return append(rows, table.Row{"comment", d.Comment}, table.Row{"created", when(d.Created)},
		table.Row{"changed", when(d.Changed)}, table.Row{"by", d.ChangedBy})
}

// printJSON prints JSON for people.
func printJSON(a *app, text json.RawMessage) error {
	out := json.NewEncoder(a.stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(text)
}

type templateListCmd struct{ definedListFlags }

func (c templateListCmd) Run(a *app) error {
	return ask(a, templateTable, func(ctx context.Context, archive *client.Client) ([]wire.Template, error) {
		return gathered(archive.Templates().List(ctx, c.Search, c.Sort))
	})
}

func templateTable(a *app, all []wire.Template) error {
	return list(a, all, table.Row{"Template", "Version", "Active", "Changed", "By", "Comment"},
		func(t wire.Template) table.Row {
			return table.Row{t.Name, t.Version, yes(t.Active), when(t.Changed), t.ChangedBy, t.Comment}
		})
}

func showTemplate(a *app, t wire.Template) error {
	return a.answer(t, func() error {
		rows := append(definedRows("template", t.Defined), table.Row{"active", yes(t.Active)})
		if err := a.table(nil, rows); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
		return printJSON(a, t.Settings)
	})
}

type templateShowCmd struct {
	Name    string `arg:"" help:"The template's name."`
	Version int    `name:"number" placeholder:"VERSION" help:"Show this version. Default: the latest."`
}

func (c templateShowCmd) Run(a *app) error {
	return ask(a, showTemplate, func(ctx context.Context, archive *client.Client) (wire.Template, error) {
		return archive.Templates().Show(ctx, c.Name, c.Version)
	})
}

type templateGetCmd struct {
	Name    string `arg:"" help:"The template's name."`
	Version int    `name:"number" placeholder:"VERSION" help:"Print this version. Default: the latest."`
}

// Help says what is left out.
func (templateGetCmd) Help() string {
	return "Secrets are printed as [redacted]. Put them in again before you use the file: a template with [redacted] " +
		"in it is refused."
}

func (c templateGetCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		t, err := archive.Templates().Show(ctx, c.Name, c.Version)
		if err != nil {
			return err
		}
		return printJSON(a, t.Settings)
	})
}

type templateVersionsCmd struct {
	Name string `arg:"" help:"The template's name."`
}

func (c templateVersionsCmd) Run(a *app) error {
	return ask(a, versionTable, func(ctx context.Context, archive *client.Client) ([]wire.Version, error) {
		return archive.Templates().Versions(ctx, c.Name)
	})
}

type templateCreateCmd struct {
	Name    string `arg:"" help:"The template's name: letters, digits, dots, dashes and underscores."`
	File    string `arg:"" optional:"" help:"A JSON file with settings, as crawl --template takes it."`
	Contact string `placeholder:"URL" help:"Without a file, for the default template: a web page or e-mail address with which site owners can reach you."`
	Comment string `help:"What the template is for."`
	Off     bool   `help:"Do not use the template yet."`
}

// Help says what a template has to say, and what not.
func (templateCreateCmd) Help() string {
	return "A template needs an operator_contact. It cannot limit what is fetched of each domain: harvests and " +
		"configurations of domains do. Passwords, cookies and logins are sealed to the nodes that crawl.\n\n" +
		"With --contact instead of a file, the template that new configurations have is made (\"default\", unless " +
		"default_template of holdfast domain settings says another). It has the default settings, and content that " +
		"is archived already is recorded as a revisit (deduplicate=digest)."
}

func (c templateCreateCmd) Run(a *app) error {
	request := wire.TemplateRequest{Name: c.Name, Contact: c.Contact, Inactive: c.Off, Comment: c.Comment}
	if (c.File == "") == (c.Contact == "") {
		return usage("give a file with settings, or --contact for the default template, and not both")
	}
	if c.File != "" {
		var err error
		if request.Settings, err = readJSON(c.File); err != nil {
			return err
		}
	}
	return ask(a, showTemplate, func(ctx context.Context, archive *client.Client) (wire.Template, error) {
		return archive.Templates().Create(ctx, request)
	})
}

type templateSetCmd struct {
	Name    string  `arg:"" help:"The template's name."`
	File    string  `arg:"" optional:"" help:"A JSON file with all settings of the next version."`
	Comment *string `help:"What the template is for."`
	After   int     `placeholder:"VERSION" help:"The version that your file is based on; refused if there is a later one."`
	switchFlags
}

func (c templateSetCmd) Run(a *app) error {
	change := wire.TemplateChange{Comment: c.Comment, Active: c.active(), After: c.After}
	if c.File != "" {
		settings, err := readJSON(c.File)
		if err != nil {
			return err
		}
		change.Settings = settings
	}
	if c.File == "" && c.Comment == nil && change.Active == nil {
		return usage("nothing to change: give a file, --comment, --on or --off")
	}
	return ask(a, showTemplate, func(ctx context.Context, archive *client.Client) (wire.Template, error) {
		return archive.Templates().Set(ctx, c.Name, change)
	})
}

type templateCopyCmd struct{ copyFlags }

func (c templateCopyCmd) Run(a *app) error {
	return ask(a, showTemplate, func(ctx context.Context, archive *client.Client) (wire.Template, error) {
		return archive.Templates().Copy(ctx, c.From, c.copying())
	})
}

type templateDeleteCmd struct {
	Name string `arg:"" help:"The template's name."`
}

func (c templateDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Templates().Delete(ctx, c.Name); err != nil {
			return err
		}
		return a.done("deleted", c.Name)
	})
}
