package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
	"holdfast/catalog/people"
)

func found(s *agree.State, b *Founding) (any, error) {
	if s.Cluster.ID != "" {
		return nil, agree.Refuse(agree.Conflict, "this state belongs to cluster %s already", s.Cluster.ID)
	}
	if err := agree.CheckName("cluster id", b.Cluster.ID); err != nil {
		return nil, err
	}
	if b.Cluster.Level < 1 || b.Cluster.Level > b.Member.Level {
		return nil, agree.Refuse(agree.Invalid, "level %d: the founding member supports 1 to %d", b.Cluster.Level,
			b.Member.Level)
	}
	if len(b.Cluster.Name) > 200 {
		return nil, agree.Refuse(agree.Invalid, "cluster name of %d bytes: at most 200", len(b.Cluster.Name))
	}
	b.Cluster.Founded = s.At
	if err := s.SetCluster(b.Cluster); err != nil {
		return nil, err
	}
	for i := range b.Collections {
		if err := cluster.PutCollection(s, &b.Collections[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.Replicas {
		if err := cluster.PutReplica(s, &b.Replicas[i]); err != nil {
			return nil, err
		}
	}
	if err := cluster.Admit(s, &b.Member); err != nil {
		return nil, err
	}
	if b.Access != nil {
		if err := people.PutAccess(s, b.Access); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(Found, b.Cluster.ID, "name=%s member=%s", b.Cluster.Name, b.Member.ID)
}

func raiseLevel(s *agree.State, b *LevelChange) (any, error) {
	if b.Level <= s.Cluster.Level {
		return nil, agree.Refuse(agree.Conflict, "level is %d already", s.Cluster.Level)
	}
	members, err := cluster.In(s).Members()
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
		if err := jobs.BeginSealing(s); err != nil {
			return nil, err
		}
	}
	if old < jobs.LevelOfParts && b.Level >= jobs.LevelOfParts {
		if err := jobs.BeginWalk(s); err != nil {
			return nil, err
		}
	}
	now := s.Cluster
	now.Level = b.Level
	if err := s.SetCluster(now); err != nil {
		return nil, err
	}
	// Recovered when nobody was asked to compare; level 2 does not ask.
	if old < 2 && b.Level >= 3 && s.Cluster.Epoch > 1 {
		if err := cluster.DoubtHolders(s); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(RaiseLevel, s.Cluster.ID, "from=%d to=%d", old, b.Level)
}

// raiseEpoch begins the epoch of a recovered cluster. The number of a job that only those outside have seen is not
// given again, for the files of its attempts bear it in their names.
func raiseEpoch(s *agree.State, b *EpochChange) (any, error) {
	if b.Epoch <= s.Cluster.Epoch {
		return nil, agree.Refuse(agree.Conflict, "epoch is %d already", s.Cluster.Epoch)
	}
	old := s.Cluster.Epoch
	now := s.Cluster
	now.Epoch = b.Epoch
	if err := s.SetCluster(now); err != nil {
		return nil, err
	}
	if err := jobs.SkipNumbers(s); err != nil {
		return nil, err
	}
	if err := cluster.DoubtHolders(s); err != nil {
		return nil, err
	}
	if err := files.HoldHidden(s); err != nil {
		return nil, err
	}
	if err := cluster.SkipVersions(s); err != nil {
		return nil, err
	}
	return nil, s.Event(RaiseEpoch, s.Cluster.ID, "from=%d to=%d reason=%s", old, b.Epoch, agree.ClipReason(b.Reason))
}
