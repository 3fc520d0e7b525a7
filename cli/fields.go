package cli

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type fieldCmd struct {
	List   fieldListCmd   `cmd:"" help:"List the extended fields."`
	Set    fieldSetCmd    `cmd:"" help:"Define an extended field, or change it."`
	Remove fieldRemoveCmd `cmd:"" help:"Remove an extended field that has no values."`
}

type fieldListCmd struct {
	Of string `arg:"" optional:"" default:"domain" enum:"domain,harvest" help:"What the fields are of: domain or harvest."`
}

func (c fieldListCmd) Run(a *app) error {
	return ask(a, showAll(fieldTable), func(ctx context.Context, archive *client.Client) ([]wire.Field, error) {
		return archive.Fields().List(ctx, c.Of)
	})
}

func fieldTable(a *app, all []wire.Field) error {
	rows := make([]table.Row, len(all))
	for i, f := range all {
		rows[i] = table.Row{f.Of, f.Name, f.Type, yes(f.Mandatory), f.Comments}
	}
	return a.table(table.Row{"Of", "Field", "Type", "Mandatory", "Comments"}, rows)
}

type fieldSetCmd struct {
	Of        string `arg:"" enum:"domain,harvest" help:"What the field is of: domain or harvest."`
	Name      string `arg:"" help:"The field's name."`
	Type      string `arg:"" enum:"text,number,date,boolean" help:"The type of its values: ${enum}. It cannot be changed later."`
	Mandatory bool   `help:"Require a value when a domain or harvest is created or changed by hand."`
	Comments  string `help:"Comments."`
}

func (c fieldSetCmd) Run(a *app) error {
	show := func(a *app, f wire.Field) error {
		return a.answer(f, func() error { return fieldTable(a, []wire.Field{f}) })
	}
	return ask(a, show, func(ctx context.Context, archive *client.Client) (wire.Field, error) {
		return archive.Fields().Set(ctx, wire.Field{Of: c.Of, Name: c.Name, Type: c.Type, Mandatory: c.Mandatory,
			Comments: c.Comments})
	})
}

type fieldRemoveCmd struct {
	Of     string `arg:"" enum:"domain,harvest" help:"What the field is of: domain or harvest."`
	Name   string `arg:"" help:"The field's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c fieldRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Fields().Remove(ctx, c.Of, c.Name, c.Reason); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}
