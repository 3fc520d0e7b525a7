package catalog

import (
	"cmp"
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
	if err := s.Set(keyFile(now.Name), now); err != nil {
		return err
	}
	shard := now.Name.Shard()
	if old == nil {
		old = &File{Name: now.Name, Size: now.Size, SHA256: now.SHA256, Collection: now.Collection, Removed: 1, Released: true}
		s.Mark(keyShard(shard, now.Name))
	}
	if err := s.putRoot(old, now); err != nil {
		return err
	}
	if (old.Lost != 0) != (now.Lost != 0) {
		s.Marked(keyLost(now.Name), now.Lost != 0)
	}
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

// counts reports whether the archive is to have the file's bytes: it is not removed and not declared lost.
func (f *File) counts() bool { return f.Removed == 0 && f.Lost == 0 }

// counted returns the replica's holding as lists and totals see it: a file that is declared lost is in none.
func (f *File) counted(replica ReplicaName) *Copy {
	if f.Lost != 0 {
		return nil
	}
	return f.Copy(replica)
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

// putSource keeps the lists of what sources keep and of what they may ask to release.
func (s *state) putSource(old, now *File) {
	keeps := func(f *File) NodeID {
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
func dueSource(f *File) NodeID {
	if f.Released || f.Removed == 0 && !f.Complete() {
		return ""
	}
	return f.Source
}

func surplusAt(c *Copy) NodeID {
	if c == nil || !c.Surplus {
		return ""
	}
	return c.Node
}

func owed(c *Copy) bool     { return c != nil && !c.Surplus && c.State != UploadCompleted }
func disputed(c *Copy) bool { return c != nil && c.Disputed }

func replicasOf(old, now *File) []ReplicaName {
	var names []ReplicaName
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

func (s *state) putTotals(replica ReplicaName, was, is Totals) error {
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

// addCopy puts a copy into its place among the entry's copies.
func (f *File) addCopy(c Copy) {
	i, _ := slices.BinarySearchFunc(f.Copies, c.Replica, func(c Copy, r ReplicaName) int { return cmp.Compare(c.Replica, r) })
	f.Copies = slices.Insert(f.Copies, i, c)
}

func (f *File) dropCopy(replica ReplicaName) {
	f.Copies = slices.DeleteFunc(f.Copies, func(c Copy) bool { return c.Replica == replica })
}

func addFiles(s *state, b *Additions) (any, error) {
	if err := agree.CheckItems(len(b.Files)); err != nil {
		return nil, err
	}
	replicas, err := cluster.Staying(s.State)
	if err != nil {
		return nil, err
	}
	results := make(itemResults, len(b.Files))
	for i := range b.Files {
		if results[i], err = item(b.Files[i].Name, s.addFile(&b.Files[i], replicas)); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (s *state) addFile(a *Addition, replicas []Replica) error {
	if err := a.Name.Check(); err != nil {
		return agree.Refuse(agree.Invalid, "%v", err)
	}
	if a.Size < 0 || a.Size > maxSize || a.SHA256.IsZero() {
		return agree.Refuse(agree.Invalid, "file %s of %d bytes: want a SHA-256 and 0 to %d bytes", a.Name, a.Size, int64(maxSize))
	}
	if there, err := s.HasCollection(a.Collection); err != nil || !there {
		return agree.OrNotFound(err, "no collection %q", agree.Clip(string(a.Collection), 64))
	}
	if there, err := s.IsMember(a.Source); err != nil || !there {
		return agree.OrNotFound(err, "no member %q", agree.Clip(string(a.Source), 60))
	}
	f, there, err := s.file(a.Name)
	if err != nil {
		return err
	}
	if there {
		return s.addAgain(a, f)
	}
	f = File{Name: a.Name, Size: a.Size, SHA256: a.SHA256, Collection: a.Collection, Source: a.Source, Added: s.At,
		Job: a.Job, Attempt: a.Attempt, Copies: make([]Copy, 0, len(replicas))}
	for i := range replicas {
		if replicas[i].Holds(a.Collection) {
			f.addCopy(Copy{Replica: replicas[i].Name, State: UploadStarted, Since: s.At})
		}
	}
	if !s.roomFor(&f, 4+2*len(f.Copies)) {
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", a.Name)
	}
	return s.putFile(nil, &f)
}

// addAgain handles a file that entered before. When its source is gone or released while a copy is missing,
// the new source takes over.
func (s *state) addAgain(a *Addition, f File) error {
	if f.Size != a.Size || f.SHA256 != a.SHA256 {
		return agree.Refuse(agree.Conflict, "file %s is in the archive with %d bytes, SHA-256 %s", f.Name, f.Size, f.SHA256)
	}
	if f.Removed != 0 {
		return agree.Refuse(agree.Conflict, "file %s was removed: %s", f.Name, f.Reason)
	}
	if f.Lost != 0 {
		return s.foundAgain(f, func(now *File) { now.Source, now.Released = a.Source, false }, "source="+string(a.Source))
	}
	if f.Complete() || f.Source == a.Source && !f.Released {
		return nil
	}
	alive, err := s.IsMember(f.Source)
	if err != nil || alive && !f.Released {
		return err
	}
	if !s.roomFor(&f, 4) {
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", a.Name)
	}
	old, now := edit(f)
	now.Source, now.Released = a.Source, false
	return s.putFile(old, now)
}

// removeFile makes the entry a tombstone and the release of each copy's bytes due.
func removeFile(s *state, b *FileRemoval) (any, error) {
	f, there, err := s.file(b.Name)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no file %q", agree.Clip(string(b.Name), 200))
	}
	if f.SHA256 != b.SHA256 {
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	}
	if f.Removed != 0 {
		return nil, nil
	}
	if err := unchanged(&f, b.Version); err != nil {
		return nil, err
	}
	old, now := edit(f)
	now.Removed, now.Reason, now.Copies = max(s.At, 1), agree.ClipReason(b.Reason), nil
	now.Lost, now.LostWhy = 0, ""
	for _, c := range old.Copies {
		p, err := s.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return nil, err
		}
		if !c.Surplus {
			c.Node = p.Holder
		}
		if alive, err := s.IsMember(c.Node); err != nil {
			return nil, err
		} else if alive {
			c.Surplus, c.Disputed = true, false
			now.Copies = append(now.Copies, c)
		}
		if alive, err := s.IsMember(p.Next); err != nil {
			return nil, err
		} else if alive {
			s.Mark(keyRelease(p.Next, f.Name))
		}
	}
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(RemoveFile, string(f.Name), "sha256=%s reason=%s", f.SHA256, now.Reason)
}
