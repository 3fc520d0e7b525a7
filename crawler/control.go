package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// codeBlocked is how a URI ends that an operator does not want.
const codeBlocked = -5001

// Obey carries out an order that is valid, while the crawl goes on. What cannot be done is refused with harvest.ErrInvalid. An order that
// changes something is carried out to its end, or that of the crawl, also where ctx ends before.
func (c *Crawl) Obey(ctx context.Context, o harvest.Order) (harvest.Reply, error) {
	if err := o.Validate(); err != nil {
		return harvest.Reply{}, err
	}
	if o.Act == harvest.ActEvents { // its end is told when it takes no orders any more
		return c.eventsAfter(o)
	}
	if !o.Reads() {
		ctx = context.WithoutCancel(ctx)
	}
	during, done, ok := c.listen(ctx)
	if !ok {
		return Past(ctx, c.cfg.Dir, o)
	}
	defer done()
	ctx = during
	if o.Reads() {
		return c.look(ctx, o)
	}
	n, err := c.act(ctx, o)
	if o.Act == harvest.ActCheckpoint && err == nil {
		all, err := c.checkpoints()
		return harvest.Reply{Checkpoints: all}, err
	}
	reply := harvest.Reply{Count: n}
	if err == nil && slices.Contains([]harvest.Act{harvest.ActPause, harvest.ActResume, harvest.ActStop}, o.Act) {
		reply.Live = c.liveFigures() // it may have more than one reason to wait
	}
	return reply, err
}

// listen keeps the crawl open until done is called, if it still takes orders. The context ends when the crawl is cut off.
func (c *Crawl) listen(ctx context.Context) (during context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return nil, nil, false
	}
	c.obeying.Add(1)
	during, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-c.halted:
			cancel()
		case <-over:
		}
	}()
	return during, func() { close(over); cancel(); c.obeying.Done() }, true
}

// act changes something, and returns how many URIs or queues that were.
func (c *Crawl) act(ctx context.Context, o harvest.Order) (int64, error) {
	switch o.Act {
	case harvest.ActPause:
		c.pause(forOperator, hold{reason: o.Reason, by: o.By}, o.For.Std())
	case harvest.ActResume:
		c.resume(forOperator, o.By, nil)
	case harvest.ActStop:
		reason := o.Reason
		if reason == "" {
			reason = "stopped"
		}
		c.stopFor(reason, o.For.Std(), o.By)
	case harvest.ActKill:
		if n := c.workers.kill(o.URL, o.Worker); n > 0 {
			return n, nil
		}
		return 0, refused("url", o.URL, "what a worker is fetching")
	case harvest.ActSeeds:
		return c.AddSeeds(o.Seeds, o.By)
	case harvest.ActChange:
		return int64(len(o.Settings)), c.change(ctx, o.Settings, o.By)
	case harvest.ActBlock, harvest.ActUnblock:
		return c.block(o)
	case harvest.ActForget, harvest.ActNever:
		return c.single(o)
	case harvest.ActCheckpoint:
		return 1, c.checkpoint(ctx, o.Name)
	case harvest.ActRestore:
		return 1, c.restore(o.Name, o.By)
	case harvest.ActDelete:
		return c.delete(ctx, o)
	default:
		return c.steer(ctx, o)
	}
	return 1, nil
}

