// Package notices tells people what goes wrong. Each node reports the alerts that it alone sees, and the one that leads
// those that all see; what is due to whom is decided by duty; a node that has what it takes claims a notice, delivers
// it, and has agreed that it was told. Without a quorum, a node tells by itself of what it sees. While all is well, the
// one that leads requests the heartbeat's URL each minute.
package notices

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/duty"
)

// Times of a node's looks.
const (
	lookEvery   = 20 * time.Second
	settles     = time.Minute      // after the start, before the first look at alerts: a node does not see all yet
	goneAfter   = 75 * time.Second // for so long an alert is not seen before it is over
	aloneAfter  = time.Minute      // without a quorum
	beatEvery   = time.Minute
	atOnceMost  = 4 // deliveries of this node at a time
	deliverTime = 2 * time.Minute
)

// Agreement is the agreed state, how to propose changes of it, and who leads.
type Agreement interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	Linear(ctx context.Context) error
	IsLeader() bool
}

// Post delivers notices.
type Post interface {
	Can(a *agreed.Address) bool // whether this node can deliver to the address
	Deliver(ctx context.Context, letter *Letter) error
}

// Config is what a Notices needs.
type Config struct {
	Self      catalog.NodeID
	Name      string // of this node
	Agreement Agreement
	Seen      Seen
	Alive     duty.Alive
	Quorum    func() bool
	Now       func() time.Time // the time that the members agree on
	Zones     func(string) (*time.Location, error)
	Post      Post
	Secrets   Secrets
	Heartbeat func(ctx context.Context) error // nil: there is none
	Log       *slog.Logger

	AuditAge    time.Duration // how old the last reading of a shard may be; 0: any age
	Certificate string        // file with that of the ports; empty: none
}

// Seen returns all alerts that the node knows of, with those that it alone sees.
type Seen func(ctx context.Context) ([]alert.Alert, error)

// Notices is a node's part in telling people what goes wrong.
type Notices struct {
	cfg    Config
	absent map[string]time.Time // since when faults are not seen
	lost   time.Time            // since when there is no quorum; zero: there is one
	beat   time.Time            // the last heartbeat
	alone  alone
	latest latest

	mu       sync.Mutex
	under    map[string]bool  // notices that are being delivered
	owed     []agreed.Outcome // how tries ended, that is not agreed yet
	delivers sync.WaitGroup
	slots    chan struct{}
}

// New returns the part of a node that does nothing yet.
func New(cfg Config) *Notices {
	return &Notices{cfg: cfg, absent: map[string]time.Time{}, under: map[string]bool{}, alone: newAlone(),
		slots: make(chan struct{}, atOnceMost)}
}

// Watched are the prefixes of the catalog whose changes Run is to be told of.
func Watched() []string {
	return []string{agreed.PrefixFaults, agreed.PrefixAddresses, agreed.PrefixNotices, catalog.PrefixMembers}
}

// Run reports, delivers and tells until ctx ends, and leaves no delivery behind. changed reports changes of the catalog
// under Watched.
func (n *Notices) Run(ctx context.Context, changed <-chan struct{}) error {
	defer n.delivers.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	began := time.Now()
	for ticks := false; ; {
		if err := n.round(ctx, ticks, ticks && time.Since(began) >= settles); err != nil && ctx.Err() == nil {
			n.cfg.Log.Warn("what is to be told cannot be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			ticks = false
		case <-tick.C:
			ticks = true
		}
	}
}

// round does once what is due. ticks says that it looks at what is to be tidied up, too, and looks at the alerts.
func (n *Notices) round(ctx context.Context, ticks, looks bool) error {
	if is, err := n.agrees(); err != nil || !is {
		return err
	}
	if !n.cfg.Quorum() {
		if n.lost.IsZero() {
			n.lost = n.cfg.Now()
		}
		if !looks || n.cfg.Now().Sub(n.lost) < aloneAfter {
			return nil
		}
		seen, err := n.cfg.Seen(ctx)
		if err != nil {
			return err
		}
		return n.tellAlone(ctx, seen)
	}
	n.lost = time.Time{}
	failed := errors.Join(n.settleOwed(ctx), n.settleAlone(ctx), n.reseal(ctx))
	if ticks {
		failed = errors.Join(failed, n.tidy(ctx))
	}
	if looks {
		seen, err := n.cfg.Seen(ctx)
		if err == nil {
			err = errors.Join(n.report(ctx, seen), n.heartbeat(ctx, seen))
		}
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, n.deliverDue(ctx))
}

// agrees reports whether the cluster keeps faults and addresses.
func (n *Notices) agrees() (is bool, err error) {
	err = n.cfg.Agreement.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		is = c.Level >= agreed.Level
		return err
	})
	return is, err
}

