package catalog

import "slices"

// maxReplicas bounds the copies of a file and so the keys that one file's entry writes.
const maxReplicas = 64

func found(s *state, b *Founding) (any, error) {
	if s.cluster.ID != "" {
		return nil, refuse(Conflict, "this state belongs to cluster %s already", s.cluster.ID)
	}
	if err := checkName("cluster id", b.Cluster.ID); err != nil {
		return nil, err
	}
	if b.Cluster.Level < 1 || b.Cluster.Level > b.Member.Level {
		return nil, refuse(Invalid, "level %d: the founding member supports 1 to %d", b.Cluster.Level, b.Member.Level)
	}
	if len(b.Cluster.Name) > 200 {
		return nil, refuse(Invalid, "cluster name of %d bytes: at most 200", len(b.Cluster.Name))
	}
	b.Cluster.Founded = s.at
	s.cluster = b.Cluster
	if err := s.set(keyCluster, b.Cluster); err != nil {
		return nil, err
	}
	for i := range b.Collections {
		if err := s.putCollection(&b.Collections[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.Replicas {
		if err := s.putReplica(&b.Replicas[i]); err != nil {
			return nil, err
		}
	}
	if err := s.admit(&b.Member); err != nil {
		return nil, err
	}
	if b.Access != nil {
		if err := s.putAccess(b.Access); err != nil {
			return nil, err
		}
	}
	return nil, s.event(Found, b.Cluster.ID, "name=%s member=%s", b.Cluster.Name, b.Member.ID)
}

func raiseLevel(s *state, b *LevelChange) (any, error) {
	if b.Level <= s.cluster.Level {
		return nil, refuse(Conflict, "level is %d already", s.cluster.Level)
	}
	members, err := list[Member](s, PrefixMembers, "", 0)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Level < b.Level {
			return nil, refuse(Conflict, "member %s supports level %d only", m.Name, m.Level)
		}
	}
	old := s.cluster.Level
	if old < 2 && b.Level >= 2 {
		if err := s.beginSealing(); err != nil {
			return nil, err
		}
	}
	s.cluster.Level = b.Level
	if err := s.set(keyCluster, s.cluster); err != nil {
		return nil, err
	}
	if old < 2 && b.Level >= 3 && s.cluster.Epoch > 1 { // recovered when nobody was asked to compare; level 2 does not ask
		if err := s.doubtHolders(); err != nil {
			return nil, err
		}
	}
	return nil, s.event(RaiseLevel, s.cluster.ID, "from=%d to=%d", old, b.Level)
}

// jobsApart is how many job numbers are left out when the epoch is raised: more than a lost majority can have given to
// jobs that the state from which the cluster goes on has never seen.
const jobsApart = 100_000

// raiseEpoch begins the epoch of a recovered cluster. The number of a job that only those outside have seen is not given
// again, for the files of its attempts bear it in their names.
func raiseEpoch(s *state, b *EpochChange) (any, error) {
	if b.Epoch <= s.cluster.Epoch {
		return nil, refuse(Conflict, "epoch is %d already", s.cluster.Epoch)
	}
	old := s.cluster.Epoch
	s.cluster.Epoch = b.Epoch
	if err := s.set(keyCluster, s.cluster); err != nil {
		return nil, err
	}
	last, _, err := get[uint64](s, keyJobs)
	if err != nil {
		return nil, err
	}
	if err := s.set(keyJobs, (last/jobsApart+2)*jobsApart); err != nil {
		return nil, err
	}
	if err := s.doubtHolders(); err != nil {
		return nil, err
	}
	return nil, s.event(RaiseEpoch, s.cluster.ID, "from=%d to=%d reason=%s", old, b.Epoch, clipReason(b.Reason))
}

func setCollection(s *state, b *Collection) (any, error) {
	there, err := has(s, keyCollection(b.Name))
	if err != nil || there {
		return nil, err
	}
	if err := s.putCollection(b); err != nil {
		return nil, err
	}
	return nil, s.event(SetCollection, string(b.Name), "new")
}

func (s *state) putCollection(c *Collection) error {
	if err := checkName("collection", string(c.Name)); err != nil {
		return err
	}
	c.Created = s.at
	return s.set(keyCollection(c.Name), c)
}

// setReplica makes or changes a replica. When what it is to hold changes, a Fill begins.
func setReplica(s *state, b *Replica) (any, error) {
	old, there, err := get[Replica](s, keyReplica(b.Name))
	if err != nil {
		return nil, err
	}
	if err := s.stays(b.Name); err != nil {
		return nil, err
	}
	if there && old.Kind != b.Kind {
		return nil, refuse(Conflict, "replica %s is of kind %s, which cannot change", b.Name, old.Kind)
	}
	if err := s.putReplica(b); err != nil {
		return nil, err
	}
	word := "new"
	if there {
		word = "changed"
		b.Created = old.Created
		if old.Place == b.Place && slices.Equal(old.Collections, b.Collections) {
			return nil, s.set(keyReplica(b.Name), old)
		}
		if err := s.set(keyReplica(b.Name), b); err != nil {
			return nil, err
		}
	}
	if !there || !slices.Equal(old.Collections, b.Collections) {
		if err := s.startFill(b.Name, true); err != nil {
			return nil, err
		}
	}
	return nil, s.event(SetReplica, string(b.Name), "%s kind=%s place=%s collections=%d", word, b.Kind, b.Place, len(b.Collections))
}

// putReplica checks and stores the replica as a new one, its collections in order.
func (s *state) putReplica(r *Replica) error {
	if err := checkName("replica", string(r.Name)); err != nil {
		return err
	}
	if r.Kind != Bitarchive && r.Kind != Checksum {
		return refuse(Invalid, "replica kind %q: want %s or %s", clip(string(r.Kind), 40), Bitarchive, Checksum)
	}
	if len(r.Place) > 64 {
		return refuse(Invalid, "place of %d bytes: at most 64", len(r.Place))
	}
	slices.Sort(r.Collections)
	r.Collections = slices.Compact(r.Collections)
	for _, name := range r.Collections {
		there, err := has(s, keyCollection(name))
		if err != nil {
			return err
		}
		if !there {
			return refuse(NotFound, "no collection %q", clip(string(name), 64))
		}
	}
	others, err := tails(s, PrefixReplicas, "", 0)
	if err != nil {
		return err
	}
	if len(others) >= maxReplicas && !slices.Contains(others, string(r.Name)) {
		return refuse(Invalid, "there are %d replicas: no more", maxReplicas)
	}
	r.Created = s.at
	return s.set(keyReplica(r.Name), r)
}
