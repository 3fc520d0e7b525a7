package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type replicaShowCmd struct {
	Name string `arg:"" help:"A replica's name."`
}

func (c replicaShowCmd) Run(a *app) error {
	return ask(a, showReplica, func(ctx context.Context, archive *client.Client) (wire.ReplicaChecks, error) {
		return archive.Replicas().Checks(ctx, c.Name)
	})
}

func showReplica(a *app, r wire.ReplicaChecks) error {
	if err := replicaTable(a, []wire.Replica{r.Replica}); err != nil {
		return err
	}
	least := ""
	if r.Partly {
		least = "at least "
	}
	fmt.Fprintf(a.stdout, "\n%s%d missing, %s%d changed (holdfast file copies --replica %s --state missing|corrupt)\n",
		least, r.Missing, least, r.Changed, r.Name)
	fmt.Fprintln(a.stdout)
	rows := make([]table.Row, len(r.Checks))
	for i, k := range r.Checks {
		unit := "nodes"
		if k.Kind == "checksum" {
			unit = "shards"
		}
		rows[i] = table.Row{k.Kind, when(k.Oldest), when(k.Newest), fmt.Sprintf("%d %s", k.Checked, unit), k.Never,
			k.Findings, k.Missed}
	}
	return a.table(table.Row{"Check", "Oldest", "Newest", "Of", "Never", "Findings", "Not checked"}, rows)
}
