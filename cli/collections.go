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
	return ask(a, showCollections, func(ctx context.Context, c *api.Client) ([]api.Collection, error) { return c.Collections(ctx) })
}

type collectionAddCmd struct {
	Name string `arg:"" help:"What the collection is called, as in cluster.toml."`
}

func (c collectionAddCmd) Run(a *app) error {
	return ask(a, showCollections, func(ctx context.Context, client *api.Client) ([]api.Collection, error) {
		made, err := client.AddCollection(ctx, catalog.CollectionName(c.Name))
		return []api.Collection{made}, err
	})
}

func showCollections(a *app, all []api.Collection) error {
	return list(a, all, table.Row{"Collection", "Created"}, func(c api.Collection) table.Row {
		return table.Row{c.Name, when(c.Created)}
	})
}
