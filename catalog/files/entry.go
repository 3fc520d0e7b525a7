package files

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// maxSize bounds a file, so that sums of sizes stay far from overflow.
const maxSize = 1 << 50

// putFile stores a file's entry and, from the difference to the entry before (nil: none), every key that
// follows from it: shard, root, owed, needed, disputed, source and release lists, totals.
func (s *state) putFile(old, now *File) error {
	now.Version++
	if err := s.putEntry(now); err != nil {
		return err
	}
	shard := now.Name.Shard()
	if old == nil {
		old = &File{Name: now.Name, Size: now.Size, SHA256: now.SHA256, Collection: now.Collection,
			Removed: 1, Released: true}
		s.Mark(keyShard(shard, now.Name))
	}
	if err := s.putRoot(old, now); err != nil {
		return err
	}
	if (old.Lost != 0) != (now.Lost != 0) {
		s.Marked(keyLost(now.Name), now.Lost != 0)
	}
	putHidden(s, old, now)
	s.putSource(old, now)
	if err := s.putNeeds(old, now); err != nil {
		return err
	}
	for _, replica := range replicasOf(old, now) {
		was, is := old.counted(replica), now.counted(replica)
		if owed(was) != owed(is) {
			s.Marked(keyOwed(replica, shard, now.Name), owed(is))
		}
		if disputed(was) != disputed(is) {
			s.Marked(keyDisputed(now.Name, replica), disputed(is))
		}
		was, is = old.Copy(replica), now.Copy(replica)
		if node := surplusAt(was); node != "" && node != surplusAt(is) && node != dueSource(now) {
			s.Delete(keyRelease(node, now.Name))
		}
		if node := surplusAt(is); node != "" {
			s.Mark(keyRelease(node, now.Name))
		}
		was, is = old.counted(replica), now.counted(replica)
		if err := s.putTotals(replica, totalsOf(now.Size, was), totalsOf(now.Size, is)); err != nil {
			return err
		}
	}
	return nil
}

// putRoot keeps the shard's root in step with the entry's coming and going.
func (s *state) putRoot(old, now *File) error {
	if old.counts() == now.counts() {
		return nil
	}
	key := keyRoot(now.Name.Shard(), now.Collection)
	root, _, err := agree.Get[Root](s, key)
	if err != nil {
		return err
	}
	own := RootOf(now.Name, now.Size, now.SHA256)
	if now.counts() {
		root = root.Add(own)
	} else {
		root = root.Sub(own)
	}
	if root == (Root{}) {
		s.Delete(key)
		return nil
	}
	return s.Set(key, root)
}

// putSource updates the lists of the files that sources keep, and of those that they may ask to release.
func (s *state) putSource(old, now *File) {
	keeps := func(f *File) agree.NodeID {
		if f.Released {
			return ""
		}
		return f.Source
	}
	if was, is := keeps(old), keeps(now); was != is {
		if was != "" {
			s.Delete(keySource(was, now.Name))
		}
		if is != "" {
			s.Mark(keySource(is, now.Name))
		}
	}
	if was, is := dueSource(old), dueSource(now); was != is {
		if was != "" {
			s.Delete(keyRelease(was, now.Name))
		}
		if is != "" {
			s.Mark(keyRelease(is, now.Name))
		}
	}
}

// dueSource returns the source when its release is due.
func dueSource(f *File) agree.NodeID {
	if f.Released || f.Removed == 0 && !f.Complete() {
		return ""
	}
	return f.Source
}

func surplusAt(c *Copy) agree.NodeID {
	if c == nil || !c.Surplus {
		return ""
	}
	return c.Node
}

func owed(c *Copy) bool { return c != nil && !c.Surplus && c.State != UploadCompleted }

func disputed(c *Copy) bool { return c != nil && c.Disputed }

func replicasOf(old, now *File) []cluster.ReplicaName {
	var names []cluster.ReplicaName
	for _, f := range []*File{old, now} {
		for i := range f.Copies {
			names = append(names, f.Copies[i].Replica)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// totalsOf returns what one copy counts.
func totalsOf(size int64, c *Copy) Totals {
	if c == nil || c.Surplus {
		return Totals{}
	}
	t := Totals{Files: 1, Bytes: size, Good: 1}
	if c.State != UploadCompleted {
		t.Good, t.Owed = 0, 1
	}
	if c.Disputed {
		t.Disputed = 1
	}
	return t
}

func (s *state) putTotals(replica cluster.ReplicaName, was, is Totals) error {
	if was == is {
		return nil
	}
	t, _, err := agree.Get[Totals](s, keyTotals(replica))
	if err != nil {
		return err
	}
	t.Files += is.Files - was.Files
	t.Bytes += is.Bytes - was.Bytes
	t.Good += is.Good - was.Good
	t.Owed += is.Owed - was.Owed
	t.Disputed += is.Disputed - was.Disputed
	return s.Set(keyTotals(replica), t)
}

// edit returns the entry twice: as it is, and to change.
func edit(f File) (old, now *File) {
	changed := f
	changed.Copies = slices.Clone(f.Copies)
	return &f, &changed
}
