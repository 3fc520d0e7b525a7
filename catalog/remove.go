package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// removeReplica takes out a replica that was added by mistake, or whose nodes are gone and had nothing. A walk over all
// files drops what it owes; when it ends the replica is no more.
func removeReplica(s *state, b *ReplicaRemoval) (any, error) {
	r, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if going, err := s.IsRemoved(r.Name); err != nil || going {
		return nil, err
	}
	if err := s.mayRemove(r); err != nil {
		return nil, err
	}
	if err := s.Event(RemoveReplica, string(r.Name), "kind=%s place=%s reason=%s", r.Kind, r.Place, agree.ClipReason(b.Reason)); err != nil {
		return nil, err
	}
	cluster.BeginRemoval(s.State, r.Name)
	if any, err := agree.HasAny(s, prefixShards); err != nil || !any {
		return nil, orErr(err, func() error { return s.dropReplica(r.Name) })
	}
	return nil, s.startFill(r.Name, true)
}

// orErr returns err, or what do returns when there is none.
func orErr(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// mayRemove refuses while the replica has nodes or verified copies, and for the last one that can hold bytes.
func (s *state) mayRemove(r Replica) error {
	members, err := s.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Replica == r.Name {
			return agree.Refuse(agree.Unsafe, "replica %s has a node, %s: remove its nodes first", r.Name, m.Name)
		}
	}
	totals, _, err := agree.Get[Totals](s, keyTotals(r.Name))
	if err != nil {
		return err
	}
	if totals.Good > 0 {
		return agree.Refuse(agree.Unsafe, "replica %s has %d verified copies", r.Name, totals.Good)
	}
	replicas, err := s.Replicas()
	if err != nil {
		return err
	}
	for _, other := range replicas {
		if other.Name == r.Name || other.Kind != Bitarchive {
			continue
		}
		if going, err := s.IsRemoved(other.Name); err != nil || !going {
			return err
		}
	}
	return agree.Refuse(agree.Unsafe, "replica %s is the only one that can hold files", r.Name)
}

// dropReplica deletes what is left of a replica whose copies have been dropped. No member is of it, so it holds no shards.
func (s *state) dropReplica(name ReplicaName) error {
	for _, key := range []string{keyTotals(name), keyFill(name)} {
		there, err := agree.Has(s, key)
		if err != nil {
			return err
		}
		if there {
			s.Delete(key)
		}
	}
	return cluster.DropReplica(s.State, name)
}

// noneLost refuses while a file of the collection is declared lost: it is in no root, and may turn up again.
func noneLost(s *state, name CollectionName) error {
	if s.Cluster.Level < cluster.LevelOfMarks {
		return nil
	}
	lost, err := agree.Tails(s, prefixLost, "", 0)
	if err != nil {
		return err
	}
	for _, file := range lost {
		if f, there, err := s.file(FileName(file)); err != nil || there && f.Collection == name {
			return agree.OrConflict(err, "file %s of collection %s is declared lost, and may turn up again", file, name)
		}
	}
	return nil
}

// removeCollection takes out a collection that nothing belongs to.
func removeCollection(s *state, b *CollectionRemoval) (any, error) {
	if there, err := s.HasCollection(b.Collection); err != nil || !there {
		return nil, agree.OrNotFound(err, "no collection %q", agree.Clip(string(b.Collection), 64))
	}
	all, err := agree.Tails(s, cluster.PrefixCollections, "", 2)
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		return nil, agree.Refuse(agree.Unsafe, "collection %s is the only one", b.Collection)
	}
	replicas, err := s.Replicas()
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		if len(r.Collections) > 0 && r.Holds(b.Collection) {
			return nil, agree.Refuse(agree.Conflict, "replica %s is to hold collection %s", r.Name, b.Collection)
		}
	}
	for shard := range Shard(Shards) {
		if there, err := agree.Has(s, keyRoot(shard, b.Collection)); err != nil || there {
			return nil, agree.OrConflict(err, "collection %s has files", b.Collection)
		}
	}
	if err := noneLost(s, b.Collection); err != nil {
		return nil, err
	}
	if err := s.noJobs(b.Collection); err != nil {
		return nil, err
	}
	cluster.DropCollection(s.State, b.Collection)
	return nil, s.Event(RemoveCollection, string(b.Collection), "reason=%s", agree.ClipReason(b.Reason))
}

// noJobs refuses while a job of the collection may bring files still.
func (s *state) noJobs(name CollectionName) error {
	for _, state := range []JobState{JobNew, JobSubmitted, JobStarted, JobFailed} {
		jobs, err := NewView(s).Jobs(state, 0, 0)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if job.Collection == name {
				return agree.Refuse(agree.Conflict, "job %d of collection %s is %s", job.ID, name, job.State)
			}
		}
	}
	return nil
}
