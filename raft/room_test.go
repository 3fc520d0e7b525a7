package raft

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// roomy is a disk that is never full.
func roomy() *room { return newRoom(func() (uint64, error) { return 1 << 40, nil }, quiet()) }

// disks are the disks of a cluster's nodes, with as many bytes left as a test says.
type disks map[catalog.NodeID]*atomic.Uint64

// shrinking gives each of the nodes a disk whose room the test sets.
func shrinking(c *cluster, ids ...catalog.NodeID) disks {
	d := disks{}
	for _, id := range ids {
		d[id] = &atomic.Uint64{}
		d[id].Store(1 << 40)
	}
	c.free = func(id catalog.NodeID) func() (uint64, error) {
		return func() (uint64, error) { return d[id].Load(), nil }
	}
	return d
}

// TestFullDiskOfALeader fills the leader's disk step by step: it refuses its callers and gives the leadership away, then it
// applies nothing while the others go on, and it goes on by itself when there is room.
func TestFullDiskOfALeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	d := shrinking(c, "a", "b", "c")
	three(t, c)
	old := c.leader()
	id := old.cfg.Self
	c.propose(old, addKind, tinyAdd{Key: "x", N: 1})

	d[id].Store(RoomToDecide - 1)
	c.eventually("the leadership is given away", func() bool { return !old.IsLeader() && c.leader() != old })
	if err := old.Room(); !errors.Is(err, ErrNoRoom) || !errors.Is(err, disk.ErrFull) {
		t.Errorf("the node says of its room: %v", err)
	}
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	c.eventually("what others decide is applied still", func() bool { return count(t, old.Node, "x") == 2 })

	d[id].Store(roomToWrite - 1)
	c.eventually("the node has looked at its disk", func() bool { return old.storage.room.atLeast(roomToWrite) != nil })
	for range 3 {
		c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	}
	if got := count(t, old.Node, "x"); got != 2 {
		t.Errorf("on a full disk the node's counter went to %d", got)
	}
	d[id].Store(1 << 40)
	c.eventually("with room made, the node catches up", func() bool { return count(t, old.Node, "x") == 5 })
}

// TestFullDiskOfAllVoters has nobody to give the leadership to: commands are refused, reads are answered, and the node stops in
// order while it waits for room.
func TestFullDiskOfAllVoters(t *testing.T) {
	t.Parallel()
	c := lone(t)
	d := shrinking(c, "a")
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	d["a"].Store(roomToAccept - 1)
	c.eventually("commands are refused", func() bool {
		_, err := a.Propose(context.Background(), addKind, tinyAdd{Key: "x", N: 1}, "")
		return errors.Is(err, ErrNoRoom)
	})
	if err := a.Linear(context.Background()); err != nil {
		t.Errorf("a linear read on a full disk: %v", err)
	}
	before := count(t, a.Node, "x")
	d["a"].Store(1 << 40)
	c.eventually("with room made, commands are taken", func() bool {
		_, err := a.Propose(context.Background(), addKind, tinyAdd{Key: "x", N: 1}, "")
		return err == nil
	})
	if got := count(t, a.Node, "x"); got != before+1 {
		t.Errorf("the counter is %d after %d and one more", got, before)
	}
}

// TestStoppingWhileThereIsNoRoom ends a node that has decisions it cannot apply, and starts it again.
func TestStoppingWhileThereIsNoRoom(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	d := shrinking(c, "a", "b", "c")
	three(t, c)
	leader := c.leader()
	var id catalog.NodeID
	for other := range c.nodes {
		if other != leader.cfg.Self {
			id = other
		}
	}
	d[id].Store(0)
	full := c.nodes[id]
	c.eventually("the node has looked at its disk", func() bool { return full.storage.room.atLeast(roomToWrite) != nil })
	before := count(t, full.Node, "x")
	for range 3 {
		c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	}
	c.stop(id)
	d[id].Store(1 << 40)
	back := c.start(id)
	c.eventually("it catches up", func() bool { return count(t, back.Node, "x") == before+3 })
}

// TestLogHasASpareFile rotates the log: each next file is there, with its blocks, before it is needed.
func TestLogHasASpareFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const segment = 64 << 10
	l, err := openLog(dir, segment, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 100; i++ {
		if err := l.StoreLog(entryOf(i, 4<<10)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, spareName))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just become the log's file
		}
		if err != nil {
			t.Fatal(err)
		}
		if has := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != segment || has < segment {
			t.Fatalf("the spare file has %d bytes and blocks for %d", info.Size(), has)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = openLog(dir, segment, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if last, err := l.LastIndex(); err != nil || last != 100 {
		t.Errorf("the log ends at %d %v", last, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestLogWithoutRoom takes no entry when its next file cannot be made, and takes them again later: the library would never.
func TestLogWithoutRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLog(dir, 64<<10, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := l.StoreLog(entryOf(1, 10)); err != nil {
		t.Fatal(err)
	}
	l.spares.mu.Lock()
	l.spares.there = false
	l.spares.dir = filepath.Join(dir, "gone")
	l.spares.mu.Unlock()
	if err := l.StoreLog(entryOf(2, 10)); err == nil {
		t.Fatal("an entry was taken though the log's next file could not be made")
	}
	l.spares.mu.Lock()
	l.spares.dir = dir
	l.spares.mu.Unlock()
	for i := uint64(2); i < 60; i++ {
		if err := l.StoreLog(entryOf(i, 4<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestWaitingForRoomEnds lets entries that replace others wait for room, until the node stops.
func TestWaitingForRoomEnds(t *testing.T) {
	t.Parallel()
	r := newRoom(func() (uint64, error) { return 0, nil }, quiet())
	ended := make(chan error, 1)
	go func() { ended <- r.wait(func() error { return r.atLeast(1) }) }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	close(r.closing)
	if err := <-ended; !errors.Is(err, ErrStopped) {
		t.Errorf("it ended with %v", err)
	}
}

// entryOf returns an entry of a size.
func entryOf(index uint64, size int) *hraft.Log {
	return &hraft.Log{Index: index, Term: 1, Type: hraft.LogCommand, Data: make([]byte, size)}
}

// ledgerOf keeps what a log holds in a folder of its own.
func ledgerOf(t testing.TB) *ledger {
	t.Helper()
	l, err := openLedger(t.TempDir(), disk.New(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	return l
}
