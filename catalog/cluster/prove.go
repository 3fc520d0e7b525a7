package cluster

import "holdfast/catalog/agree"

// DoubtHolders makes every member compare the copies counted for it with its files, before its copies count in a
// release. The state from which a recovered cluster continues may be older than the nodes' last acts: a node may have
// deleted, long ago, what this state takes for its verified copy. A cluster of level 1 does not ask for this
// comparison.
func DoubtHolders(s *agree.State) error {
	if s.Cluster.Level < 2 {
		return nil
	}
	members, err := agree.Tails(s, PrefixMembers, "", 0)
	if err != nil {
		return err
	}
	for _, id := range members {
		if err := s.Set(keyUnproved(agree.NodeID(id)), s.Cluster.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// trustHolder ends that for a node.
func trustHolder(s *agree.State, node agree.NodeID) error {
	there, err := agree.Has(s, keyUnproved(node))
	if err == nil && there {
		s.Delete(keyUnproved(node))
	}
	return err
}

// Proved refuses what counts on the copies of a node that has to compare them yet.
func Proved(s *agree.State, node agree.NodeID) error {
	if s.Cluster.Level < 2 {
		return nil
	}
	there, err := agree.Has(s, keyUnproved(node))
	if err != nil || !there {
		return err
	}
	m, _, err := In(s).Member(node)
	if err != nil {
		return err
	}
	return agree.Refuse(agree.Unsafe,
		"%s has not yet compared what it has with the catalog, since the cluster was recovered", m.Name)
}

func proveHolding(s *agree.State, b *Proof) (any, error) {
	m, err := Speaker(s, b.Node)
	if err != nil {
		return nil, err
	}
	epoch, there, err := agree.Get[uint64](s, keyUnproved(m.ID))
	if err != nil || !there {
		return nil, err
	}
	if b.Epoch != epoch {
		return nil, agree.Refuse(agree.Conflict, "what was compared was of epoch %d, asked for is epoch %d",
			b.Epoch, epoch)
	}
	s.Delete(keyUnproved(m.ID))
	return nil, s.Event(ProveHolding, string(m.ID), "name=%s epoch=%d", m.Name, epoch)
}
