package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type clusterLevelCmd struct {
	Level int `arg:"" optional:"" name:"n" help:"Raise the cluster to this level. Without it, the level is only shown."`
}

func (clusterLevelCmd) Help() string {
	return "During an upgrade, nodes with the old and the new program work together at the old level. When every " +
		"node runs the new\n" +
		"program, raise the level to use what is new. A level cannot be lowered, and older programs cannot join " +
		"afterwards."
}

func (clusterLevelCmd) exits() []string {
	return []string{"0   shown, or the cluster is at that level now",
		"1   refused: a member does not support the level; stderr names it"}
}

func (c clusterLevelCmd) Run(a *app) error {
	return ask(a, showLevel, func(ctx context.Context, archive *client.Client) (wire.Level, error) {
		if c.Level == 0 {
			return archive.Level(ctx)
		}
		return archive.RaiseLevel(ctx, c.Level)
	})
}

func showLevel(a *app, l wire.Level) error {
	return a.answer(l, func() error {
		rows := make([]table.Row, len(l.Members))
		for i, m := range l.Members {
			rows[i] = table.Row{m.Name, m.Level, m.State, m.Version}
		}
		if _, err := fmt.Fprintf(a.stdout, "The cluster is at level %d.\n\n", l.Level); err != nil {
			return err
		}
		if err := a.table(table.Row{"Node", "Supports", "State", "Version"}, rows); err != nil {
			return err
		}
		if l.Supported <= l.Level {
			return nil
		}
		_, err := fmt.Fprintf(a.stdout, "\nEvery member supports level %d. To raise it: holdfast cluster level %d\n",
			l.Supported, l.Supported)
		return err
	})
}
