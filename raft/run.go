package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// maxEntries is how many log entries go in one exchange, and so at most in one batch.
const maxEntries = 256

// Run takes part in consensus until ctx is done or the state can no longer be written. At the end it first hands over
// the leadership. When it returns, log and state are closed and nothing of the node runs.
func (n *Node) Run(ctx context.Context) error {
	n.running.Lock()
	defer n.running.Unlock()
	standing, err := n.storage.standing()
	if err != nil {
		return errors.Join(err, n.Close())
	}
	r, trans, notify, err := n.start()
	if err != nil {
		return errors.Join(err, n.Close())
	}
	inquiry := &inquiry{
		self: n.cfg.Self, round: n.timing.network, forward: n.forward, fail: n.fail,
		mine: standing, answered: map[catalog.NodeID]bool{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Observations block Raft until they are taken, so that none is lost: follow outlives Raft.
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	events := make(chan hraft.Observation, 64)
	observer := hraft.NewObserver(events, true, observed)
	r.RegisterObserver(observer)
	n.raft.set(r)
	var follower, leader sync.WaitGroup
	follower.Go(func() { n.follow(following, events, notify) })
	leader.Go(func() { n.leader.run(ctx, r, trans) })
	leader.Go(func() { inquiry.run(ctx, r, trans.ballot) })
	n.raft.gate.open()

	select {
	case <-ctx.Done():
		n.leader.leave(r)
	case err = <-n.fatal:
	}
	cancel()
	n.raft.stop()
	close(n.storage.room.closing)
	// Raft forgets to answer requests while it shuts down, so all are answered first.
	n.raft.gate.close()
	leader.Wait()
	n.raft.set(nil)
	close(n.snapshots.closing)
	n.layer.Close()
	stopped := r.Shutdown().Error()
	r.DeregisterObserver(observer)
	unfollow()
	follower.Wait()
	n.proposer.relay.end()
	return errors.Join(err, stopped, trans.Close(), n.Close())
}

// Close closes a node that was opened and will not be run. Run closes the node that it ran.
func (n *Node) Close() error {
	n.layer.Close()
	return errors.Join(n.snapshots.close(), n.storage.close())
}

// start starts Raft on the opened log and state.
func (n *Node) start() (*hraft.Raft, transport, chan bool, error) {
	if err := n.storage.step("start"); err != nil {
		return nil, transport{}, nil, err
	}
	trans := newTransport(n.layer, n.timing, n.log)
	notify := make(chan bool, 64)
	conf := configure(n.cfg.Self, n.timing, n.log)
	conf.NotifyCh = notify
	n.setTrailFirst(conf)
	r, err := hraft.NewRaft(conf, n.fsm, n.storage.wal, n.storage.wal, n.snapshots, trans)
	if err != nil {
		return nil, transport{}, nil, errors.Join(fmt.Errorf("start raft: %w", err), trans.Close())
	}
	return r, trans, notify, nil
}

// observed picks the observations that follow handles.
func observed(o *hraft.Observation) bool {
	switch o.Data.(type) {
	case hraft.LeaderObservation, hraft.FailedHeartbeatObservation, hraft.ResumedHeartbeatObservation:
		return true
	}
	return false
}

// follow keeps up with who leads and whom the leader hears.
func (n *Node) follow(ctx context.Context, events <-chan hraft.Observation, notify <-chan bool) {
	for {
		select {
		case <-ctx.Done():
			n.tellLeading(false)
			return
		case leads := <-notify:
			n.contacts.clear()
			n.tellLeading(leads)
			n.raft.changed.announce()
		case o := <-events:
			switch data := o.Data.(type) {
			case hraft.LeaderObservation:
				n.raft.changed.announce()
			case hraft.FailedHeartbeatObservation:
				n.contacts.lost(catalog.NodeID(data.PeerID), data.LastContact)
			case hraft.ResumedHeartbeatObservation:
				n.contacts.heard(catalog.NodeID(data.PeerID))
			}
		}
	}
}

// tellLeading puts the latest value into the channel that Leading returns.
func (n *Node) tellLeading(leads bool) {
	select {
	case <-n.leading:
	default:
	}
	select {
	case n.leading <- leads:
	default:
	}
}

// Leading returns a channel that holds the latest change: true when this node became leader, false when it
// ceased to be. One reader.
func (n *Node) Leading() <-chan bool { return n.leading }

// IsLeader reports whether this node thinks it leads.
func (n *Node) IsLeader() bool { return n.raft.leads() }

// setTrailFirst sets how much log stays before the log's mean entry is known to Raft.
func (n *Node) setTrailFirst(conf *hraft.Config) {
	conf.TrailingLogs = n.trailing()
	n.trail.Store(conf.TrailingLogs)
}

// setTrail tells Raft how many entries make up the log that is to stay behind a marker.
func (n *Node) setTrail() {
	r := n.raft.now()
	if r == nil {
		return
	}
	trailing := n.trailing()
	if n.trail.Swap(trailing) == trailing {
		return
	}
	conf := r.ReloadableConfig()
	conf.TrailingLogs = trailing
	if err := r.ReloadConfig(conf); err != nil {
		n.log.Error("the length of the raft log could not be set", "entries", trailing, "error", err)
	}
}

// trailing returns how many entries of the present mean size fill TrailingMiB.
func (n *Node) trailing() uint64 {
	if n.purging.Load() {
		return 0
	}
	return max(1, uint64(n.cfg.TrailingMiB)<<20/n.storage.wal.mean())
}

// configure returns the library's settings.
func configure(self catalog.NodeID, t timing, log *slog.Logger) *hraft.Config {
	conf := hraft.DefaultConfig()
	conf.LocalID = hraft.ServerID(self)
	conf.HeartbeatTimeout = t.heartbeat
	conf.ElectionTimeout = t.election
	conf.LeaderLeaseTimeout = t.lease
	conf.CommitTimeout = t.commit
	conf.MaxAppendEntries = maxEntries
	conf.SnapshotInterval = t.snapshotEvery
	conf.SnapshotThreshold = t.snapshotAfter
	conf.NoSnapshotRestoreOnStart = true
	conf.NoLegacyTelemetry = true
	conf.ShutdownOnRemove = false
	conf.Logger = libraryLog{log: log}
	return conf
}

// contacts is what the leader knows of nodes that it has not heard from recently.
type contacts struct {
	mu     sync.Mutex
	silent map[catalog.NodeID]time.Time
	led    time.Time // when this node was last seen to lead
}

func (c *contacts) init() { c.silent = make(map[catalog.NodeID]time.Time) }

func (c *contacts) lost(id catalog.NodeID, last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent[id] = last
}

func (c *contacts) heard(id catalog.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.silent, id)
}

func (c *contacts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.silent)
}

// leads notes that this node leads now.
func (c *contacts) leads() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.led = time.Now()
}

// lastLed returns when this node was last seen to lead, the zero time if never.
func (c *contacts) lastLed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.led
}

// since returns how long the node has been silent, 0 when it was heard within a heartbeat.
func (c *contacts) since(id catalog.NodeID) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.silent[id]; ok {
		return time.Since(last)
	}
	return 0
}
