// Package control carries out orders on a running crawl: pause, resume and stop; changes of queues, settings and
// blocks; questions about its state. It also reads what an ended crawl wrote.
package control

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/journal"
	"holdfast/crawler/scope"
	"holdfast/harvest"
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
func (c *Orders) Obey(ctx context.Context, o harvest.Order) (harvest.Reply, error) {
	if err := o.Validate(); err != nil {
		return harvest.Reply{}, err
	}
	if o.Act == harvest.ActEvents { // their end is reported when orders are no longer accepted
		return c.Look.eventsAfter(o)
	}
	if !o.Reads() {
		ctx = context.WithoutCancel(ctx)
	}
	during, done, ok := c.Gate.Enter(ctx)
	if !ok {
		return Past(ctx, c.Dir, o)
	}
	defer done()
	ctx = during
	if o.Reads() {
		return c.look(ctx, o)
	}
	n, err := c.act(ctx, o)
	if o.Act == harvest.ActCheckpoint && err == nil {
		all, err := c.Checkpoints.List()
		return harvest.Reply{Checkpoints: all}, err
	}
	reply := harvest.Reply{Count: n}
	if err == nil && slices.Contains([]harvest.Act{harvest.ActPause, harvest.ActResume, harvest.ActStop}, o.Act) {
		reply.Live = c.Look.live() // it may have more than one reason to wait
	}
	return reply, err
}

// act changes something, and returns how many URIs or queues that were.
func (c *Orders) act(ctx context.Context, o harvest.Order) (int64, error) {
	switch o.Act {
	case harvest.ActPause:
		c.Course.Pause(ForOperator, Hold{Reason: o.Reason, By: o.By}, o.For.Std())
	case harvest.ActResume:
		c.Course.Resume(ForOperator, o.By)
	case harvest.ActStop:
		reason := o.Reason
		if reason == "" {
			reason = "stopped"
		}
		c.Course.Stop(reason, o.For.Std(), o.By)
	case harvest.ActKill:
		if n := c.Crew.Kill(o.URL, o.Worker); n > 0 {
			return n, nil
		}
		return 0, harvest.Refused("url", o.URL, "what a worker is fetching")
	case harvest.ActSeeds:
		return c.AddSeeds(o.Seeds, o.By)
	case harvest.ActChange:
		return int64(len(o.Settings)), c.Change(ctx, o.Settings, o.By)
	case harvest.ActBlock, harvest.ActUnblock:
		return c.block(o)
	case harvest.ActForget, harvest.ActNever:
		return c.single(o)
	case harvest.ActCheckpoint:
		return 1, c.checkpoint(ctx, o.Name)
	case harvest.ActRestore:
		return 1, c.restart(o.Name, o.By)
	case harvest.ActDelete:
		return c.delete(ctx, o)
	default:
		return c.steer(ctx, o)
	}
	return 1, nil
}

// look tells something.
func (c *Orders) look(ctx context.Context, o harvest.Order) (r harvest.Reply, err error) {
	switch o.Act {
	case harvest.ActLive:
		r.Live = c.Look.live()
	case harvest.ActExplain:
		r.Explained, err = c.Explainer.Explain(ctx, o)
	case harvest.ActQueues:
		r.Queues, err = c.Look.queues(ctx, o)
	case harvest.ActDomains:
		r.Domains, r.Next, err = c.Look.Domains(ctx, o)
	case harvest.ActURIs:
		r.URIs, r.Next, err = c.Look.uris(ctx, o)
	case harvest.ActCheckpoints:
		r.Checkpoints, err = c.Checkpoints.List()
	case harvest.ActSearch:
		return search(ctx, c.Dir, o)
	case harvest.ActReport:
		return c.report(ctx, o)
	}
	return r, err
}

// report writes a report of the crawl as it is now, and reads it. Later pages are read from the same report.
func (c *Orders) report(ctx context.Context, o harvest.Order) (harvest.Reply, error) {
	name, err := reportOf(o)
	if err != nil {
		return harvest.Reply{}, err
	}
	if o.After == "" {
		if err := c.WriteReport(ctx, name); err != nil {
			return harvest.Reply{}, err
		}
	}
	return readReport(ctx, c.Dir, o)
}
