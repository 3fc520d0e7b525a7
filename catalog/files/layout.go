package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// maxAssign bounds the shards of one Assignment.
const maxAssign = 512

// assignShards gives shards without a holder to the node, makes others move to it, and, for shards that the node
// holds itself, ends a move to another node.
func assignShards(s *state, b *Assignment) (any, error) {
	if len(b.Shards) < 1 || len(b.Shards) > maxAssign {
		return nil, agree.Refuse(agree.Invalid, "%d shards: want 1 to %d", len(b.Shards), maxAssign)
	}
	m, there, err := s.Member(b.Node)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	if m.Replica != b.Replica {
		return nil, agree.Refuse(agree.Conflict, "%s is of replica %s", m.Name, m.Replica)
	}
	for _, shard := range b.Shards {
		if shard >= cluster.Shards {
			return nil, agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", shard, cluster.Shards-1)
		}
		if err := s.assignShard(&m, shard); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(AssignShards, string(b.Replica), "node=%s shards=%d first=%s", m.ID, len(b.Shards), b.Shards[0])
}

func (s *state) assignShard(m *cluster.Member, shard cluster.Shard) error {
	p, err := s.Placement(m.Replica, shard)
	if err != nil {
		return err
	}
	if m.Draining && p.Holder != m.ID {
		return agree.Refuse(agree.Conflict, "%s is draining", m.Name)
	}
	if p.Holder != "" && p.Holder != m.ID {
		alive, err := s.IsMember(p.Holder)
		if err != nil {
			return err
		}
		if !alive {
			return agree.Refuse(agree.Conflict, "shard %s of a lost node is still being given up", shard)
		}
	}
	old := p
	switch p.Holder {
	case "", m.ID:
		p = cluster.Placement{Holder: m.ID}
	default:
		p.Next = m.ID
	}
	if p == old {
		return nil
	}
	cluster.Place(s.State, m.Replica, shard, p)
	if err := s.unleave(m.ID, m.Replica, shard); err != nil {
		return err
	}
	if old.Next == "" || old.Next == m.ID {
		return nil
	}
	if s.Cluster.Level >= 2 { // of a shard that never had files there is nothing to give up
		if any, err := agree.HasAny(s, PrefixShard(shard)); err != nil || !any {
			return err
		}
	}
	return s.leave(old.Next, m.Replica, shard)
}

// leave makes the node's release of a whole shard due, when it is still a member.
func (s *state) leave(node agree.NodeID, replica cluster.ReplicaName, shard cluster.Shard) error {
	alive, err := s.IsMember(node)
	if err != nil || !alive {
		return err
	}
	s.Mark(keyLeft(node, replica, shard))
	return nil
}

func (s *state) unleave(node agree.NodeID, replica cluster.ReplicaName, shard cluster.Shard) error {
	key := keyLeft(node, replica, shard)
	there, err := agree.Has(s, key)
	if err == nil && there {
		s.Delete(key)
	}
	return err
}

func switchShard(s *state, b *Switch) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if b.Shard >= cluster.Shards {
		return nil, agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", b.Shard, cluster.Shards-1)
	}
	replica, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	p, err := s.Placement(b.Replica, b.Shard)
	if err != nil {
		return nil, err
	}
	alive, err := s.IsMember(b.Node)
	if err != nil {
		return nil, err
	}
	if alive && p.Holder == b.Node && p.Next == "" {
		return nil, nil
	}
	if !alive || p.Next != b.Node {
		return nil, agree.Refuse(agree.Conflict, "shard %s of %s is not moving to %s", b.Shard, b.Replica,
			agree.Clip(string(b.Node), 60))
	}
	root, err := s.root(replica, b.Shard)
	if err != nil {
		return nil, err
	}
	if root != b.Root {
		return nil, agree.Refuse(agree.Conflict, "shard %s of %s has %d files, sum %s; proved were %d, sum %s",
			b.Shard, b.Replica, root.Files, root.Sum, b.Root.Files, b.Root.Sum)
	}
	cluster.Place(s.State, b.Replica, b.Shard, cluster.Placement{Holder: b.Node})
	if err := s.leave(p.Holder, b.Replica, b.Shard); err != nil {
		return nil, err
	}
	return nil, s.Event(SwitchShard, string(b.Replica)+"/"+b.Shard.String(), "from=%s to=%s files=%d", p.Holder,
		b.Node, root.Files)
}

func leaveShard(s *state, b *Leaving) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if b.Shard >= cluster.Shards {
		return nil, agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", b.Shard, cluster.Shards-1)
	}
	return nil, s.unleave(b.Node, b.Replica, b.Shard)
}
