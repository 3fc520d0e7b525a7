package replica

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// rejoin removes a node as lost, gives its shards to another of its replica, and lets it join again.
func (c *cluster) rejoin(name, heir string) {
	c.t.Helper()
	c.must(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID(name), Lost: true})
	replica := member(name).Replica
	for c.fill(replica) {
	}
	c.assign(replica, heir, 0, catalog.Shards)
	token := catalog.JoinToken{ID: "again", SecretHash: [32]byte(heldOf("", []byte("s")).SHA256), Replica: replica, Expires: 1 << 40}
	c.must(catalog.CreateToken, token)
	c.must(catalog.JoinMember, catalog.Joining{Token: "again", Secret: []byte("s"), Member: member(name)})
}

// TestARejoinedNodeGivesUpWhatOthersHave removes a node as lost that joins again with all its files while another one holds
// its shards. Its files go once they are complete without it, not before.
func TestARejoinedNodeGivesUpWhatOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2", "sums-1")
		stop := c.run("north-1", "south-1", "sums-1")
		first := c.node("north-1")
		names := c.node("south-1").putSome(6, 2000)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		stop()
		c.rejoin("north-1", "north-2")
		first.open()
		stop = c.run("north-1", "south-1", "sums-1")
		sleep(t.Context(), time.Hour)
		for i, name := range names {
			if !bytes.Equal(read(t, first.r.store, string(name)), content(uint64(i), 2000)) {
				t.Fatalf("%s was given up while its replica has no other copy", name)
			}
		}
		if s := first.r.Strays(); len(s) != 6 || s[0].State != strayKept || s[0].Size != 2000 || s[0].Where != "files" {
			t.Errorf("strays: %+v", s)
		}
		stop()
		defer c.run("north-1", "south-1", "north-2", "sums-1")()
		c.until("complete", func(v catalog.View) bool {
			for _, name := range names {
				if f, err := v.File(name); err != nil || !f.Complete() {
					return false
				}
			}
			return true
		})
		sleep(t.Context(), time.Hour)
		for _, name := range names {
			if first.r.store.Has(name) {
				t.Errorf("%s is kept for ever", name)
			}
		}
		if s := first.r.Strays(); len(s) != 0 {
			t.Errorf("strays: %+v", s)
		}
	})
}

// TestTheLastGoodBytesAreOffered leaves a file's only right bytes where nobody asks for them: in a shard that the node does
// not hold, received and not placed, in the quarantine. Wrong bytes beside them must not be offered.
func TestTheLastGoodBytesAreOffered(t *testing.T) {
	name, wrong := fileName(1), fileName(2)
	for where, lay := range map[string]func(t *testing.T, s *Store, name catalog.FileName, b []byte){
		"in a shard of others": func(t *testing.T, s *Store, name catalog.FileName, b []byte) {
			if err := keep(s, string(name), b); err != nil {
				t.Fatal(err)
			}
			if name == wrong {
				flip(t, s.Path(name))
			}
		},
		"received": func(t *testing.T, s *Store, name catalog.FileName, b []byte) {
			if name == wrong {
				b = bytes.Repeat([]byte{1}, len(b))
			}
			if err := os.WriteFile(filepath.Join(s.cfg.Incoming, string(name)+partSuffix), b, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"set aside": func(t *testing.T, s *Store, name catalog.FileName, b []byte) {
			if name == wrong {
				b = bytes.Repeat([]byte{1}, len(b))
			}
			path := s.aside(s.cfg.Quarantine, name)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := s.writeReason(path, "could not be read"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "north-1", "south-1", "north-2", "sums-1")
				source, stray := c.node("sums-1"), c.node("north-2")
				bodies := map[catalog.FileName][]byte{name: source.put(name, 1, 3000), wrong: source.put(wrong, 2, 3000)}
				c.must(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID("sums-1"), Lost: true})
				for name, b := range bodies {
					lay(t, stray.r.store, name, b)
				}
				defer c.run("north-1", "south-1", "north-2")()
				c.until("copies are made of the last bytes", func(v catalog.View) bool {
					f, err := v.File(name)
					return err == nil && f.Copy("north").Good() && f.Copy("south").Good()
				})
				sleep(t.Context(), time.Hour)
				if !bytes.Equal(read(t, c.node("south-1").r.store, string(name)), bodies[name]) {
					t.Error("other bytes were copied")
				}
				c.View(func(v catalog.View) error {
					f, err := v.File(wrong)
					if err != nil || f.Source == stray.id || f.Copy("south").Good() {
						t.Errorf("wrong bytes were offered: %+v, %v", f, err)
					}
					return err
				})
				listed := false
				for _, s := range stray.r.Strays() {
					listed = listed || s.Name == wrong && s.State == strayDamaged
				}
				if !listed {
					t.Errorf("the wrong bytes are not listed: %+v", stray.r.Strays())
				}
			})
		})
	}
}

// TestPartsOfCopiesThatNobodyOwesGo leaves parts of a file that is complete elsewhere, of one that is owed here, and of one
// that nobody knows, and wrong bytes in the quarantine.
func TestPartsOfCopiesThatNobodyOwesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2", "sums-1")
		stray := c.node("north-2")
		defer c.run("north-1", "south-1", "north-2", "sums-1")()
		c.node("south-1").put(fileName(1), 1, 3000)
		c.complete(fileName(1))
		s := stray.r.store
		part := func(i int) string { return filepath.Join(s.cfg.Incoming, string(fileName(i))+partSuffix) }
		aside := s.aside(s.cfg.Quarantine, fileName(1))
		old := filepath.Join(s.cfg.Quarantine, string(fileName(1))+"."+time.Now().Add(-40*24*time.Hour).UTC().Format("20060102150405")+"000")
		for _, path := range []string{part(1), part(9), aside, old} {
			if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sleep(t.Context(), time.Hour)
		if isFile(part(1)) || !isFile(part(9)) || !isFile(aside) || isFile(old) {
			t.Errorf("kept: %t %t %t %t", isFile(part(1)), isFile(part(9)), isFile(aside), isFile(old))
		}
		var found []string
		for _, one := range stray.r.Strays() {
			found = append(found, one.Where+": "+one.State)
		}
		if got := strings.Join(found, "\n"); got != "incoming: "+strayUnknown+"\nquarantine: "+strayDamaged {
			t.Errorf("strays:\n%s", got)
		}
	})
}

// TestAHolderGivesUpWhatItsReplicaIsNotToHold narrows a replica while bytes of its files lie with a holder that the catalog
// does not know of, as after a move.
func TestAHolderGivesUpWhatItsReplicaIsNotToHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		defer c.run("north-1", "south-1")()
		north, name := c.node("north-1"), fileName(1)
		b := c.node("south-1").put(name, 1, 2000)
		c.complete(name)
		c.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
		c.must(catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"radio"}})
		for c.fill("north") {
		}
		c.until("the copy is released", func(v catalog.View) bool {
			f, err := v.File(name)
			return err == nil && f.Copy("north") == nil
		})
		sleep(t.Context(), time.Minute)
		if north.r.store.Has(name) {
			t.Fatal("the released copy is still there")
		}
		if err := keep(north.r.store, string(name), b); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 7*time.Hour)
		if north.r.store.Has(name) || len(north.r.Strays()) != 0 {
			t.Errorf("it is kept for ever; strays: %+v", north.r.Strays())
		}
		if !bytes.Equal(read(t, c.node("south-1").r.store, string(name)), b) {
			t.Error("the other copy is gone")
		}
	})
}
