package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type trapCmd struct {
	List     trapListCmd     `cmd:"" help:"List the global lists of crawler traps."`
	Show     trapShowCmd     `cmd:"" help:"Show a list and its expressions."`
	Versions trapVersionsCmd `cmd:"" help:"List the versions of a list, oldest first."`
	Create   trapCreateCmd   `cmd:"" help:"Create a list from a file."`
	Set      trapSetCmd      `cmd:"" help:"Change a list, or switch it on or off."`
	Copy     trapCopyCmd     `cmd:"" help:"Copy a list."`
	Delete   trapDeleteCmd   `cmd:"" help:"Delete a list."`
}

// readTraps reads a file with an expression in each line. Lines that are blank or begin with # are left out.
func readTraps(path string) (traps []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && line[0] != '#' {
			traps = append(traps, line)
		}
	}
	if len(traps) == 0 {
		return nil, usage("%s has no expression", path)
	}
	return traps, nil
}

type trapListCmd struct{ definedListFlags }

func (c trapListCmd) Run(a *app) error {
	return ask(a, trapTable, func(ctx context.Context, archive *client.Client) ([]wire.TrapList, error) {
		return gathered(archive.TrapLists().List(ctx, c.Search, c.Sort))
	})
}

func trapTable(a *app, all []wire.TrapList) error {
	return list(a, all, table.Row{"List", "Version", "Active", "Changed", "By", "Comment"},
		func(t wire.TrapList) table.Row {
			return table.Row{t.Name, t.Version, yes(t.Active), when(t.Changed), t.ChangedBy, t.Comment}
		})
}

func showTraps(a *app, t wire.TrapList) error {
	return a.answer(t, func() error {
		rows := append(definedRows("list", t.Defined), table.Row{"active", yes(t.Active)})
		if err := a.table(nil, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "\n%s\n", strings.Join(t.Traps, "\n"))
		return err
	})
}

type trapShowCmd struct {
	Name    string `arg:"" help:"The list's name."`
	Version int    `name:"number" placeholder:"VERSION" help:"Show this version. Default: the latest."`
}

func (c trapShowCmd) Run(a *app) error {
	return ask(a, showTraps, func(ctx context.Context, archive *client.Client) (wire.TrapList, error) {
		return archive.TrapLists().Show(ctx, c.Name, c.Version)
	})
}

type trapVersionsCmd struct {
	Name string `arg:"" help:"The list's name."`
}

func (c trapVersionsCmd) Run(a *app) error {
	return ask(a, versionTable, func(ctx context.Context, archive *client.Client) ([]wire.Version, error) {
		return archive.TrapLists().Versions(ctx, c.Name)
	})
}

type trapCreateCmd struct {
	Name    string `arg:"" help:"The list's name: letters, digits, dots, dashes and underscores."`
	File    string `arg:"" help:"A file with a regular expression (RE2) in each line; # begins a comment."`
	Comment string `help:"What the list is for."`
	Off     bool   `help:"Do not use the list yet."`
}

func (c trapCreateCmd) Run(a *app) error {
	traps, err := readTraps(c.File)
	if err != nil {
		return err
	}
	return ask(a, showTraps, func(ctx context.Context, archive *client.Client) (wire.TrapList, error) {
		return archive.TrapLists().Create(ctx, wire.TrapListRequest{Name: c.Name, Traps: traps, Inactive: c.Off,
			Comment: c.Comment})
	})
}

type trapSetCmd struct {
	Name    string  `arg:"" help:"The list's name."`
	File    string  `arg:"" optional:"" help:"A file with all expressions of the next version."`
	Comment *string `help:"What the list is for."`
	After   int     `placeholder:"VERSION" help:"The version that your file is based on; refused if there is a later one."`
	switchFlags
}

func (c trapSetCmd) Run(a *app) error {
	change := wire.TrapListChange{Comment: c.Comment, Active: c.active(), After: c.After}
	if c.File != "" {
		traps, err := readTraps(c.File)
		if err != nil {
			return err
		}
		change.Traps = traps
	}
	if c.File == "" && c.Comment == nil && change.Active == nil {
		return usage("nothing to change: give a file, --comment, --on or --off")
	}
	return ask(a, showTraps, func(ctx context.Context, archive *client.Client) (wire.TrapList, error) {
		return archive.TrapLists().Set(ctx, c.Name, change)
	})
}

type trapCopyCmd struct{ copyFlags }

func (c trapCopyCmd) Run(a *app) error {
	return ask(a, showTraps, func(ctx context.Context, archive *client.Client) (wire.TrapList, error) {
		return archive.TrapLists().Copy(ctx, c.From, c.copying())
	})
}

type trapDeleteCmd struct {
	Name string `arg:"" help:"The list's name."`
}

func (c trapDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.TrapLists().Delete(ctx, c.Name); err != nil {
			return err
		}
		return a.done("deleted", c.Name)
	})
}
