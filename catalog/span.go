package catalog

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

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
		if err := cluster.PutCollection(s.State, &b.Collections[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.Replicas {
		if err := cluster.PutReplica(s.State, &b.Replicas[i]); err != nil {
			return nil, err
		}
	}
	if err := cluster.Admit(s.State, &b.Member); err != nil {
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
	members, err := s.Members()
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
		if err := cluster.DoubtHolders(s.State); err != nil {
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
	if err := cluster.DoubtHolders(s.State); err != nil {
		return nil, err
	}
	return nil, s.Event(RaiseEpoch, s.Cluster.ID, "from=%d to=%d reason=%s", old, b.Epoch, agree.ClipReason(b.Reason))
}

// setReplica makes or changes a replica. When what it is to hold changes, a Fill begins.
func setReplica(s *state, b *Replica) (any, error) {
	old, there, err := s.Replica(b.Name)
	if err != nil {
		return nil, err
	}
	if err := cluster.Stays(s.State, b.Name); err != nil {
		return nil, err
	}
	if there && old.Kind != b.Kind {
		return nil, agree.Refuse(agree.Conflict, "replica %s is of kind %s, which cannot change", b.Name, old.Kind)
	}
	if err := cluster.PutReplica(s.State, b); err != nil {
		return nil, err
	}
	word := "new"
	if there {
		word = "changed"
		b.Created = old.Created
		if old.Place == b.Place && slices.Equal(old.Collections, b.Collections) {
			return nil, cluster.ChangeReplica(s.State, &old)
		}
		if err := cluster.ChangeReplica(s.State, b); err != nil {
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
