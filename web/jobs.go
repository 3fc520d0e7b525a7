package web

import (
	"context"
	"errors"
	"strconv"

	"holdfast/api/wire"
	"holdfast/client"
)

func showJobs(ctx context.Context, v *visit) (any, error) {
	out := &listed[wire.Job]{}
	q := client.JobQuery{State: wire.JobState(v.query.Get("state")), Domain: v.query.Get("domain")}
	if n, ok := v.number("harvest", "web.jobs"); !ok {
		return out, nil
	} else if v.query.Get("harvest") != "" {
		q.Harvest = &n
	}
	if n, ok := v.number("run", "web.jobs"); !ok {
		return out, nil
	} else if q.Harvest != nil {
		q.Run = n
	}
	v.ask(ctx, "web.jobs", soon, func(ctx context.Context) error { return out.set(v.api.Jobs().Page(ctx, q, v.at())) })
	v.wait()
	for i := range out.Items {
		out.Items[i].Seeds, out.Items[i].Settings = nil, nil
	}
	return out, nil
}

func showRunning(ctx context.Context, v *visit) (any, error) {
	var out *wire.RunningJobs
	askRunning(ctx, v, &out)
	v.wait()
	return out, nil
}

// shownSeeds is how many seeds of a job its page lists.
const shownSeeds = 50

// jobPage is what the page of a job shows.
type jobPage struct {
	Job        *wire.Job              `json:"job"`
	Seeds      int                    `json:"seeds"`
	Statistics listed[wire.Statistic] `json:"statistics"` // at the place that the query names
	Files      listed[wire.File]      `json:"files"`      // the first
}

// Ended reports whether the job is known to have ended: before, there are no figures of configurations.
func (p *jobPage) Ended() bool { return p.Job != nil && !p.Job.Ended.IsZero() }

func showJob(ctx context.Context, v *visit) (any, error) {
	id, err := strconv.ParseUint(v.given["id"], 10, 53)
	if err != nil {
		return nil, wire.ErrNotFound
	}
	v.about = strconv.FormatUint(id, 10)
	p := &jobPage{}
	var missing error
	v.ask(ctx, "web.job", later, func(ctx context.Context) error {
		j, err := v.api.Jobs().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Job, p.Seeds = &j, len(j.Seeds)
			j.Seeds, j.Settings = j.Seeds[:min(len(j.Seeds), shownSeeds)], nil
		}
		return err
	})
	v.ask(ctx, "web.part-statistics", soon, func(ctx context.Context) error {
		return here(p.Statistics.set(v.api.Jobs().StatisticsPage(ctx, id, v.at())))
	})
	v.ask(ctx, "web.files", soon, func(ctx context.Context) error {
		q := client.FileQuery{Job: id}
		return here(p.Files.set(v.api.Files().Page(ctx, q, client.Place{Limit: onePage})))
	})
	v.wait()
	return p, missing
}

// here leaves it to the thing itself to be missing, if its parts are.
func here(err error) error {
	if errors.Is(err, wire.ErrNotFound) {
		return nil
	}
	return err
}
