package catalog

import (
	"slices"

	"holdfast/catalog/agree"
)

// maxReplicas bounds the copies of a file and so the keys that one file's entry writes.
const maxReplicas = 64

func found(s *state, b *Founding) (any, error) {
	if s.Cluster.ID != "" {
		return nil, agree.Refuse(agree.Conflict, "this state belongs to cluster %s already", s.Cluster.ID)
	}
	if err := agree.CheckName("cluster id", b.Cluster.ID); err != nil {
		return nil, err
	}
	if b.Cluster.Level < 1 || b.Cluster.Level > b.Member.Level {
		return nil, agree.Refuse(agree.Invalid, "level %d: the founding member supports 1 to %d", b.Cluster.Level, b.Member.Level)
	}
	if len(b.Cluster.Name) > 200 {
		return nil, agree.Refuse(agree.Invalid, "cluster name of %d bytes: at most 200", len(b.Cluster.Name))
	}
	b.Cluster.Founded = s.At
	if err := s.SetCluster(b.Cluster); err != nil {
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
	return nil, s.Event(Found, b.Cluster.ID, "name=%s member=%s", b.Cluster.Name, b.Member.ID)
}

func raiseLevel(s *state, b *LevelChange) (any, error) {
	if b.Level <= s.Cluster.Level {
		return nil, agree.Refuse(agree.Conflict, "level is %d already", s.Cluster.Level)
	}
	members, err := agree.List[Member](s, PrefixMembers, "", 0)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Level < b.Level {
			return nil, agree.Refuse(agree.Conflict, "member %s supports level %d only", m.Name, m.Level)
		}
	}
	old := s.Cluster.Level
	if old < 2 && b.Level >= 2 {
		if err := s.beginSealing(); err != nil {
			return nil, err
		}
	}
	now := s.Cluster
	now.Level = b.Level
	if err := s.SetCluster(now); err != nil {
		return nil, err
	}
	if old < 2 && b.Level >= 3 && s.Cluster.Epoch > 1 { // recovered when nobody was asked to compare; level 2 does not ask
		if err := s.doubtHolders(); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(RaiseLevel, s.Cluster.ID, "from=%d to=%d", old, b.Level)
}

// jobsApart is how many job numbers are left out when the epoch is raised: more than a lost majority can have given to
// jobs that the state from which the cluster goes on has never seen.
const jobsApart = 100_000

// raiseEpoch begins the epoch of a recovered cluster. The number of a job that only those outside have seen is not given
// again, for the files of its attempts bear it in their names.
func raiseEpoch(s *state, b *EpochChange) (any, error) {
	if b.Epoch <= s.Cluster.Epoch {
		return nil, agree.Refuse(agree.Conflict, "epoch is %d already", s.Cluster.Epoch)
	}
	old := s.Cluster.Epoch
	now := s.Cluster
	now.Epoch = b.Epoch
	if err := s.SetCluster(now); err != nil {
		return nil, err
	}
	last, _, err := agree.Get[uint64](s, keyJobs)
	if err != nil {
		return nil, err
	}
	if err := s.Set(keyJobs, (last/jobsApart+2)*jobsApart); err != nil {
		return nil, err
	}
	if err := s.doubtHolders(); err != nil {
		return nil, err
	}
	return nil, s.Event(RaiseEpoch, s.Cluster.ID, "from=%d to=%d reason=%s", old, b.Epoch, agree.ClipReason(b.Reason))
}

func setCollection(s *state, b *Collection) (any, error) {
	there, err := agree.Has(s, keyCollection(b.Name))
	if err != nil || there {
		return nil, err
	}
	if err := s.putCollection(b); err != nil {
		return nil, err
	}
	return nil, s.Event(SetCollection, string(b.Name), "new")
}

func (s *state) putCollection(c *Collection) error {
	if err := agree.CheckName("collection", string(c.Name)); err != nil {
		return err
	}
	c.Created = s.At
	return s.Set(keyCollection(c.Name), c)
}

// setReplica makes or changes a replica. When what it is to hold changes, a Fill begins.
func setReplica(s *state, b *Replica) (any, error) {
	old, there, err := agree.Get[Replica](s, keyReplica(b.Name))
	if err != nil {
		return nil, err
	}
	if err := s.stays(b.Name); err != nil {
		return nil, err
	}
	if there && old.Kind != b.Kind {
		return nil, agree.Refuse(agree.Conflict, "replica %s is of kind %s, which cannot change", b.Name, old.Kind)
	}
	if err := s.putReplica(b); err != nil {
		return nil, err
	}
	word := "new"
	if there {
		word = "changed"
		b.Created = old.Created
		if old.Place == b.Place && slices.Equal(old.Collections, b.Collections) {
			return nil, s.Set(keyReplica(b.Name), old)
		}
		if err := s.Set(keyReplica(b.Name), b); err != nil {
			return nil, err
		}
	}
	if !there || !slices.Equal(old.Collections, b.Collections) {
		if err := s.startFill(b.Name, true); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(SetReplica, string(b.Name), "%s kind=%s place=%s collections=%d", word, b.Kind, b.Place, len(b.Collections))
}

// putReplica checks and stores the replica as a new one, its collections in order.
func (s *state) putReplica(r *Replica) error {
	if err := agree.CheckName("replica", string(r.Name)); err != nil {
		return err
	}
	if r.Kind != Bitarchive && r.Kind != Checksum {
		return agree.Refuse(agree.Invalid, "replica kind %q: want %s or %s", agree.Clip(string(r.Kind), 40), Bitarchive, Checksum)
	}
	if len(r.Place) > 64 {
		return agree.Refuse(agree.Invalid, "place of %d bytes: at most 64", len(r.Place))
	}
	slices.Sort(r.Collections)
	r.Collections = slices.Compact(r.Collections)
	for _, name := range r.Collections {
		there, err := agree.Has(s, keyCollection(name))
		if err != nil {
			return err
		}
		if !there {
			return agree.Refuse(agree.NotFound, "no collection %q", agree.Clip(string(name), 64))
		}
	}
	others, err := agree.Tails(s, PrefixReplicas, "", 0)
	if err != nil {
		return err
	}
	if len(others) >= maxReplicas && !slices.Contains(others, string(r.Name)) {
		return agree.Refuse(agree.Invalid, "there are %d replicas: no more", maxReplicas)
	}
	r.Created = s.At
	return s.Set(keyReplica(r.Name), r)
}
