// Package control carries out orders on a running crawl: pause, resume and stop; changes of queues, settings and
// blocks; questions about its state. It also reads what an ended crawl wrote.
package control

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/journal"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// codeBlocked is how a URI ends that an operator does not want.
const codeBlocked = -5001

// ValueBlocked begins the names of the frontier's values that record blocks.
const ValueBlocked = "blocked/"

// Orders carries out what operators order of a crawl. All must be given.
type Orders struct {
	Dir         string // the crawl's
	Gate        *Gate
	Course      *Course
	Look        *Look
	Explainer   *Explainer
	Checkpoints *journal.Checkpoints
	Journal     *journal.Journal
	Frontier    *frontier.Frontier
	Crew        *chain.Crew
	Scope       *scope.Scope
	Canon       *scope.Canonicalizer
	Servers     *hosts.Servers
	Events      *events.Hub

	// Acts that the crawl itself carries out: adding seeds, changing settings, writing a report.
	AddSeeds    func(seeds []string, by string) (int64, error)
	Change      func(ctx context.Context, patch map[string]json.RawMessage, by string) error
	WriteReport func(ctx context.Context, name string) error

	blocking sync.Mutex // held while blocks are changed
}

// Obey carries out a valid order while the crawl runs. An order that cannot be carried out is refused with
// harvest.ErrInvalid. An order that changes something is carried out completely, or until the crawl ends, even if ctx
// ends earlier.
func (c *Orders) Obey(ctx context.Context, o act.Order) (harvest.Reply, error) {
	given := o.Act
	if err := act.Check(given); err != nil {
		return harvest.Reply{}, err
	}
	if o, ok := given.(act.Events); ok { // their end is reported when orders are no longer accepted
		return c.Look.eventsAfter(o)
	}
	look, reads := given.(act.Look)
	if !reads {
		ctx = context.WithoutCancel(ctx)
	}
	during, done, ok := c.Gate.Enter(ctx)
	if !ok {
		return Past(ctx, c.Dir, o)
	}
	defer done()
	ctx = during
	if reads {
		return c.look(ctx, look)
	}
	n, err := c.act(ctx, given, o.By)
	reply := harvest.Reply{Count: n}
	if err != nil {
		return reply, err
	}
	switch given.(type) {
	case act.Checkpoint:
		all, err := c.Checkpoints.List()
		return harvest.Reply{Checkpoints: all}, err
	case act.Pause, act.Resume, act.Stop:
		reply.Live = c.Look.live() // it may have more than one reason to wait
	}
	return reply, nil
}

// act changes something, and returns how many URIs or queues that were.
func (c *Orders) act(ctx context.Context, given act.Act, by string) (int64, error) {
	switch a := given.(type) {
	case act.Pause:
		c.Course.Pause(ForOperator, Hold{Reason: a.Reason, By: by}, a.For.Std())
	case act.Resume:
		c.Course.Resume(ForOperator, by)
	case act.Stop:
		c.Course.Stop(cmp.Or(a.Reason, "stopped"), a.For.Std(), by)
	case act.Kill:
		if n := c.Crew.Kill(a.URL, a.Worker); n > 0 {
			return n, nil
		}
		return 0, harvest.Refused("url", a.URL, "what a worker is fetching")
	case act.Seeds:
		return c.AddSeeds(a.Seeds, by)
	case act.Change:
		return int64(len(a.Settings)), c.Change(ctx, a.Settings, by)
	case act.Block:
		return c.block(a.URL, a.Reason, by)
	case act.Unblock:
		return c.unblock(a.URL, a.Reason, by)
	case act.Forget:
		return c.forget(a.URL)
	case act.Never:
		return c.never(a.URL)
	case act.Checkpoint:
		return 1, c.checkpoint(ctx, a.Name)
	case act.Restore:
		return 1, c.restart(a.Name, by)
	case act.Delete:
		return c.delete(ctx, a, by)
	default:
		return c.steer(ctx, given, by)
	}
	return 1, nil
}

// look tells something.
func (c *Orders) look(ctx context.Context, given act.Look) (r harvest.Reply, err error) {
	switch a := given.(type) {
	case act.Live:
		r.Live = c.Look.live()
	case act.Explain:
		r.Explained, err = c.Explainer.Explain(ctx, a)
	case act.Queues:
		r.Queues, err = c.Look.queues(ctx, a)
	case act.Domains:
		r.Domains, r.Next, err = c.Look.Domains(ctx, a)
	case act.URIs:
		r.URIs, r.Next, err = c.Look.uris(ctx, a)
	case act.Checkpoints:
		r.Checkpoints, err = c.Checkpoints.List()
	case act.Search:
		return search(ctx, c.Dir, a)
	case act.Report:
		return c.report(ctx, a)
	}
	return r, err
}

// report writes a report of the crawl as it is now, and reads it. Later pages are read from the same report.
func (c *Orders) report(ctx context.Context, a act.Report) (harvest.Reply, error) {
	name, err := reportOf(a.Name)
	if err != nil {
		return harvest.Reply{}, err
	}
	if a.After == "" {
		if err := c.WriteReport(ctx, name); err != nil {
			return harvest.Reply{}, err
		}
	}
	return readReport(ctx, c.Dir, a)
}