// steer is what is done to queues.
func (c *Crawl) steer(ctx context.Context, o harvest.Order) (n int64, err error) {
	filter := frontier.QueueFilter{Pattern: whole(o.Queue)}
	kind := events.QueueBudget
	switch o.Act {
	case harvest.ActFreeze:
		kind = events.QueueFrozen
		n, err = c.frontier.Freeze(ctx, filter)
	case harvest.ActUnfreeze:
		kind = events.QueueThawed
		n, err = c.frontier.Unfreeze(ctx, filter)
	case harvest.ActRetire:
		kind = events.QueueRetired
		n, err = c.frontier.Retire(ctx, filter)
	case harvest.ActBudget:
		n, err = c.frontier.Rebudget(ctx, filter, frontier.Budgets{Session: o.Session, Total: o.Total})
		if err == nil {
			back, unretired := c.frontier.Unretire(ctx, filter)
			n, err = max(n, back), unretired
		}
	default:
		return 0, refused("act", string(o.Act), "an act of this crawl")
	}
	if err == nil && n == 0 {
		return 0, refused("queue", o.Queue, "an expression that a queue's whole name matches")
	}
	if err == nil {
		c.publish(events.Event{Kind: kind, Queue: o.Queue, Reason: o.Reason, Count: n, By: o.By})
	}
	return n, err
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

// delete ends queued URIs; each stands in the log.
func (c *Crawl) delete(ctx context.Context, o harvest.Order) (int64, error) {
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	now := time.Now()
	n, err := c.frontier.Delete(ctx, frontier.URIFilter{Queue: whole(o.Queue), URI: part(o.Pattern)}, func(u frontier.URI) any {
		return &outcome{line: report.Line{Logged: now, Status: frontier.StatusDeleted, Size: -1, URI: u.URL, Path: u.Path, Via: u.Via, Source: u.Source}, seed: u.Via == ""}
	})
	c.publish(events.Event{Kind: events.URIsDeleted, Count: n, Reason: o.Queue + " " + o.Pattern, By: o.By})
	return n, err
}

// block keeps what begins so from being fetched, or lets it be again, and returns how many blocks that adds or ends. It holds for the rest
// of the crawl.
func (c *Crawl) block(o harvest.Order) (n int64, err error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	before := c.scope.Blocked()
	act := c.scope.Block
	if o.Act == harvest.ActUnblock {
		act = c.scope.Unblock
	}
	if err := act(o.URL); err != nil {
		return 0, err
	}
	if o.Act == harvest.ActUnblock {
		if err := c.servers.forgetUnreachable(); err != nil {
			return 0, err
		}
	}
	now := c.scope.Blocked()
	for _, what := range before {
		if !slices.Contains(now, what) {
			c.frontier.SetValue(valueBlocked+what, nil)
			n++
		}
	}
	for _, what := range now {
		if !slices.Contains(before, what) {
			c.frontier.SetValue(valueBlocked+what, []byte("1"))
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	c.publish(events.Event{Kind: events.HostBlocked, Host: o.URL, Reason: strings.TrimSpace(string(o.Act) + " " + o.Reason), By: o.By})
	return n, nil
}

// single is what is done to one URI.
func (c *Crawl) single(o harvest.Order) (int64, error) {
	url, err := cdx.Normalize(o.URL)
	if err != nil {
		return 0, refused("url", o.URL, "a URL")
	}
	key := c.canon.Canonical(url)
	n := int64(1)
	if o.Act == harvest.ActForget {
		var known bool
		if known, err = c.frontier.Forget(key); !known {
			n = 0
		}
	} else {
		line := report.Line{Logged: time.Now(), Status: codeBlocked, Size: -1, URI: url, Annotations: []string{"never"}}
		err = c.frontier.Never(key, codeBlocked, &outcome{line: line})
	}
	if errors.Is(err, frontier.ErrInFlight) {
		return 0, refused("url", url, "one that is not being fetched this moment; kill the fetch first")
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// change changes settings and lets what they hold for know.
func (c *Crawl) change(ctx context.Context, patch map[string]json.RawMessage, by string) error {
	if err := c.Change(patch); err != nil {
		return err
	}
	names := []string{}
	for name := range patch {
		names = append(names, name)
	}
	slices.Sort(names)
	c.publish(events.Event{Kind: events.SettingsChanged, Names: names, By: by})
	return c.repolicy(ctx)
}

// look tells something.
func (c *Crawl) look(ctx context.Context, o harvest.Order) (r harvest.Reply, err error) {
	switch o.Act {
	case harvest.ActLive:
		r.Live = c.liveFigures()
	case harvest.ActExplain:
		r.Explained, err = c.Explain(ctx, o)
	case harvest.ActQueues:
		r.Queues, err = c.queues(ctx, o)
	case harvest.ActDomains:
		r.Domains, r.Next, err = c.listDomains(ctx, o)
	case harvest.ActURIs:
		r.URIs, r.Next, err = c.uris(ctx, o)
	case harvest.ActCheckpoints:
		r.Checkpoints, err = c.checkpoints()
	case harvest.ActSearch:
		return search(ctx, c.cfg.Dir, o)
	case harvest.ActReport:
		return c.report(ctx, o)
	}
	return r, err
}

// refused says that an order cannot be carried out.
func refused(field, given, allowed string) error {
	return fmt.Errorf("%w: %s: given %q, allowed: %s", harvest.ErrInvalid, field, given, allowed)
}
