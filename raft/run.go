package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

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
	// Observations block Raft until they are taken, so that none is lost: the observer outlives Raft.
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	events := make(chan hraft.Observation, 64)
	observer := hraft.NewObserver(events, true, observed)
	r.RegisterObserver(observer)
	n.raft.set(r)
	var follower, leader sync.WaitGroup
	follower.Go(func() { n.observer.run(following, events, notify) })
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
	n.trail.begin(conf)
	r, err := hraft.NewRaft(conf, n.fsm, n.storage.wal, n.storage.wal, n.snapshots, trans)
	if err != nil {
		return nil, transport{}, nil, errors.Join(fmt.Errorf("start raft: %w", err), trans.Close())
	}
	return r, trans, notify, nil
}

// Leading returns a channel that holds the latest change: true when this node became leader, false when it
// ceased to be. One reader.
func (n *Node) Leading() <-chan bool { return n.observer.leading }

// IsLeader reports whether this node thinks it leads.
func (n *Node) IsLeader() bool { return n.raft.leads() }

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
