package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

// listRunning shows the jobs that run, and names the nodes that do not answer.
func listRunning(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		running, err := archive.Jobs().Running(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(running, func() error { return runningTable(a, running) }); err != nil {
			return err
		}
		for _, n := range running.Silent {
			_, _ = fmt.Fprintf(a.stderr, "node %s does not answer: %s\n", n.Name, n.Reason)
		}
		if len(running.Silent) > 0 {
			return errNo
		}
		return nil
	})
}

func runningTable(a *app, running wire.RunningJobs) error {
	var rows []table.Row
	for _, j := range running.Jobs {
		row := table.Row{j.ID, j.Harvest, j.NodeName, j.State}
		if p := j.Progress; p != nil {
			row = append(row, p.Done, p.Queued, p.Failed, size(p.Bytes), fmt.Sprintf("%.1f/s", p.Rate),
				time.Duration(p.Seconds*float64(time.Second)).Round(time.Second))
		}
		rows = append(rows, append(row, j.Reason))
	}
	for i := range rows { // a job of a node that does not answer has no figures
		for len(rows[i]) < 11 {
			rows[i] = append(rows[i], "")
		}
	}
	return a.table(table.Row{"Job", "Harvest", "Node", "State", "Done", "Queued", "Failed", "Bytes", "Rate", "Time",
		"Reason"}, rows)
}
