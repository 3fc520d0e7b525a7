package raft

import (
	"testing"
	"time"
)

// What was decided is seen on the other nodes, though nothing follows it and Raft itself would tell of it after an hour
// only; also what a leader that is gone has decided.
func TestTheLastEntryIsTold(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.timing.commit = time.Hour
	a, b, d := three(t, c)
	all := []*running{a, b, d}
	seen := func(what string, want int, nodes ...*running) {
		t.Helper()
		c.eventually(what, func() bool {
			for _, n := range nodes {
				if count(t, n.Node, "x") != want {
					return false
				}
			}
			return true
		})
	}
	for n := range 3 {
		c.propose(all[n], addKind, tinyAdd{Key: "x", N: 1})
		seen("an add is seen everywhere", n+1, all...)
	}
	old := c.leader()
	c.kill(old.cfg.Self)
	var left []*running
	for _, n := range all {
		if n != old {
			left = append(left, n)
		}
	}
	c.propose(left[0], addKind, tinyAdd{Key: "x", N: 1})
	seen("an add under another leader is seen", 4, left...)
}

// A cluster at rest writes nothing: an entry that says that another is committed needs none itself.
func TestNothingIsToldAtRest(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b, d := three(t, c)
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	ends := func() (sum uint64) {
		for _, n := range []*running{a, b, d} {
			last, err := n.storage.wal.LastIndex()
			if err != nil {
				t.Fatal(err)
			}
			sum += last
		}
		return sum
	}
	c.eventually("the logs do not grow any more", func() bool {
		before := ends()
		<-time.After(50 * c.timing.told)
		return ends() == before
	})
}
