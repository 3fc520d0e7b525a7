package cli

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type collectionCmd struct {
	List   collectionListCmd   `cmd:"" help:"List the collections."`
	Add    collectionAddCmd    `cmd:"" help:"Add a collection."`
	Remove collectionRemoveCmd `cmd:"" help:"Remove a collection that no file, job or replica belongs to."`
}

type collectionListCmd struct{}

func (collectionListCmd) Run(a *app) error {
	return ask(a, showCollections, func(ctx context.Context, c *client.Client) ([]wire.Collection, error) {
		return c.Collections().List(ctx)
	})
}

type collectionAddCmd struct {
	Name string `arg:"" help:"The collection's name, as in cluster.toml."`
}

func (c collectionAddCmd) Run(a *app) error {
	return ask(a, showCollections, func(ctx context.Context, archive *client.Client) ([]wire.Collection, error) {
		made, err := archive.Collections().Add(ctx, c.Name)
		return []wire.Collection{made}, err
	})
}

type collectionRemoveCmd struct {
	Name   string `arg:"" help:"A collection's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c collectionRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Collections().Remove(ctx, c.Name, c.Reason); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}

func showCollections(a *app, all []wire.Collection) error {
	return list(a, all, table.Row{"Collection", "Created"}, func(c wire.Collection) table.Row {
		return table.Row{c.Name, when(c.Created)}
	})
}
