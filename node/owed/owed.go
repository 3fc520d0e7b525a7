// Package owed says which copies this node owes: for its replica it asks duty, in pages, with the catalog, the living
// nodes, and the time. It wakes the replica when something is due, be it by the catalog or by the time alone.
package owed

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/replica"
)

// Clocks are the node's clocks, as the members compare them.
type Clocks interface {
	Duty() duty.Clock
	Now() time.Time
}

// News returns the names of the files whose entries changed since the last call of Take.
type News interface{ Take() []string }

// Config is what Duties need of the node.
type Config struct {
	Self       catalog.NodeID
	Replica    catalog.ReplicaName
	Kind       catalog.ReplicaKind
	AuditEvery time.Duration // 0: no audits are due
	View       func(func(catalog.View) error) error
	Alive      duty.Alive
	Clocks     Clocks
	Bell       *Bell // is rung when the first of the copies that wait for their turn is due
	News       News
}

// Duties decides for the replica what this node owes. It is safe for concurrent use.
type Duties struct {
	cfg    Config
	lately lately

	mu    sync.Mutex
	timer *time.Timer // rings when the first of the copies that wait for their turn is due
	due   time.Time   // when it rings
}

// New returns the duties of a node.
func New(cfg Config) *Duties { return &Duties{cfg: cfg} }

// Needed returns the owed copies that go before all others and whose turn it is.
func (d *Duties) Needed(after catalog.FileName, n int) ([]replica.Fetch, catalog.FileName, error) {
	lately := d.lately.take(d.cfg.News)
	var page duty.NeededPage
	fetches, _, err := d.page(func(v catalog.View) (duty.Page, error) {
		changed, err := duty.NeededOf(v, d.cfg.Self, d.cfg.Alive, d.cfg.Clocks.Duty(), lately)
		if err != nil {
			return duty.Page{}, err
		}
		page, err = duty.Needed(v, d.cfg.Self, d.cfg.Alive, d.cfg.Clocks.Duty(), after, n)
		page.Idle = changed.Idle
		return changed.And(page.Page), err
	})
	if err == nil {
		d.lately.forget(page.Idle)
	}
	return fetches, page.Next, err
}

// Fetches returns the copies behind the cursor whose turn it is.
func (d *Duties) Fetches(after catalog.Cursor, n int) ([]replica.Fetch, catalog.Cursor, error) {
	return d.page(func(v catalog.View) (duty.Page, error) {
		if d.cfg.Kind == catalog.Checksum {
			return duty.ChecksumFetches(v, d.cfg.Self, d.cfg.Clocks.Duty(), after, n)
		}
		return duty.Fetches(v, d.cfg.Self, d.cfg.Alive, d.cfg.Clocks.Duty(), after, n)
	})
}

// page looks for owed copies. When others wait, the replica's watch is signalled as soon as the first of them is due.
func (d *Duties) page(look func(catalog.View) (duty.Page, error)) ([]replica.Fetch, catalog.Cursor, error) {
	var page duty.Page
	err := d.cfg.View(func(v catalog.View) (err error) {
		page, err = look(v)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) { // a node that has just joined does not see itself in the catalog yet
		return nil, catalog.Cursor{}, nil
	}
	if err != nil {
		return nil, catalog.Cursor{}, fmt.Errorf("find owed copies: %w", err)
	}
	if page.Wake != 0 {
		d.wakeIn(page.Wake.Std().Sub(d.cfg.Clocks.Now()))
	}
	out := make([]replica.Fetch, 0, len(page.Fetches))
	for _, f := range page.Fetches {
		g := replica.Fetch{File: f.File}
		for _, s := range f.Sources {
			g.Sources = append(g.Sources, s.Node)
		}
		out = append(out, g)
	}
	if page.Done {
		return out, catalog.Cursor{}, nil
	}
	return out, page.Next, nil
}

// wakeIn rings after the pause, or at an earlier time that was set before: owed copies are listed in pages, each with
// its own time, and all of them are listed again after a ring.
func (d *Duties) wakeIn(pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pause = max(pause, 50*time.Millisecond)
	at := time.Now().Add(pause)
	if d.timer != nil && d.due.After(time.Now()) {
		if d.due.Before(at) {
			return
		}
		d.timer.Stop()
	}
	d.due, d.timer = at, time.AfterFunc(pause, d.cfg.Bell.Ring)
}

// Releases returns names behind the given one whose bytes this node may ask to release.
func (d *Duties) Releases(after catalog.FileName, n int) (names []catalog.FileName, err error) {
	err = d.cfg.View(func(v catalog.View) error {
		for more := true; more && len(names) == 0; {
			names, after, err = duty.ReleasesDue(v, d.cfg.Self, after, n)
			more = err == nil && after != ""
		}
		return err
	})
	return names, err
}

// Moves returns the shards that come to this node or went away from it.
func (d *Duties) Moves() (replica.Moves, error) {
	var m replica.Moves
	err := d.cfg.View(func(v catalog.View) error {
		layout, err := v.Layout(d.cfg.Replica)
		if err != nil {
			return err
		}
		for s, p := range layout {
			if p.Next == d.cfg.Self {
				m.In = append(m.In, catalog.Shard(s))
			}
		}
		left, err := v.Left(d.cfg.Self)
		for _, l := range left {
			if l.Replica == d.cfg.Replica {
				m.Out = append(m.Out, l.Shard)
			}
		}
		return err
	})
	if err != nil {
		return m, fmt.Errorf("find moving shards: %w", err)
	}
	return m, nil
}

// Audits returns the shards whose next audit is due.
func (d *Duties) Audits() (shards []catalog.Shard, err error) {
	if d.cfg.AuditEvery == 0 {
		return nil, nil
	}
	err = d.cfg.View(func(v catalog.View) error {
		shards, err = duty.AuditsDue(v, d.cfg.Self, catalog.At(d.cfg.Clocks.Now()), d.cfg.AuditEvery, catalog.Shards)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	return shards, err
}