// propose proposes in the node's own name. A refusal, because the state has moved on, is no error.
func (n *Notices) propose(ctx context.Context, kind catalog.Kind, body any) (*catalog.Refusal, error) {
	result, err := n.cfg.Agreement.Propose(ctx, kind, body, string(n.cfg.Self))
	if err == nil && result.Refusal != nil {
		n.cfg.Log.Debug("not agreed", "kind", kind, "reason", result.Refusal.Message)
	}
	return result.Refusal, err
}

// report tells the cluster which alerts began and ended.
func (n *Notices) report(ctx context.Context, seen []alert.Alert) error {
	now := n.cfg.Now()
	is := make(map[string]bool, len(seen))
	for _, a := range seen {
		is[duty.OfAlert(a).Key()] = true
	}
	for key := range n.absent {
		if is[key] {
			delete(n.absent, key)
		}
	}
	kept := map[string]bool{}
	gone := func(key string) bool {
		kept[key] = true
		since, known := n.absent[key]
		if !known {
			n.absent[key] = now
		}
		return known && now.Sub(since) >= goneAfter
	}
	var due agreed.Reporting
	err := n.cfg.Agreement.View(func(v catalog.View) (err error) {
		due, err = duty.AlertsToReport(v, n.cfg.Self, duty.Watching{Node: n.cfg.Name,
			Leads: n.cfg.Agreement.IsLeader(), Seen: seen, Gone: gone})
		return err
	})
	for key := range n.absent {
		if !kept[key] {
			delete(n.absent, key)
		}
	}
	if err != nil || len(due.Raised)+len(due.Cleared) == 0 {
		return err
	}
	_, err = n.propose(ctx, agreed.Report, due)
	return err
}

// tidy removes what is old, on the node that leads.
func (n *Notices) tidy(ctx context.Context) error {
	if !n.cfg.Agreement.IsLeader() {
		return nil
	}
	var old agreed.Dropping
	err := n.cfg.Agreement.View(func(v catalog.View) (err error) {
		old, err = duty.OldNotices(v, n.cfg.Now())
		return err
	})
	if err != nil || len(old.Faults)+len(old.Tests) == 0 {
		return err
	}
	_, err = n.propose(ctx, agreed.Drop, old)
	return err
}

// heartbeat requests the heartbeat's URL, on the node that leads, if nothing bad is known.
func (n *Notices) heartbeat(ctx context.Context, seen []alert.Alert) error {
	now := n.cfg.Now()
	if n.cfg.Heartbeat == nil || !n.cfg.Agreement.IsLeader() || now.Sub(n.beat) < beatEvery {
		return nil
	}
	if err := n.cfg.Agreement.Linear(ctx); err != nil { // it leads indeed, and sees all that was reported
		return err
	}
	well := false
	err := n.cfg.Agreement.View(func(v catalog.View) (err error) { well, err = duty.Well(v, seen); return err })
	if err != nil || !well {
		return err
	}
	n.beat = now
	n.inBackground("heartbeat", func() {
		limited, cancel := context.WithTimeout(ctx, beatEvery/2)
		defer cancel()
		if err := n.cfg.Heartbeat(limited); err != nil && ctx.Err() == nil {
			n.cfg.Log.Warn("the heartbeat was not accepted", "error", err)
		}
	})
	return nil
}

// inBackground does something once at a time, as one of few things at a time.
func (n *Notices) inBackground(what string, do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.under[what] {
		return
	}
	n.under[what] = true
	n.delivers.Go(func() {
		n.slots <- struct{}{}
		defer func() {
			<-n.slots
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.under, what)
		}()
		do()
	})
}
