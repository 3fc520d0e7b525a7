package control

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// steer carries out an order about queues.
func (c *Orders) steer(ctx context.Context, given act.Act, by string) (n int64, err error) {
	e := events.Event{By: by}
	of := func() frontier.QueueFilter { return frontier.QueueFilter{Pattern: whole(e.Queue)} }
	switch a := given.(type) {
	case act.Freeze:
		e.Kind, e.Queue, e.Reason = events.QueueFrozen, a.Queue, a.Reason
		n, err = c.Frontier.Freeze(ctx, of())
	case act.Unfreeze:
		e.Kind, e.Queue, e.Reason = events.QueueThawed, a.Queue, a.Reason
		n, err = c.Frontier.Unfreeze(ctx, of())
	case act.Retire:
		e.Kind, e.Queue, e.Reason = events.QueueRetired, a.Queue, a.Reason
		n, err = c.Frontier.Retire(ctx, of())
	case act.Budget:
		e.Kind, e.Queue, e.Reason = events.QueueBudget, a.Queue, a.Reason
		n, err = c.Frontier.Rebudget(ctx, of(), frontier.Budgets{Session: a.Session, Total: a.Total})
		if err == nil {
			back, unretired := c.Frontier.Unretire(ctx, of())
			n, err = max(n, back), unretired
		}
	default:
		return 0, harvest.Refused("act", string(given.Kind()), "an act of this crawl")
	}
	if err == nil && n == 0 {
		return 0, harvest.Refused("queue", e.Queue, "an expression that a queue's whole name matches")
	}
	if e.Count = n; err == nil {
		c.Events.Publish(e)
	}
	return n, err
}

// delete ends queued URIs and writes each to the log.
func (c *Orders) delete(ctx context.Context, a act.Delete, by string) (int64, error) {
	if err := c.Journal.Settle(ctx); err != nil {
		return 0, err
	}
	now := time.Now()
	n, err := c.Frontier.Delete(ctx, frontier.URIFilter{Queue: whole(a.Queue), URI: part(a.Pattern)},
		func(u frontier.URI) any {
			return &chain.Outcome{Seed: u.Via == "", Line: report.Line{Logged: now, Status: frontier.StatusDeleted,
				Size: -1, URI: u.URL, Path: u.Path, Via: u.Via, Source: u.Source}}
		})
	c.Events.Publish(events.Event{Kind: events.URIsDeleted, Count: n, Reason: a.Queue + " " + a.Pattern, By: by})
	return n, err
}

// block keeps what begins so from being fetched for the rest of the crawl, and returns how many blocks that adds.
func (c *Orders) block(what, reason, by string) (int64, error) {
	return c.changeBlocks(c.Scope.Block, act.Block{}.Kind(), what, reason, by)
}

// unblock lets what begins so be fetched again, and returns how many blocks that ends.
func (c *Orders) unblock(what, reason, by string) (int64, error) {
	end := func(what string) error {
		if err := c.Scope.Unblock(what); err != nil {
			return err
		}
		return c.Servers.ForgetUnreachable()
	}
	return c.changeBlocks(end, act.Unblock{}.Kind(), what, reason, by)
}

// changeBlocks changes what is blocked, keeps the difference, and returns how large that is.
func (c *Orders) changeBlocks(change func(string) error, kind act.Kind, what, reason, by string) (int64, error) {
	n := int64(0)
	c.blocking.Lock()
	defer c.blocking.Unlock()
	before := c.Scope.Blocked()
	if err := change(what); err != nil {
		return 0, err
	}
	now := c.Scope.Blocked()
	for _, one := range before {
		if !slices.Contains(now, one) {
			c.Frontier.SetValue(ValueBlocked+one, nil)
			n++
		}
	}
	for _, one := range now {
		if !slices.Contains(before, one) {
			c.Frontier.SetValue(ValueBlocked+one, []byte("1"))
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	c.Events.Publish(events.Event{Kind: events.HostBlocked, Host: what,
		Reason: strings.TrimSpace(string(kind) + " " + reason), By: by})
	return n, nil
}

// forget makes a URI count as if it had never been seen, and returns how many that were.
func (c *Orders) forget(text string) (int64, error) {
	url, err := normal(text)
	if err != nil {
		return 0, err
	}
	known, err := c.Frontier.Forget(c.Canon.Canonical(url))
	if err != nil || !known {
		return 0, notInFlight(url, err)
	}
	return 1, nil
}

// never ends a URI for good.
func (c *Orders) never(text string) (int64, error) {
	url, err := normal(text)
	if err != nil {
		return 0, err
	}
	line := report.Line{Logged: time.Now(), Status: codeBlocked, Size: -1, URI: url, Annotations: []string{"never"}}
	err = c.Frontier.Never(c.Canon.Canonical(url), codeBlocked, &chain.Outcome{Line: line})
	if err != nil {
		return 0, notInFlight(url, err)
	}
	return 1, nil
}

// normal is the URL that a text stands for.
func normal(text string) (string, error) {
	url, err := cdx.Normalize(text)
	if err != nil {
		return "", harvest.Refused("url", text, "a URL")
	}
	return url, nil
}

// notInFlight refuses an act on a URI that is being fetched; another error, or none, stays as it is.
func notInFlight(url string, err error) error {
	if errors.Is(err, frontier.ErrInFlight) {
		return harvest.Refused("url", url, "one that is not being fetched this moment; kill the fetch first")
	}
	return err
}

// checkpoint saves the state of the crawl at a commit, so that it can be started again from there.
func (c *Orders) checkpoint(ctx context.Context, name string) error {
	name, err := c.Checkpoints.Name(name)
	if err != nil {
		return err
	}
	if err := c.Journal.Settle(ctx); err != nil {
		return err
	}
	if err := c.Checkpoints.Take(ctx, c.Frontier, name); err != nil {
		return err
	}
	c.Course.Note(report.NoteCheckpoint+name, "")
	c.Events.Publish(events.Event{Kind: events.Checkpoint, Name: name})
	return nil
}

// restart asks for the crawl to be started again from a checkpoint: it stops the crawl and records the checkpoint for
// the caller of Run.
func (c *Orders) restart(name, by string) error {
	if err := c.Checkpoints.Check(name); err != nil {
		return err
	}
	c.Course.startFrom(name, by)
	return nil
}

// whole is an expression that has to match a whole name; nil for none.
func whole(expression string) *regexp.Regexp {
	if expression == "" {
		return nil
	}
	x, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return nil // act.Check has compiled it
	}
	return x
}

// part is an expression that is looked for; nil for none.
func part(expression string) *regexp.Regexp {
	x, err := regexp.Compile(expression)
	if err != nil || expression == "" {
		return nil
	}
	return x
}
