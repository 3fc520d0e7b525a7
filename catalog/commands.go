package catalog

// The commands that span subjects, and their bodies.
const (
	Found            Kind = "cluster.found"     // Founding: only on an empty state
	RaiseLevel       Kind = "cluster.level"     // LevelChange
	RaiseEpoch       Kind = "cluster.epoch"     // EpochChange, by recovery only
	SetReplica       Kind = "replica.set"       // Replica
	RemoveReplica    Kind = "replica.remove"    // ReplicaRemoval
	RemoveCollection Kind = "collection.remove" // CollectionRemoval
	RemoveMember     Kind = "member.remove"     // MemberRemoval
	BeginRebuild     Kind = "rebuild.begin"     // Rebuilding: only on an empty state
	EndRebuild       Kind = "rebuild.end"       // Rebuilt
)

// Level is the highest level this program supports.
const Level = 5

// Founding makes an empty state a cluster with its first member.
type Founding struct {
	Cluster     Cluster      `json:"cluster"`
	Replicas    []Replica    `json:"replicas"`
	Collections []Collection `json:"collections"`
	Member      Member       `json:"member"`
	Access      *AccessToken `json:"access,omitempty"` // the first administrator's token
}

// LevelChange raises the cluster's level; refused while a member does not support it.
type LevelChange struct {
	Level int `json:"level"`
}

// EpochChange raises the epoch after a lost majority.
type EpochChange struct {
	Epoch  uint64 `json:"epoch"`
	Reason string `json:"reason"`
}

// MemberRemoval removes a member; refused while it holds shards or unreleased files, unless Lost says that its
// bytes are gone for good: then its shards are without a holder and its replica's copies in them are owed.
type MemberRemoval struct {
	ID     NodeID `json:"id"`
	Lost   bool   `json:"lost,omitempty"`
	Reason string `json:"reason,omitempty"`

	Standing Digest `json:"standing,omitzero"` // the mark that Standing gave when it was looked at; since level 3
	Sole     int64  `json:"sole,omitempty"`    // files without a good copy elsewhere, as was shown; since level 5
}

// memberRemovalUncounted is MemberRemoval as it was before it said how many files are lost by it.
type memberRemovalUncounted struct {
	ID     NodeID `json:"id"`
	Lost   bool   `json:"lost,omitempty"`
	Reason string `json:"reason,omitempty"`

	Standing Digest `json:"standing,omitzero"`
}

// ReplicaRemoval takes out a replica that has no nodes and no verified copies: its owed copies are dropped in a Fill.
type ReplicaRemoval struct {
	Replica ReplicaName `json:"replica"`
	Reason  string      `json:"reason,omitempty"`
}

// CollectionRemoval takes out a collection that has no files, no jobs under way and no replica that names it.
type CollectionRemoval struct {
	Collection CollectionName `json:"collection"`
	Reason     string         `json:"reason,omitempty"`
}

// memberRemovalUnmarked is MemberRemoval as it was before it carried a mark of what was looked at; see
// cluster.LevelOfMarks.
type memberRemovalUnmarked struct {
	ID     NodeID `json:"id"`
	Lost   bool   `json:"lost,omitempty"`
	Reason string `json:"reason,omitempty"`
}
