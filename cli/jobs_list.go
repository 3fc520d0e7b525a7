package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type jobListCmd struct {
	Limit   int    `default:"50" help:"Show at most this many, newest first; 0 shows all."`
	Running bool   `help:"Show the jobs that run now, with live figures of all nodes."`
	State   string `enum:",NEW,SUBMITTED,STARTED,DONE,FAILED,RESUBMITTED,FAILED_REJECTED" default:"" help:"List only jobs in this state: NEW, SUBMITTED, STARTED, DONE, FAILED, RESUBMITTED or FAILED_REJECTED."`
	Harvest string `placeholder:"NAME" help:"List only jobs of this harvest: its name or number; 0 for jobs made by hand."`
	OfRun   uint64 `name:"run" placeholder:"N" help:"List only jobs of this run of the harvest."`
	Channel string `placeholder:"FOCUSED" help:"List only jobs of this channel."`
	Domain  string `help:"List only jobs that were made to crawl this domain."`
	From    string `placeholder:"TIME" help:"List only jobs that were created at this time or later, such as 2026-01-02T03:04:05Z."`
	Until   string `placeholder:"TIME" help:"List only jobs that were created before this time."`
}

func (jobListCmd) exits() []string {
	return []string{"0   listed", "1   with --running: a node did not answer"}
}

func (c jobListCmd) Run(a *app) error {
	if c.Running {
		if c.State+c.Harvest+c.Channel+c.Domain+c.From+c.Until != "" || c.OfRun != 0 {
			return usage("--running shows all jobs that run: give no other filter with it")
		}
		return listRunning(a)
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		q, err := c.query(ctx, archive)
		if err != nil {
			return err
		}
		var jobs []wire.Job
		for j, err := range archive.Jobs().Find(ctx, q) {
			if err != nil {
				return err
			}
			if jobs = append(jobs, j); len(jobs) == c.Limit {
				break
			}
		}
		return jobTable(a, jobs)
	})
}

// query is what the archive is asked for.
func (c jobListCmd) query(ctx context.Context, archive *client.Client) (q client.JobQuery, err error) {
	q = client.JobQuery{State: wire.JobState(c.State), Run: c.OfRun, Channel: c.Channel, Domain: c.Domain}
	if c.Harvest != "" {
		number, err := harvestNumber(ctx, archive, c.Harvest)
		if err != nil {
			return q, err
		}
		q.Harvest = &number
	}
	if q.From, err = readTime("from", c.From); err != nil {
		return q, err
	}
	q.Until, err = readTime("until", c.Until)
	return q, err
}

func jobTable(a *app, jobs []wire.Job) error {
	return list(a, jobs, table.Row{"Job", "Harvest", "State", "Node", "Created", "Ended", "Objects", "Bytes",
		"Files"}, func(j wire.Job) table.Row {
		return table.Row{j.ID, j.Harvest, j.State, j.NodeName, when(j.Created), when(j.Ended), j.Stats.Objects,
			size(j.Stats.Bytes), j.Stats.Files}
	})
}

type jobOverlapsCmd struct {
	Job   uint64 `arg:"" help:"A job's number."`
	Limit int    `default:"50" help:"Show at most this many; 0 shows all."`
}

func (c jobOverlapsCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		var found []wire.JobOverlap
		for one, err := range archive.Jobs().Overlaps(ctx, c.Job) {
			if err != nil {
				return err
			}
			if found = append(found, one); len(found) == c.Limit {
				break
			}
		}
		return list(a, found, table.Row{"Domain", "Other jobs"}, func(o wire.JobOverlap) table.Row {
			return table.Row{o.Domain, strings.Trim(fmt.Sprint(o.Jobs), "[]")}
		})
	})
}
