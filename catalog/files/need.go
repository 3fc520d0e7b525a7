package files

import "holdfast/catalog/cluster"

// enoughGood is the number of verified copies of a file's bytes below which its owed copies go before others.
const enoughGood = 2

// needs reports whether the replica's owed copy of the file goes before moves and fills: the file is new, so that its
// source is to be relieved, or few good copies of its bytes are left.
func (s *state) needs(f *File, c *Copy) (bool, error) {
	if !owed(c) || !f.counts() {
		return false, nil
	}
	if !f.Released {
		return true, nil
	}
	good, err := s.goodCopies(f)
	return good < enoughGood, err
}

// goodCopies counts the verified copies of the file's bytes.
func (s *state) goodCopies(f *File) (good int, err error) {
	if err := s.readKinds(); err != nil {
		return 0, err
	}
	for i := range f.Copies {
		if c := &f.Copies[i]; c.Good() && s.kinds[c.Replica] == cluster.Bitarchive {
			good++
		}
	}
	return good, nil
}

// readKinds reads the kinds of all replicas, once.
func (s *state) readKinds() error {
	if s.kinds != nil {
		return nil
	}
	var err error
	s.kinds, err = s.Kinds()
	return err
}

// putNeeds keeps the list of the most urgent copies in step with an entry. A cluster of level 1 has none: its nodes
// take owed copies by shard.
func (s *state) putNeeds(old, now *File) error {
	if s.Cluster.Level < 2 {
		return nil
	}
	for _, replica := range replicasOf(old, now) {
		was, err := s.needs(old, old.Copy(replica))
		if err != nil {
			return err
		}
		is, err := s.needs(now, now.Copy(replica))
		if err != nil {
			return err
		}
		if was != is {
			s.Marked(keyNeed(replica, now.Name), is)
		}
	}
	return nil
}

// roomFor is room for a change of a file's entry, which from level 2 on changes what its replicas need too.
func (s *state) roomFor(f *File, keys int) bool {
	if s.Cluster.Level >= 2 {
		keys += len(f.Copies)
	}
	return s.Room(keys)
}
