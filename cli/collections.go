package cli

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api"
	"holdfast/catalog"
)

type collectionCmd struct {
	List collectionListCmd `cmd:"" help:"List the collections."`
	Add  collectionAddCmd  `cmd:"" help:"Add a collection."`
}

type collectionListCmd struct{}

func (collectionListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *api.Client) error {
		all, err := c.Collections(ctx)
		return showCollections(a, all, err)
	})
}

type collectionAddCmd struct {
	Name string `arg:"" help:"What the collection is called, as in cluster.toml."`
}

func (c collectionAddCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		made, err := client.AddCollection(ctx, catalog.CollectionName(c.Name))
		return showCollections(a, []api.Collection{made}, err)
	})
}

func showCollections(a *app, all []api.Collection, err error) error {
	if err != nil {
		return err
	}
	return list(a, all, table.Row{"Collection", "Created"}, func(c api.Collection) table.Row {
		return table.Row{c.Name, when(c.Created)}
	})
}
