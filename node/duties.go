package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/raft"
	"holdfast/replica"
)

// duties decides for the replica what this node owes, from the catalog, the living nodes, and the time.
type duties struct {
	self       catalog.NodeID
	replica    catalog.ReplicaName
	kind       catalog.ReplicaKind
	auditEvery time.Duration // 0: no audits are due
	view       func(func(catalog.View) error) error
	alive      duty.Alive
	clocks     *membership.Clocks
	bell       *bell
	news       *raft.Keys // of the files whose entries change
	lately     lately

	mu    sync.Mutex
	timer *time.Timer // rings when the first of the copies that wait for their turn is due
	due   time.Time   // when it rings
}

// Needed returns the owed copies that go before all others and whose turn it is.
func (d *duties) Needed(after catalog.FileName, n int) ([]replica.Fetch, catalog.FileName, error) {
	lately := d.lately.take(d.news)
	var page duty.NeededPage
	fetches, _, err := d.page(func(v catalog.View) (duty.Page, error) {
		changed, err := duty.NeededOf(v, d.self, d.alive, d.clocks.Duty(), lately)
		if err != nil {
			return duty.Page{}, err
		}
		page, err = duty.Needed(v, d.self, d.alive, d.clocks.Duty(), after, n)
		page.Idle = changed.Idle
		return changed.And(page.Page), err
	})
	if err == nil {
		d.lately.forget(page.Idle)
	}
	return fetches, page.Next, err
}

// Fetches returns the copies behind the cursor whose turn it is.
func (d *duties) Fetches(after catalog.Cursor, n int) ([]replica.Fetch, catalog.Cursor, error) {
	return d.page(func(v catalog.View) (duty.Page, error) {
		if d.kind == catalog.Checksum {
			return duty.ChecksumFetches(v, d.self, d.clocks.Duty(), after, n)
		}
		return duty.Fetches(v, d.self, d.alive, d.clocks.Duty(), after, n)
	})
}

// page looks for owed copies. When others wait, the replica's watch is signalled as soon as the first of them is due.
func (d *duties) page(look func(catalog.View) (duty.Page, error)) ([]replica.Fetch, catalog.Cursor, error) {
	var page duty.Page
	err := d.view(func(v catalog.View) (err error) {
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
		d.wakeIn(page.Wake.Std().Sub(d.clocks.Now()))
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
func (d *duties) wakeIn(pause time.Duration) {
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
	d.due, d.timer = at, time.AfterFunc(pause, d.bell.ring)
}

// Releases returns names behind the given one whose bytes this node may ask to release.
func (d *duties) Releases(after catalog.FileName, n int) (names []catalog.FileName, err error) {
	err = d.view(func(v catalog.View) error {
		for more := true; more && len(names) == 0; {
			names, after, err = duty.ReleasesDue(v, d.self, after, n)
			more = err == nil && after != ""
		}
		return err
	})
	return names, err
}

// Moves returns the shards that come to this node or went away from it.
func (d *duties) Moves() (replica.Moves, error) {
	var m replica.Moves
	err := d.view(func(v catalog.View) error {
		layout, err := v.Layout(d.replica)
		if err != nil {
			return err
		}
		for s, p := range layout {
			if p.Next == d.self {
				m.In = append(m.In, catalog.Shard(s))
			}
		}
		left, err := v.Left(d.self)
		for _, l := range left {
			if l.Replica == d.replica {
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
func (d *duties) Audits() (shards []catalog.Shard, err error) {
	if d.auditEvery == 0 {
		return nil, nil
	}
	err = d.view(func(v catalog.View) error {
		shards, err = duty.AuditsDue(v, d.self, catalog.At(d.clocks.Now()), d.auditEvery, catalog.Shards)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	return shards, err
}

// auditAge returns how old the last reading of a shard may be before an alert says so.
func auditAge(limits config.Limits) time.Duration {
	if limits.AuditAge != 0 {
		return time.Duration(limits.AuditAge)
	}
	return 2 * time.Duration(limits.AuditEvery)
}

// bell signals all who listen; a listener that has not heard the last signal yet hears one.
type bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

func newBell() *bell { return &bell{listeners: map[chan struct{}]struct{}{}} }

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// listen returns a channel that receives after each ring, and what ends it.
func (b *bell) listen() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	b.listeners[c] = struct{}{}
	b.mu.Unlock()
	return c, func() {
		b.mu.Lock()
		delete(b.listeners, c)
		b.mu.Unlock()
	}
}
