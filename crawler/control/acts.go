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
)

// steer carries out an order about queues.
func (c *Orders) steer(ctx context.Context, o harvest.Order) (n int64, err error) {
	filter := frontier.QueueFilter{Pattern: whole(o.Queue)}
	kind := events.QueueBudget
	switch o.Act {
	case harvest.ActFreeze:
		kind = events.QueueFrozen
		n, err = c.Frontier.Freeze(ctx, filter)
	case harvest.ActUnfreeze:
		kind = events.QueueThawed
		n, err = c.Frontier.Unfreeze(ctx, filter)
	case harvest.ActRetire:
		kind = events.QueueRetired
		n, err = c.Frontier.Retire(ctx, filter)
	case harvest.ActBudget:
		n, err = c.Frontier.Rebudget(ctx, filter, frontier.Budgets{Session: o.Session, Total: o.Total})
		if err == nil {
			back, unretired := c.Frontier.Unretire(ctx, filter)
			n, err = max(n, back), unretired
		}
	default:
		return 0, harvest.Refused("act", string(o.Act), "an act of this crawl")
	}
	if err == nil && n == 0 {
		return 0, harvest.Refused("queue", o.Queue, "an expression that a queue's whole name matches")
	}
	if err == nil {
		c.Events.Publish(events.Event{Kind: kind, Queue: o.Queue, Reason: o.Reason, Count: n, By: o.By})
	}
	return n, err
}

// delete ends queued URIs and writes each to the log.
func (c *Orders) delete(ctx context.Context, o harvest.Order) (int64, error) {
	if err := c.Journal.Settle(ctx); err != nil {
		return 0, err
	}
	now := time.Now()
	n, err := c.Frontier.Delete(ctx, frontier.URIFilter{Queue: whole(o.Queue), URI: part(o.Pattern)},
		func(u frontier.URI) any {
			return &chain.Outcome{Seed: u.Via == "", Line: report.Line{Logged: now, Status: frontier.StatusDeleted,
				Size: -1, URI: u.URL, Path: u.Path, Via: u.Via, Source: u.Source}}
		})
	c.Events.Publish(events.Event{Kind: events.URIsDeleted, Count: n, Reason: o.Queue + " " + o.Pattern, By: o.By})
	return n, err
}

// block keeps what begins so from being fetched, or lets it be again, and returns how many blocks that adds or ends. It
// holds for the rest of the crawl.
func (c *Orders) block(o harvest.Order) (n int64, err error) {
	c.blocking.Lock()
	defer c.blocking.Unlock()
	before := c.Scope.Blocked()
	act := c.Scope.Block
	if o.Act == harvest.ActUnblock {
		act = c.Scope.Unblock
	}
	if err := act(o.URL); err != nil {
		return 0, err
	}
	if o.Act == harvest.ActUnblock {
		if err := c.Servers.ForgetUnreachable(); err != nil {
			return 0, err
		}
	}
	now := c.Scope.Blocked()
	for _, what := range before {
		if !slices.Contains(now, what) {
			c.Frontier.SetValue(ValueBlocked+what, nil)
			n++
		}
	}
	for _, what := range now {
		if !slices.Contains(before, what) {
			c.Frontier.SetValue(ValueBlocked+what, []byte("1"))
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	c.Events.Publish(events.Event{Kind: events.HostBlocked, Host: o.URL,
		Reason: strings.TrimSpace(string(o.Act) + " " + o.Reason), By: o.By})
	return n, nil
}

// single carries out an order about one URI.
func (c *Orders) single(o harvest.Order) (int64, error) {
	url, err := cdx.Normalize(o.URL)
	if err != nil {
		return 0, harvest.Refused("url", o.URL, "a URL")
	}
	key := c.Canon.Canonical(url)
	n := int64(1)
	if o.Act == harvest.ActForget {
		var known bool
		if known, err = c.Frontier.Forget(key); !known {
			n = 0
		}
	} else {
		line := report.Line{Logged: time.Now(), Status: codeBlocked, Size: -1, URI: url, Annotations: []string{"never"}}
		err = c.Frontier.Never(key, codeBlocked, &chain.Outcome{Line: line})
	}
	if errors.Is(err, frontier.ErrInFlight) {
		return 0, harvest.Refused("url", url, "one that is not being fetched this moment; kill the fetch first")
	}
	if err != nil {
		return 0, err
	}
	return n, nil
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
		return nil // Validate has compiled it
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
