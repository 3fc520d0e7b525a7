package replica

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// raise makes it a cluster of level 2.
func (c *cluster) raise() {
	c.raiseTo(2)
}

func (c *cluster) raiseTo(level int) {
	for id := range c.nodes {
		c.must(catalog.UpdateMember, map[string]any{"id": id, "level": level})
	}
	c.must(catalog.RaiseLevel, catalog.LevelChange{Level: level})
}

// names returns names of files of a series, those of the given shards left out.
func series(prefix string, n int) (names []catalog.FileName) {
	for i := range n {
		names = append(names, catalog.FileName(fmt.Sprintf("%s-%03d.warc.gz", prefix, i)))
	}
	return names
}

// TestANewFileDoesNotWaitForOlderWork fills a third replica with 80 files of 1 MiB, at 1 MiB/s. A new file of 1 kB that
// comes meanwhile is copied at once, and one whose copy was lost likewise.
func TestANewFileDoesNotWaitForOlderWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "west-1")
		c.raise()
		west := c.node("west-1")
		west.config.Bandwidth = 1 << 20
		west.open()
		c.must(catalog.SetCollection, catalog.Collection{Name: "none"})
		c.must(catalog.SetReplica, catalog.Replica{Name: "west", Kind: catalog.Bitarchive, Place: "west", Collections: []catalog.CollectionName{"none"}})
		old := series("old", 80)
		for i, name := range old {
			c.node("north-1").put(name, uint64(i), 1<<20)
		}
		defer c.run("north-1", "south-1")()
		c.complete(old...)
		c.must(catalog.SetReplica, catalog.Replica{Name: "west", Kind: catalog.Bitarchive, Place: "west"})
		for c.fill("west") {
		}
		defer c.run("west-1")()
		copied := func(v catalog.View, replica catalog.ReplicaName, name catalog.FileName) bool {
			f, err := v.File(name)
			return err == nil && f.Copy(replica) != nil && f.Copy(replica).State == catalog.UploadCompleted
		}
		left := func(v catalog.View) int {
			return len(slices.DeleteFunc(slices.Clone(old), func(name catalog.FileName) bool { return copied(v, "west", name) }))
		}
		c.until("the fill is under way", func(v catalog.View) bool { return left(v) < len(old) })
		// A file of the last shard: in the order of shards, all of the fill would come before it.
		fresh := catalog.FileName("fresh.warc.gz")
		for i := 0; fresh.Shard() < catalog.Shards-20; i++ {
			fresh = catalog.FileName(fmt.Sprintf("fresh-%d.warc.gz", i))
		}
		c.node("north-1").put(fresh, 1, 1000)
		var waiting int
		c.until("the new file is copied", func(v catalog.View) bool {
			waiting = left(v)
			return copied(v, "west", fresh)
		})
		if waiting < len(old)/2 {
			t.Errorf("the new file was copied when %d of %d older ones were left", waiting, len(old))
		}
		c.until("nothing starves", func(v catalog.View) bool { return left(v) == 0 })
	})
}

// fill takes a replica's walk one step further, and reports whether there is more.
func (c *cluster) fill(replica catalog.ReplicaName) (more bool) {
	var step catalog.FillStep
	c.View(func(v catalog.View) error {
		fills, err := v.Fills()
		for _, f := range fills {
			if f.Replica == replica {
				step, more = catalog.FillStep{Replica: f.Replica, Shard: f.Shard, After: f.After}, true
			}
		}
		return err
	})
	if more {
		c.must(catalog.FillReplica, step)
	}
	return more
}

