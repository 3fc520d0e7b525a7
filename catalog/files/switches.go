package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// switchShards lets a node take over shards that have no files, many at a time: there is nothing to prove of them.
func switchShards(s *state, b *Switches) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if err := checkShards(b.Shards); err != nil {
		return nil, err
	}
	replica, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if alive, err := s.IsMember(b.Node); err != nil || !alive {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	switched := 0
	for _, shard := range b.Shards {
		if !s.Room(2) {
			break
		}
		done, err := s.switchEmpty(replica, shard, b.Node)
		if err != nil {
			return nil, err
		}
		if done {
			switched++
		}
	}
	if switched == 0 {
		return nil, agree.Refuse(agree.Conflict, "none of the %d shards is without files and moving to %s",
			len(b.Shards), agree.Clip(string(b.Node), 60))
	}
	return nil, s.Event(SwitchShards, string(b.Replica), "to=%s shards=%d first=%s", b.Node, switched, b.Shards[0])
}

// switchEmpty reports whether the shard has no files and moved to the node.
func (s *state) switchEmpty(replica cluster.Replica, shard cluster.Shard, to agree.NodeID) (bool, error) {
	p, err := s.Placement(replica.Name, shard)
	if err != nil || p.Next != to {
		return false, err
	}
	root, err := s.root(replica, shard)
	if err != nil || root.Files > 0 {
		return false, err
	}
	cluster.Place(s.State, replica.Name, shard, cluster.Placement{Holder: to})
	// Only where there were files once may something be left to give up.
	if any, err := agree.HasAny(s, PrefixShard(shard)); err != nil || !any {
		return true, err
	}
	return true, s.leave(p.Holder, replica.Name, shard)
}

// leaveShards records that the node has given up the rest of these shards, many at a time.
func leaveShards(s *state, b *Leavings) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if err := checkShards(b.Shards); err != nil {
		return nil, err
	}
	for _, shard := range b.Shards {
		if err := s.unleave(b.Node, b.Replica, shard); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func checkShards(shards []cluster.Shard) error {
	if len(shards) < 1 || len(shards) > maxAssign {
		return agree.Refuse(agree.Invalid, "%d shards: want 1 to %d", len(shards), maxAssign)
	}
	for _, shard := range shards {
		if shard >= cluster.Shards {
			return agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", shard, cluster.Shards-1)
		}
	}
	return nil
}
