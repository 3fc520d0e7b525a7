package raft

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/catalog"
)

// stamps is a tiny state machine that remembers the stamps it was given.
type stamps struct {
	tiny
	mu   sync.Mutex
	last catalog.Time
}

func (s *stamps) Apply(tx catalog.Tx, index uint64, data []byte) (catalog.Result, error) {
	var c catalog.Command
	if err := json.Unmarshal(data, &c); err == nil {
		s.mu.Lock()
		s.last = max(s.last, c.At)
		s.mu.Unlock()
	}
	return s.tiny.Apply(tx, index, data)
}

// TestALeaderWhoseClockIsOffStampsNothing moves the leader's clock ten years ahead while it leads and before its loop looks
// at it. A command that comes at once is not stamped by it; the next leader stamps it.
func TestALeaderWhoseClockIsOffStampsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	machine := new(stamps)
	c.machine = machine
	var off atomic.Int64
	c.config = func(cfg *Config) {
		if cfg.Self == "a" {
			cfg.Skew = func() time.Duration { return time.Duration(off.Load()) }
			cfg.Now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		}
	}
	a, b, _ := three(t, c)
	c.eventually("a leads", a.IsLeader)
	off.Store(int64(10 * 365 * 24 * time.Hour))
	command := catalog.Command{Version: 1, Kind: addKind, Body: json.RawMessage(`{"key":"y","n":1}`)}
	if got := a.intake.submit([]catalog.Command{command})[0]; !errors.Is(got.err, errAgain) {
		t.Errorf("a leader ten years ahead answered %+v, want that another is asked", got)
	}
	c.propose(b, addKind, tinyAdd{Key: "x", N: 1})
	if a.IsLeader() {
		t.Error("the node whose clock is off leads still")
	}
	machine.mu.Lock()
	defer machine.mu.Unlock()
	if ahead := time.Until(machine.last.Std()); ahead > time.Hour {
		t.Errorf("a command was stamped %v ahead", ahead)
	}
}

// TestTheOnlyVoterStampsWhateverItsClockSays: nobody else may lead, so it does not stop the cluster.
func TestTheOnlyVoterStampsWhateverItsClockSays(t *testing.T) {
	t.Parallel()
	c := lone(t)
	c.config = func(cfg *Config) { cfg.Skew = func() time.Duration { return time.Hour } }
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
}
