package cluster

import (
	"cmp"
	"errors"
	"slices"

	"holdfast/catalog/agree"
)

// Records reads the subject's values, for commands: a value that is not there is no error.
type Records struct{ agree.Reader }

// In returns the records that r shows.
func In(r agree.Reader) Records { return Records{r} }

// HasCollection reports whether there is a collection of that name.
func (r Records) HasCollection(name CollectionName) (bool, error) {
	return agree.Has(r.Reader, keyCollection(name))
}

// Collection returns the collection, and false if there is none.
func (r Records) Collection(name CollectionName) (Collection, bool, error) {
	return agree.Get[Collection](r.Reader, keyCollection(name))
}

// Replica returns the replica, and false if there is none.
func (r Records) Replica(name ReplicaName) (Replica, bool, error) {
	all, err := agree.Remember(r.Reader, PrefixReplicas, func() (map[ReplicaName]Replica, error) {
		list, err := r.Replicas()
		byName := make(map[ReplicaName]Replica, len(list))
		for _, one := range list {
			byName[one.Name] = one
		}
		return byName, err
	})
	one, there := all[name]
	one.Collections = slices.Clone(one.Collections)
	return one, there, err
}

// IsRemoved reports whether the replica is being removed.
func (r Records) IsRemoved(name ReplicaName) (bool, error) {
	return agree.Has(r.Reader, keyRemoval(name))
}

// Kinds returns the kinds of all replicas.
func (r Records) Kinds() (map[ReplicaName]ReplicaKind, error) {
	replicas, err := r.Replicas()
	if err != nil {
		return nil, err
	}
	kinds := make(map[ReplicaName]ReplicaKind, len(replicas))
	for i := range replicas {
		kinds[replicas[i].Name] = replicas[i].Kind
	}
	return kinds, nil
}

// Members returns all members by id.
func (r Records) Members() ([]Member, error) {
	return agree.List[Member](r.Reader, PrefixMembers, "", 0)
}

// MemberIDs returns the ids of at most n members, of all when n is 0.
func (r Records) MemberIDs(n int) ([]agree.NodeID, error) {
	tails, err := agree.Tails(r.Reader, PrefixMembers, "", n)
	out := make([]agree.NodeID, len(tails))
	for i, id := range tails {
		out[i] = agree.NodeID(id)
	}
	return out, err
}

// Member returns the member, and false if there is none.
func (r Records) Member(id agree.NodeID) (Member, bool, error) {
	if id == "" {
		return Member{}, false, nil
	}
	return agree.Get[Member](r.Reader, keyMember(id))
}

// ReplicaOf returns the replica of the member, and false if the node is none. It costs less than Member.
func (r Records) ReplicaOf(id agree.NodeID) (ReplicaName, bool, error) {
	all, err := agree.Remember(r.Reader, PrefixMembers, func() (map[agree.NodeID]ReplicaName, error) {
		members, err := r.Members()
		replicas := make(map[agree.NodeID]ReplicaName, len(members))
		for i := range members {
			replicas[members[i].ID] = members[i].Replica
		}
		return replicas, err
	})
	replica, there := all[id]
	return replica, there, err
}

// IsMember reports whether the node is a member.
func (r Records) IsMember(id agree.NodeID) (bool, error) {
	if id == "" {
		return false, nil
	}
	return agree.Has(r.Reader, keyMember(id))
}

// Replicas returns all replicas by name.
func (r Records) Replicas() ([]Replica, error) {
	return agree.List[Replica](r.Reader, PrefixReplicas, "", 0)
}

// Placement returns where one shard of the replica is.
func (r Records) Placement(replica ReplicaName, shard Shard) (Placement, error) {
	value, err := r.Get([]byte(keyPlacement(replica, shard)))
	if err != nil || value == nil {
		return Placement{}, err
	}
	return decodePlacement(value)
}

// Layout returns the placements of all shards of the replica, which must not be changed: others may have them too.
// There are none of a replica that does not exist.
func (r Records) Layout(replica ReplicaName) ([]Placement, error) {
	prefix := PrefixReplicaLayout(replica)
	all, err := agree.Remember(r.Reader, prefix, func() ([]Placement, error) {
		if _, there, err := r.Replica(replica); err != nil || !there {
			return nil, cmp.Or(err, errNoReplica) // what strangers may ask for is not to be remembered
		}
		return r.layout(prefix)
	})
	if errors.Is(err, errNoReplica) {
		return make([]Placement, Shards), nil
	}
	return all, err
}

var errNoReplica = errors.New("there is no such replica")

func (r Records) layout(prefix string) ([]Placement, error) {
	out := make([]Placement, Shards)
	var failed error
	err := r.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		var shard Shard
		if shard, failed = ParseShard(string(key[len(prefix):])); failed != nil {
			return false
		}
		out[shard], failed = decodePlacement(value)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// HoldsShards reports whether the member holds a shard or is to hold one.
func (r Records) HoldsShards(m *Member) (bool, error) {
	layout, err := r.Layout(m.Replica)
	return slices.ContainsFunc(layout, func(p Placement) bool { return p.Holder == m.ID || p.Next == m.ID }), err
}

// ShardsOf counts the shards that the member holds or is to hold.
func (r Records) ShardsOf(m *Member) (n int, err error) {
	layout, err := r.Layout(m.Replica)
	for _, p := range layout {
		if p.Holder == m.ID || p.Next == m.ID {
			n++
		}
	}
	return n, err
}

// Place puts a shard of the replica somewhere; nowhere when the placement is empty.
func Place(s *agree.State, replica ReplicaName, shard Shard, p Placement) {
	if p == (Placement{}) {
		s.Delete(keyPlacement(replica, shard))
		return
	}
	s.Put(keyPlacement(replica, shard), encodePlacement(p))
}

// Speaker returns the member in whose name the command is proposed.
func Speaker(s *agree.State, node agree.NodeID) (Member, error) {
	if err := s.SpeaksFor(node); err != nil {
		return Member{}, err
	}
	m, there, err := In(s).Member(node)
	if err != nil || !there {
		return Member{}, agree.OrNotFound(err, "no member %q", agree.Clip(string(node), 60))
	}
	return m, nil
}