// TestNoClassStarves takes from a queue in which there is always more of all classes.
func TestNoClassStarves(t *testing.T) {
	q := newQueue(func() {})
	var taken [classes]int
	for i := range 800 {
		for c := range classes {
			q.offer(c, Fetch{File: catalog.File{Name: catalog.FileName(fmt.Sprint(c, "-", i))}})
		}
		_, c, err := q.take(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		taken[c]++
	}
	if taken != [classes]int{600, 100, 100} {
		t.Errorf("taken of each class: %v", taken)
	}
	q.replace(needed, nil)
	if _, c, _ := q.take(t.Context(), false); c != moving {
		t.Errorf("without what is needed, class %d comes first", c)
	}
}

// pages are duties of which the first page of what goes before others has nothing that can be made.
type pages struct{ Duties }

func (pages) Needed(after catalog.FileName, n int) ([]Fetch, catalog.FileName, error) {
	switch after {
	case "":
		return nil, "m", nil
	case "m":
		return []Fetch{{File: catalog.File{Name: "n"}, Sources: []catalog.NodeID{"x"}}}, "p", nil
	}
	return []Fetch{{File: catalog.File{Name: "z"}, Sources: []catalog.NodeID{"x"}}}, "", nil
}

func (pages) Fetches(catalog.Cursor, int) ([]Fetch, catalog.Cursor, error) {
	return nil, catalog.Cursor{}, nil
}

func (pages) Moves() (Moves, error) { return Moves{}, nil }

// TestWhatIsStuckHoldsNothingUp lets the scout look at what goes before others, page by page: where a page has nothing
// that can be made it asks to be called again, and goes on behind it; what it found before stays.
func TestWhatIsStuckHoldsNothingUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	own := *c.node("north-1").r.puller
	own.duties = pages{}
	s := &scout{puller: &own, queue: newQueue(func() {})}
	for _, want := range []struct {
		found []catalog.FileName
		again bool
	}{{nil, true}, {[]catalog.FileName{"n"}, true}, {[]catalog.FileName{"n", "z"}, true}, {nil, true}} {
		again, err := s.lookNeeded(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var found []catalog.FileName
		for _, f := range s.queue.waiting[needed] {
			found = append(found, f.File.Name)
		}
		if !slices.Equal(found, want.found) || again.IsZero() == want.again {
			t.Errorf("waiting %v, to look again at %v, want %v, %v", found, again, want.found, want.again)
		}
	}
}

// reviving are duties with three pages of each kind, of which the first has a copy that can be made since it was looked
// at last.
type reviving struct {
	Duties
	looks *[2]int
}

func (d reviving) Needed(after catalog.FileName, _ int) ([]Fetch, catalog.FileName, error) {
	next := map[catalog.FileName]catalog.FileName{"": "m", "m": "p"}[after]
	return d.first(0, after == "", "a"), next, nil
}

func (d reviving) Fetches(after catalog.Cursor, _ int) ([]Fetch, catalog.Cursor, error) {
	after.Shard++
	return d.first(1, after.Shard == 1, "b"), catalog.Cursor{Shard: after.Shard % (3 * pagesMost)}, nil
}

func (d reviving) first(kind int, first bool, name catalog.FileName) []Fetch {
	if !first {
		return nil
	}
	if d.looks[kind]++; d.looks[kind] == 1 {
		return nil
	}
	return []Fetch{{File: catalog.File{Name: name}, Sources: []catalog.NodeID{"x"}}}
}

// TestWhatRevivesBehindAWalkIsFound looks when the scout asks for it and never else, as where nothing changes: a copy
// that can be made again behind a walk that is under way does not wait for ever.
func TestWhatRevivesBehindAWalkIsFound(t *testing.T) {
	c := newCluster(t, "north-1", "south-1")
	own := *c.node("north-1").r.puller
	own.duties = reviving{looks: new([2]int)}
	for class, look := range map[class]func(*scout) (time.Time, error){
		needed:  func(s *scout) (time.Time, error) { return s.lookNeeded(t.Context()) },
		filling: func(s *scout) (time.Time, error) { return s.lookOwed(t.Context()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scout{puller: &own, queue: newQueue(func() {})}
			began := time.Now()
			for again := began; len(s.queue.waiting[class]) == 0; {
				if again.IsZero() || time.Since(began) > 10*time.Minute {
					t.Fatalf("class %d: nobody looks again, after %v", class, time.Since(began))
				}
				time.Sleep(time.Until(again))
				var err error
				if again, err = look(s); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
