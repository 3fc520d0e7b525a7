package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// removeMember takes a node out. What it had of files is given up in a Fill when it was lost.
func removeMember(s *agree.State, b *MemberRemoval) (any, error) {
	m, there, err := cluster.In(s).Member(b.ID)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	if err := cluster.Unmoved(s, &m, b.Standing); err != nil {
		return nil, err
	}
	members, err := cluster.In(s).MemberIDs(2)
	if err != nil {
		return nil, err
	}
	if len(members) < 2 {
		return nil, agree.Refuse(agree.Unsafe, "%s is the only member", m.Name)
	}
	holds, err := cluster.In(s).HoldsShards(&m)
	if err != nil {
		return nil, err
	}
	if !b.Lost {
		if holds {
			return nil, agree.Refuse(agree.Unsafe, "%s holds shards: drain it first", m.Name)
		}
		unreleased, err := files.HasUnreleased(s, m.ID)
		if err != nil {
			return nil, err
		}
		if unreleased {
			return nil, agree.Refuse(agree.Unsafe, "%s has files that are not released", m.Name)
		}
	}
	if err := cluster.DropMember(s, &m); err != nil {
		return nil, err
	}
	if err := files.DropDiscards(s, m.ID); err != nil {
		return nil, err
	}
	files.DropAway(s, m.ID)
	if holds {
		if err := files.StartFill(s, m.Replica, false); err != nil {
			return nil, err
		}
	}
	if b.Lost && s.Cluster.Level >= files.LevelOfHidden {
		return nil, s.Event(RemoveMember, string(m.ID), "name=%s lost=true files=%d reason=%s", m.Name, b.Sole,
			agree.ClipReason(b.Reason))
	}
	return nil, s.Event(RemoveMember, string(m.ID), "name=%s lost=%t reason=%s", m.Name, b.Lost,
		agree.ClipReason(b.Reason))
}
