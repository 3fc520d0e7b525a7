package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileStraysCmd struct{}

func (fileStraysCmd) exits() []string {
	return []string{"0   every node answered", "1   a node did not answer"}
}

func (fileStraysCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		nodes, err := archive.Files().Strays(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(nodes, func() error { return strayTable(a, nodes) }); err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Unreachable != "" {
				return errNo
			}
		}
		return nil
	})
}

func strayTable(a *app, nodes []wire.NodeStrays) error {
	var rows []table.Row
	for _, n := range nodes {
		if n.Unreachable != "" {
			rows = append(rows, table.Row{n.Name, "", "", "", "does not answer: " + n.Unreachable})
		}
		for _, s := range n.Strays {
			rows = append(rows, table.Row{n.Name, s.Name, s.Where, size(s.Size), s.State})
		}
		if more := n.Files - len(n.Strays); more > 0 {
			rows = append(rows, table.Row{n.Name, "", "", "", fmt.Sprintf("and %d more", more)})
		}
	}
	return a.table(table.Row{"Node", "File", "Where", "Size", "State"}, rows)
}
