package catalog

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// setReplica makes or changes a replica. If the collections that it has to hold change, a Fill begins.
func setReplica(s *agree.State, b *Replica) (any, error) {
	old, there, err := cluster.In(s).Replica(b.Name)
	if err != nil {
		return nil, err
	}
	if err := cluster.Stays(s, b.Name); err != nil {
		return nil, err
	}
	if there && old.Kind != b.Kind {
		return nil, agree.Refuse(agree.Conflict, "replica %s is of kind %s, which cannot change", b.Name, old.Kind)
	}
	if err := cluster.PutReplica(s, b); err != nil {
		return nil, err
	}
	word := "new"
	if there {
		word = "changed"
		b.Created = old.Created
		if old.Place == b.Place && slices.Equal(old.Collections, b.Collections) {
			return nil, cluster.ChangeReplica(s, &old)
		}
		if err := cluster.ChangeReplica(s, b); err != nil {
			return nil, err
		}
	}
	if !there || !slices.Equal(old.Collections, b.Collections) {
		if err := files.StartFill(s, b.Name, true); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(SetReplica, string(b.Name), "%s kind=%s place=%s collections=%d", word, b.Kind, b.Place,
		len(b.Collections))
}

// removeReplica removes a replica that was added by mistake, or whose nodes are gone and held nothing. A walk over
// all files drops what the replica owes; when it ends, the replica is deleted.
func removeReplica(s *agree.State, b *ReplicaRemoval) (any, error) {
	r, there, err := cluster.In(s).Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if going, err := cluster.In(s).IsRemoved(r.Name); err != nil || going {
		return nil, err
	}
	if err := mayRemove(s, r); err != nil {
		return nil, err
	}
	if err := s.Event(RemoveReplica, string(r.Name), "kind=%s place=%s reason=%s", r.Kind, r.Place,
		agree.ClipReason(b.Reason)); err != nil {
		return nil, err
	}
	cluster.BeginRemoval(s, r.Name)
	if any, err := files.HasFiles(s); err != nil || !any {
		return nil, orErr(err, func() error { return files.DropReplica(s, r.Name) })
	}
	return nil, files.StartFill(s, r.Name, true)
}

// orErr returns err, or the result of do if err is nil.
func orErr(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// mayRemove refuses while the replica has nodes or verified copies, and for the last one that can hold bytes.
func mayRemove(s *agree.State, r Replica) error {
	members, err := cluster.In(s).Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Replica == r.Name {
			return agree.Refuse(agree.Unsafe, "replica %s has a node, %s: remove its nodes first", r.Name, m.Name)
		}
	}
	totals, err := files.TotalsOf(s, r.Name)
	if err != nil {
		return err
	}
	if totals.Good > 0 {
		return agree.Refuse(agree.Unsafe, "replica %s has %d verified copies", r.Name, totals.Good)
	}
	replicas, err := cluster.In(s).Replicas()
	if err != nil {
		return err
	}
	for _, other := range replicas {
		if other.Name == r.Name || other.Kind != Bitarchive {
			continue
		}
		if going, err := cluster.In(s).IsRemoved(other.Name); err != nil || !going {
			return err
		}
	}
	return agree.Refuse(agree.Unsafe, "replica %s is the only one that can hold files", r.Name)
}

// removeCollection takes out a collection that nothing belongs to.
func removeCollection(s *agree.State, b *CollectionRemoval) (any, error) {
	if there, err := cluster.In(s).HasCollection(b.Collection); err != nil || !there {
		return nil, agree.OrNotFound(err, "no collection %q", agree.Clip(string(b.Collection), 64))
	}
	all, err := agree.Tails(s, cluster.PrefixCollections, "", 2)
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		return nil, agree.Refuse(agree.Unsafe, "collection %s is the only one", b.Collection)
	}
	replicas, err := cluster.In(s).Replicas()
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		if len(r.Collections) > 0 && r.Holds(b.Collection) {
			return nil, agree.Refuse(agree.Conflict, "replica %s is to hold collection %s", r.Name, b.Collection)
		}
	}
	if err := files.NoneOf(s, b.Collection); err != nil {
		return nil, err
	}
	if err := jobs.NoneOf(s, b.Collection); err != nil {
		return nil, err
	}
	if err := domains.NoneOf(s, b.Collection); err != nil {
		return nil, err
	}
	if err := runs.NoneOf(s, b.Collection); err != nil {
		return nil, err
	}
	if err := cluster.DropCollection(s, b.Collection); err != nil {
		return nil, err
	}
	return nil, s.Event(RemoveCollection, string(b.Collection), "reason=%s", agree.ClipReason(b.Reason))
}
