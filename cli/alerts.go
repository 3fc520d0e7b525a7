package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type alertCmd struct {
	List alertListCmd `cmd:"" help:"List what is wrong or waits for a person, as all nodes see it."`
}

type alertListCmd struct{}

func (alertListCmd) exits() []string {
	return []string{"0   there is nothing, and all nodes answered", "1   there is something, or a node did not answer"}
}

func (alertListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		all, err := c.Alerts(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(all, func() error { return alertTable(a, all.Items) }); err != nil {
			return err
		}
		for _, n := range all.Silent {
			_, _ = fmt.Fprintf(a.stderr, "node %s does not answer, and what it alone sees is missing: %s\n", n.Name,
				n.Reason)
		}
		if len(all.Items)+len(all.Silent) > 0 {
			return errNo
		}
		return nil
	})
}

func alertTable(a *app, all []wire.Alert) error {
	rows := make([]table.Row, len(all))
	for i, one := range all {
		rows[i] = table.Row{one.Severity, when(one.Since), one.Node, one.Kind, one.Text}
	}
	return a.table(table.Row{"Severity", "Since", "Node", "Kind", "What"}, rows)
}
