package cluster

import (
	"slices"

	"holdfast/catalog/agree"
)

// MaxReplicas bounds the copies of a file, and so the keys that one file's entry writes.
const MaxReplicas = 64

func setCollection(s *agree.State, b *Collection) (any, error) {
	there, err := agree.Has(s, keyCollection(b.Name))
	if err != nil || there {
		return nil, err
	}
	if err := PutCollection(s, b); err != nil {
		return nil, err
	}
	return nil, s.Event(SetCollection, string(b.Name), "new")
}

// PutCollection checks and stores a new collection.
func PutCollection(s *agree.State, c *Collection) error {
	if err := agree.CheckName("collection", string(c.Name)); err != nil {
		return err
	}
	c.Created = s.At
	return s.Set(keyCollection(c.Name), c)
}

// PutReplica checks and stores the replica as a new one, its collections in order.
func PutReplica(s *agree.State, r *Replica) error {
	if err := agree.CheckName("replica", string(r.Name)); err != nil {
		return err
	}
	if r.Kind != Bitarchive && r.Kind != Checksum {
		return agree.Refuse(agree.Invalid, "replica kind %q: want %s or %s", agree.Clip(string(r.Kind), 40),
			Bitarchive, Checksum)
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
	if len(others) >= MaxReplicas && !slices.Contains(others, string(r.Name)) {
		return agree.Refuse(agree.Invalid, "there are %d replicas: no more", MaxReplicas)
	}
	r.Created = s.At
	return s.Set(keyReplica(r.Name), r)
}

// Staying returns the replicas that are not being removed.
func Staying(s *agree.State) ([]Replica, error) {
	replicas, err := In(s).Replicas()
	if err != nil || s.Cluster.Level < 2 {
		return replicas, err
	}
	going, err := agree.Tails(s, prefixRemovals, "", 0) // most often none, and a scan of nothing is remembered
	if err != nil || len(going) == 0 {
		return replicas, err
	}
	return slices.DeleteFunc(replicas, func(r Replica) bool { return slices.Contains(going, string(r.Name)) }), nil
}

// Stays refuses an act on a replica that is being removed.
func Stays(s *agree.State, name ReplicaName) error {
	if s.Cluster.Level < 2 {
		return nil
	}
	if going, err := agree.Has(s, keyRemoval(name)); err != nil || going {
		return agree.OrConflict(err, "replica %s is being removed", name)
	}
	return nil
}

// DropCollection deletes a collection.
func DropCollection(s *agree.State, name CollectionName) error {
	s.Delete(keyCollection(name))
	return unstage(s, func(c *Staged) bool { return slices.Contains(c.Collections, name) })
}

// ChangeReplica stores a replica in the place of the one of its name.
func ChangeReplica(s *agree.State, r *Replica) error { return s.Set(keyReplica(r.Name), r) }

// BeginRemoval marks the replica as one that holds nothing from now on.
func BeginRemoval(s *agree.State, name ReplicaName) { s.Mark(keyRemoval(name)) }

// DropReplica deletes a replica. No member is of it, so it holds no shards.
func DropReplica(s *agree.State, name ReplicaName) error {
	if err := unstage(s, func(c *Staged) bool { return c.Replica == name }); err != nil {
		return err
	}
	return deleteAll(s, keyReplica(name), keyRemoval(name))
}

// deleteAll deletes those of the keys that are there.
func deleteAll(s *agree.State, keys ...string) error {
	for _, key := range keys {
		there, err := agree.Has(s, key)
		if err != nil {
			return err
		}
		if there {
			s.Delete(key)
		}
	}
	return nil
}
