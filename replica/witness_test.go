package replica

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestCopiesOfDisputedFilesAreRead: when one node finds wrong bytes, the others read their copies at once and say what they
// have: right ones count as read since, wrong ones are disputed as well. Below their level nobody does.
func TestCopiesOfDisputedFilesAreRead(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		level int
		spoil []string // whose copies have a flipped bit, beside that of north-1
		read  []string // replicas whose copies were read since and are right
		wrong []string // replicas whose copies are disputed
	}{
		"the others are right": {level: files.LevelOfWitnesses, read: []string{"south", "third"}, wrong: []string{"north"}},
		"another one is wrong": {level: files.LevelOfWitnesses, spoil: []string{"south-1"}, read: []string{"third"}, wrong: []string{"north", "south"}},
		"all are wrong":        {level: files.LevelOfWitnesses, spoil: []string{"south-1", "third-1"}, wrong: []string{"north", "south", "third"}},
		"of an earlier level":  {level: files.LevelOfWitnesses - 1, spoil: []string{"south-1"}, wrong: []string{"north"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := runCluster(t, "north-1", "south-1", "third-1", "sums-1")
				c.raiseTo(tt.level)
				name := fileName(1)
				body := c.node("north-1").put(name, 1, 400_000)
				c.complete(name)
				for _, node := range append(tt.spoil, "north-1") {
					bad := bytes.Clone(body)
					bad[len(node)*7+int(node[0])] ^= 1
					if err := os.WriteFile(c.node(node).r.store.Path(name), bad, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := c.node("north-1").r.Again.Verify(t.Context(), name); err != nil {
					t.Fatal(err)
				}
				sleep(t.Context(), 10*time.Second)
				var read, wrong []string
				c.View(func(v catalog.View) error {
					f, err := v.File(name)
					if err != nil {
						t.Fatal(err)
					}
					for i := range f.Copies {
						switch one := &f.Copies[i]; {
						case one.Disputed:
							wrong = append(wrong, string(one.Replica))
						case one.Replica != "sums" && one.Good() && one.Checksum == catalog.ChecksumOK && !f.Unread(one):
							read = append(read, string(one.Replica))
						}
					}
					return nil
				})
				if !slices.Equal(read, tt.read) || !slices.Equal(wrong, tt.wrong) {
					t.Errorf("read since: %v, want %v; disputed: %v, want %v", read, tt.read, wrong, tt.wrong)
				}
				before := c.counts[catalog.FindCopies]
				sleep(t.Context(), 10*time.Minute)
				if after := c.counts[catalog.FindCopies]; after != before {
					t.Errorf("%d more findings without a change", after-before)
				}
			})
		})
	}
}

// TestACopyThatCannotBeReadIsWitnessedLater: a node that is too busy to read tries again, and a file that is lost or removed
// meanwhile is not read for ever.
func TestACopyThatCannotBeReadIsWitnessedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		c.raiseTo(files.LevelOfWitnesses)
		name := fileName(1)
		body := c.node("north-1").put(name, 1, 400_000)
		c.complete(name)
		south := c.node("south-1").r
		var held []func()
		for {
			release, ok := south.hashes.take()
			if !ok {
				break
			}
			held = append(held, release)
		}
		body[9] ^= 1
		if err := os.WriteFile(c.node("north-1").r.store.Path(name), body, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.node("north-1").r.Again.Verify(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		unread := func() (is bool) {
			c.View(func(v catalog.View) error {
				f, err := v.File(name)
				is = err == nil && f.Doubted() > 0 && f.Unread(f.Copy("south"))
				return err
			})
			return is
		}
		sleep(t.Context(), 3*time.Minute)
		if !unread() {
			t.Fatal("read by a node that was busy")
		}
		for _, release := range held {
			release()
		}
		sleep(t.Context(), 2*witnessAgain)
		if unread() {
			t.Error("not read once there was time")
		}
	})
}

// TestTheOutboxIsNoWitness: a node whose copy is gone does not call it right because it is the file's source.
func TestTheOutboxIsNoWitness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "third-1")
		t.Cleanup(c.run("north-1", "south-1")) // the third never gets its copy: the source keeps the bytes
		c.raiseTo(files.LevelOfWitnesses)
		name := fileName(1)
		body := c.node("north-1").put(name, 1, 400_000)
		c.until("two copies", func(v catalog.View) bool {
			f, err := v.File(name)
			return err == nil && f.Copy("north").Good() && f.Copy("south").Good()
		})
		if !c.node("north-1").inOutbox(name) {
			t.Fatal("the source has released its bytes")
		}
		if err := os.Remove(c.node("north-1").r.store.Path(name)); err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(body)
		bad[3] ^= 1
		if err := os.WriteFile(c.node("south-1").r.store.Path(name), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.node("south-1").r.Again.Verify(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 5*time.Minute)
		c.View(func(v catalog.View) error {
			f, err := v.File(name)
			if err != nil || f.Doubted() == 0 {
				t.Fatalf("%+v, %v", f, err)
			}
			if north := f.Copy("north"); north.Good() && !f.Unread(north) {
				t.Errorf("the copy that is gone was called right: %+v", north)
			}
			return nil
		})
	})
}
