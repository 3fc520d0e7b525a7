package web

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest"
	"holdfast/harvest/act"
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
	v.live = true
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
	Running    bool                   `json:"-"`
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
	if p.Job != nil {
		p.offer(v, id)
	}
	v.live = lasts(p.Job)
	return p, missing
}

// lasts reports whether a job is not known to have ended.
func lasts(job *wire.Job) bool {
	return job == nil || slices.Contains([]wire.JobState{wire.JobNew, wire.JobSubmitted, wire.JobStarted}, job.State)
}

// offer names what can be done with the job as it stands.
func (p *jobPage) offer(v *visit, id uint64) {
	switch p.Job.State {
	case wire.JobStarted:
		p.Running = true
		if p.Job.Wish == wire.WishPause {
			v.offer("jobs", id, "resume")
		} else if p.Job.Wish == "" {
			v.offer("jobs", id, "pause")
		}
		if p.Job.Wish != wire.WishStop {
			v.offer("jobs", id, "stop")
		}
	case wire.JobNew, wire.JobSubmitted:
		if p.Job.Wish != wire.WishStop {
			v.offer("jobs", id, "stop")
		}
	case wire.JobFailed:
		v.offer("jobs", id, "resubmit")
		v.offer("jobs", id, "reject")
	}
}

// shownQueues, shownDomains and shownEvents are how many lines the page of a crawl has of each.
const shownQueues, shownDomains, shownEvents = 100, 50, 50

// crawlPage is what the page of a running crawl shows.
type crawlPage struct {
	Job     *wire.Job                   `json:"job"`
	Live    *harvest.Live               `json:"live"`
	Queues  listed[harvest.Queue]       `json:"queues"`
	Domains listed[harvest.DomainCount] `json:"domains"`
	Events  listed[crawlEvent]          `json:"events"`
	States  []string                    `json:"-"` // that queues can be asked for
}

// crawlEvent is something that happened in a crawl, as its node tells it.
type crawlEvent struct {
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Queue  string    `json:"queue,omitempty"`
	Host   string    `json:"host,omitempty"`
	URI    string    `json:"uri,omitempty"`
	Name   string    `json:"name,omitempty"`
	Names  []string  `json:"names,omitempty"`
	Count  int64     `json:"count,omitempty"`
}

// About is what the event is about.
func (e crawlEvent) About() string {
	return strings.TrimSpace(strings.Join([]string{e.Queue, e.Host, e.URI, e.Name, strings.Join(e.Names, " ")}, " "))
}

// eventsOf reads lines of job.log.
func eventsOf(lines []string) []crawlEvent {
	out := []crawlEvent{}
	for _, line := range lines {
		columns := strings.SplitN(line, " ", 4)
		if len(columns) != 4 {
			continue
		}
		at, err := time.Parse(time.RFC3339, columns[0])
		var e crawlEvent
		if err != nil || json.Unmarshal([]byte(columns[3]), &e) != nil {
			continue
		}
		e.Number, _ = strconv.ParseUint(columns[1], 10, 64)
		e.Time, e.Kind = at, columns[2]
		out = append(out, e)
	}
	return out
}

func (p *crawlPage) lines() (items any, next string, read bool) { return p.Queues.lines() }

func showCrawl(ctx context.Context, v *visit) (any, error) {
	id, err := v.id("id")
	if err != nil {
		return nil, err
	}
	v.about = strconv.FormatUint(id, 10)
	p := &crawlPage{States: []string{"ready", "snoozed", "busy", "inactive", "retired", "frozen"}}
	var missing error
	v.ask(ctx, "web.job", later, func(ctx context.Context) error {
		j, err := v.api.Jobs().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			j.Seeds, j.Settings, p.Job = nil, nil, &j
		}
		return err
	})
	look := func(part string, given act.Act, take func(harvest.Reply)) {
		v.ask(ctx, part, later, func(ctx context.Context) error {
			reply, err := v.api.Jobs().Act(ctx, id, given)
			if err == nil {
				take(reply)
			}
			return here(err)
		})
	}
	look("web.part-live", act.Live{}, func(r harvest.Reply) { p.Live = r.Live })
	queues := act.Queues{Queue: v.query.Get("queue"), State: v.query.Get("state"), Limit: shownQueues}
	look("web.queues", queues, func(r harvest.Reply) { p.Queues.set(wire.Page[harvest.Queue]{Items: r.Queues}, nil) })
	look("web.domains", act.Domains{Limit: shownDomains}, func(r harvest.Reply) {
		p.Domains.set(wire.Page[harvest.DomainCount]{Items: r.Domains}, nil)
	})
	look("web.events", act.Search{Log: "job.log", Limit: shownEvents}, func(r harvest.Reply) {
		p.Events.set(wire.Page[crawlEvent]{Items: eventsOf(r.Lines)}, nil)
	})
	v.wait()
	v.live = lasts(p.Job)
	if p.Live != nil {
		for _, what := range []string{"freeze", "thaw", "retire", "budget", "block", "unblock", "seeds", "set",
			"checkpoint"} {
			v.offer("jobs", id, what)
		}
	}
	return p, missing
}

// here leaves it to the thing itself to be missing, if its parts are.
func here(err error) error {
	if errors.Is(err, wire.ErrNotFound) {
		return nil
	}
	return err
}
