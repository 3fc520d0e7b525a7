package replica

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// overtaken is a catalog that goes on behind a look at it: after is called once, when the look is over and its caller has
// not acted on it yet.
type overtaken struct {
	*cluster
	after func()
}

func (o *overtaken) View(see func(catalog.View) error) error {
	err := o.cluster.View(see)
	if after := o.after; after != nil {
		o.after = nil
		after()
	}
	return err
}

// TestAShardThatComesStraightBackKeepsItsFiles lets a shard come back to a node while the node deletes what it had of it.
// Bytes on their way out must not be taken for a copy, neither for the proof of a whole shard nor by a pull.
func TestAShardThatComesStraightBackKeepsItsFiles(t *testing.T) {
	t.Parallel()
	for name, comeBack := range map[string]func(*node, catalog.FileName) bool{"as its next": provesAgain, "as its holder": pullsAgain} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1", "north-2", "sums-1")
			first, file := c.node("north-1"), fileName(1)
			stop := c.run("north-1", "south-1", "sums-1")
			c.node("south-1").put(file, 1, 3000)
			c.complete(file)
			stop()
			c.assign("north", "north-2", int(file.Shard()), int(file.Shard())+1)
			stop = c.run("north-2")
			c.until("the shard is north-2's", func(v catalog.View) bool {
				p, err := v.Placement("north", file.Shard())
				return err == nil && p.Holder == nodeID("north-2")
			})
			stop()

			counted := make(chan bool, 1)
			first.r.catalog = &overtaken{cluster: c, after: func() {
				go func() { counted <- comeBack(first, file) }()
				select {
				case is := <-counted:
					counted <- is
				case <-time.After(200 * time.Millisecond): // it waits for the deletion
				}
			}}
			if _, err := first.r.releaseHeld(t.Context(), []catalog.FileName{file}); err != nil {
				t.Fatal(err)
			}
			if <-counted && !first.r.store.Has(file) {
				t.Error("bytes were deleted that count as a copy")
			}
		})
	}
}

// provesAgain moves the shard back and reports whether the node would prove that it has all of it.
func provesAgain(n *node, file catalog.FileName) bool {
	n.assign("north", "north-1", int(file.Shard()), int(file.Shard())+1)
	var read []task
	offer := func(f Fetch) (time.Time, error) {
		if p := n.r.puller.pulls.start(f.File, true); p != nil {
			read = append(read, task{p, f.Sources})
		}
		return time.Time{}, nil
	}
	_, complete, _, err := n.r.walkShard(file.Shard(), offer)
	if err == nil && len(read) > 0 { // what lies here is read first
		n.r.carry(n.t.Context(), read[0])
		_, complete, _, err = n.r.walkShard(file.Shard(), offer)
	}
	if err != nil {
		n.t.Error(err)
	}
	return complete
}

// pullsAgain loses the shard's holder, lets the node be that again, and reports whether it vouches for the file then.
func pullsAgain(n *node, file catalog.FileName) bool {
	n.must(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID("north-2"), Lost: true})
	step := &catalog.Fill{Replica: "north"}
	for step != nil {
		res, err := n.Propose(n.t.Context(), catalog.FillReplica, catalog.FillStep{Replica: "north", Shard: step.Shard, After: step.After}, "test")
		if err != nil || res.Refusal != nil {
			n.t.Errorf("fill: %v, %v", res.Refusal, err)
			return false
		}
		step = nil
		if res.Value != nil {
			if err := json.Unmarshal(res.Value, &step); err != nil {
				n.t.Error(err)
			}
		}
	}
	n.must(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{file.Shard()}, Node: n.id})
	owed, _, err := n.Fetches(catalog.Cursor{}, 1)
	if err != nil || len(owed) != 1 {
		n.t.Errorf("owed: %v, %v", owed, err)
		return false
	}
	delete(n.r.puller.pulls.later, file) // its pause since the first copy
	n.r.carry(n.t.Context(), task{n.r.puller.pulls.start(owed[0].File, false), owed[0].Sources})
	return len(n.r.reports.in) > 0
}

// TestAMoveReadsWhatLayThere moves a shard to a node that has its files from earlier, listed in their manifest, with a bit
// of one flipped. The good copy must not be given up for it.
func TestAMoveReadsWhatLayThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "north-2")
		first, second := c.node("north-1"), c.node("north-2")
		names := first.putSome(4, 3000)
		c.complete(names...)
		for i, name := range names[:2] {
			if err := keep(second.r.store, string(name), content(uint64(i), 3000)); err != nil {
				t.Fatal(err)
			}
		}
		flip(t, second.r.store.Path(names[0]))
		c.assign("north", "north-2", 0, catalog.Shards)
		c.until("the shards are north-2's and nothing is left to release", func(v catalog.View) bool {
			layout, err := v.Layout("north")
			left, err2 := v.Left(nodeID("north-1"))
			return err == nil && err2 == nil && len(left) == 0 &&
				!slices.ContainsFunc(layout, func(p catalog.Placement) bool { return p.Holder != nodeID("north-2") })
		})
		for i, name := range names {
			if !bytes.Equal(read(t, second.r.store, string(name)), content(uint64(i), 3000)) {
				t.Errorf("the replica has other bytes of %s, and counts them", name)
			}
		}
		aside, err := filepath.Glob(filepath.Join(second.dir, "quarantine", "*.reason"))
		if err != nil || len(aside) != 1 {
			t.Errorf("quarantine: %v, %v", aside, err)
		}
	})
}

// TestAMoveForgetsWhatTurnsBad flips a bit of a file that was read for a move, and lets the node read it once more. It does
// not prove then that it has the file.
func TestAMoveForgetsWhatTurnsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		first, second := c.node("north-1"), c.node("north-2")
		name := first.putSome(1, 3000)[0]
		stop := c.run("north-1", "south-1")
		c.complete(name)
		stop()
		c.assign("north", "north-2", int(name.Shard()), int(name.Shard())+1)
		proves := func() (complete bool) {
			_, complete, _, err := second.r.walkShard(name.Shard(), func(f Fetch) (time.Time, error) { return time.Time{}, nil })
			if err != nil {
				t.Error(err)
			}
			return complete
		}
		f, err := second.r.entry(name)
		if err != nil {
			t.Fatal(err)
		}
		from, err := second.Sources(f)
		if err != nil {
			t.Fatal(err)
		}
		second.r.carry(t.Context(), task{second.r.puller.pulls.start(f, true), from})
		if !proves() {
			t.Fatal("what has come and was verified is not proved")
		}
		flip(t, second.r.store.Path(name))
		if got, err := second.r.Checksum(t.Context(), "x", name); err != nil || got.SHA256 == f.SHA256 {
			t.Fatalf("%+v, %v", got, err)
		}
		if proves() {
			t.Error("bytes that are known to be wrong are proved for the move, and the good copy is given up")
		}
	})
}
