package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/jobs"
	"holdfast/catalog/rules"
	"holdfast/catalog/runs"
)

// Rebuilding begins a catalog that is made again from what lies in folders, after every catalog was lost. What follows
// it, up to a Rebuilt, brings back what is known, and is refused at any other time. No node runs before that.
type Rebuilding struct {
	Cluster     Cluster      `json:"cluster"`
	Replicas    []Replica    `json:"replicas"`
	Collections []Collection `json:"collections"`
	Members     []Member     `json:"members"` // those whose folders are known
}

// Rebuilt ends it.
type Rebuilt struct {
	Jobs     uint64 `json:"jobs,omitempty"`     // no job up to this number is given again
	Harvests uint64 `json:"harvests,omitempty"` // no harvest either
	Summary  string `json:"summary"`            // for the audit trail
	Shut     bool   `json:"shut,omitempty"`     // there were access rules, or may have been: readers are shown nothing
}

func beginRebuild(s *agree.State, b *Rebuilding) (any, error) {
	if s.Cluster.ID != "" {
		return nil, agree.Refuse(agree.Conflict, "this state belongs to cluster %s already", s.Cluster.ID)
	}
	if err := agree.CheckName("cluster id", b.Cluster.ID); err != nil {
		return nil, err
	}
	if b.Cluster.Level < agree.LevelOfRebuilding || b.Cluster.Level > Level || len(b.Cluster.Name) > 200 ||
		len(b.Members) == 0 {
		return nil, agree.Refuse(agree.Invalid, "a catalog is rebuilt at level %d to %d, with a member, "+
			"and a name of "+
			"at most 200 bytes", agree.LevelOfRebuilding, Level)
	}
	if err := agree.CheckTimes(b.Cluster.Founded); err != nil {
		return nil, err
	}
	if err := s.SetCluster(b.Cluster); err != nil {
		return nil, err
	}
	agree.BeginRebuilding(s)
	for i := range b.Collections {
		if err := cluster.RecallCollection(s, &b.Collections[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.Replicas {
		if err := cluster.PutReplica(s, &b.Replicas[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.Members {
		if err := cluster.RecallMember(s, &b.Members[i]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func endRebuild(s *agree.State, b *Rebuilt) (any, error) {
	if err := agree.Rebuilding(s); err != nil {
		return nil, err
	}
	if err := jobs.CountFrom(s, b.Jobs); err != nil {
		return nil, err
	}
	if err := runs.CountFrom(s, b.Harvests); err != nil {
		return nil, err
	}
	agree.EndRebuilding(s)
	if b.Shut {
		if err := rules.Shut(s); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(EndRebuild, s.Cluster.ID, "%s", agree.ClipReason(b.Summary))
}
