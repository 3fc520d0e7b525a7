package catalog

import "encoding/json"

// The commands of level 1.
const (
	Found        Kind = "cluster.found"  // Founding: only on an empty state
	RaiseLevel   Kind = "cluster.level"  // LevelChange
	RaiseEpoch   Kind = "cluster.epoch"  // EpochChange, by recovery only
	SetReplica   Kind = "replica.set"    // Replica
	RemoveMember Kind = "member.remove"  // MemberRemoval
	AssignShards Kind = "shard.assign"   // Assignment
	SwitchShard  Kind = "shard.switch"   // Switch
	LeaveShard   Kind = "shard.leave"    // Leaving
	FillReplica  Kind = "replica.fill"   // FillStep
	AddFiles     Kind = "file.add"       // Additions, at most MaxItems
	ReportCopies Kind = "copy.report"    // CopyReports, at most MaxItems
	ReleaseFiles Kind = "file.release"   // Releases, at most MaxItems
	RemoveFile   Kind = "file.remove"    // FileRemoval
	FindCopies   Kind = "audit.findings" // Findings, at most MaxItems
	PassShard    Kind = "audit.pass"     // ShardPass
	JudgeCopies  Kind = "audit.verdict"  // Verdicts, at most MaxItems
	CreateJob    Kind = "job.create"     // JobCreation
	SubmitJob    Kind = "job.submit"     // JobRef
	ClaimJob     Kind = "job.claim"      // JobRef: exactly one node wins
	StartJob     Kind = "job.start"      // JobRef
	FinishJob    Kind = "job.finish"     // JobEnd: DONE or FAILED, fenced by attempt
	LoseJob      Kind = "job.lose"       // JobEnd: its node was not heard from for lease and margin: SUBMITTED again
	WishJob      Kind = "job.wish"       // JobWishing
	ResubmitJob  Kind = "job.resubmit"   // JobRef: a FAILED job becomes RESUBMITTED, a new one takes over
	RejectJob    Kind = "job.reject"     // JobRef: a FAILED job becomes FAILED_REJECTED
	CreateAccess Kind = "access.create"  // AccessToken
	RevokeAccess Kind = "access.revoke"  // Named
)

// The commands of level 2 that are about the layout.
const (
	SwitchShards Kind = "shard.switches" // Switches, of shards without files
	LeaveShards  Kind = "shard.leaves"   // Leavings

	RemoveReplica    Kind = "replica.remove"    // ReplicaRemoval
	RemoveCollection Kind = "collection.remove" // CollectionRemoval

	LoseFile Kind = "file.lose" // FileLoss

)

// The commands of level 2 that are about secrets.
const (
	SealOldJobs Kind = "secret.walk"  // SealStep
	SealToNodes Kind = "secret.again" // SealAgain
)

// The commands of level 2 that are about copies.
const (
	FindSources Kind = "source.findings" // Findings, at most MaxItems: on the bytes that the node keeps as the files' source
)

// The commands of level 3.
const (
	TakeSources Kind = "source.take" // Takeovers, at most MaxItems
)

// ItemResult is the answer to one item of a command with many; Refusal is nil when it was carried out.
type ItemResult struct {
	Name    FileName `json:"name"`
	Refusal *Refusal `json:"refusal,omitempty"`
}

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

	Standing Digest `json:"standing,omitzero"` // what was looked at, as Standing gives it; since level 3
}

// Assignment sets the holder of shards that have none, or the next node of shards that move.
type Assignment struct {
	Replica ReplicaName `json:"replica"`
	Shards  []Shard     `json:"shards"` // at most 512
	Node    NodeID      `json:"node"`
}

// Switch makes next the holder of a shard; refused unless the root it proves is the catalog's.
type Switch struct {
	Replica ReplicaName `json:"replica"`
	Shard   Shard       `json:"shard"`
	Node    NodeID      `json:"node"`
	Root    Root        `json:"root"`
}

// Switches makes next the holder of all those of the shards that have no files and are moving to it. The others stay as
// they are, and so do those for which the command has no room: they are asked for again.
type Switches struct {
	Replica ReplicaName `json:"replica"`
	Shards  []Shard     `json:"shards"` // at most 512
	Node    NodeID      `json:"node"`
}

// Leavings is Leaving for many shards, of which the node has nothing.
type Leavings struct {
	Node    NodeID      `json:"node"`
	Replica ReplicaName `json:"replica"`
	Shards  []Shard     `json:"shards"` // at most 512
}

// Leaving says that a node has released all it had of the files of a shard that moved away from it.
type Leaving struct {
	Node    NodeID      `json:"node"`
	Replica ReplicaName `json:"replica"`
	Shard   Shard       `json:"shard"`
}

// FillStep takes a replica's Fill one chunk further; refused when the Fill is not where the step says.
type FillStep struct {
	Replica ReplicaName `json:"replica"`
	Shard   Shard       `json:"shard"`
	After   FileName    `json:"after,omitempty"`
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

// Addition is one file that enters the archive.
type Addition struct {
	Name       FileName       `json:"name"`
	Size       int64          `json:"size"`
	SHA256     Digest         `json:"sha256"`
	Collection CollectionName `json:"collection"`
	Source     NodeID         `json:"source"`
	Job        uint64         `json:"job,omitempty"`
	Attempt    int            `json:"attempt,omitempty"`
}

// Additions lets files enter. Adding the same name, size and digest again is carried out without change, but
// for a file that is not complete and whose source is gone: the new source takes over. The same name with
// other content is refused.
type Additions struct {
	Files []Addition `json:"files"`
}

// CopyReport says how a node stands with its replica's copy of a file.
type CopyReport struct {
	Name   FileName   `json:"name"`
	State  StoreState `json:"state"`
	SHA256 Digest     `json:"sha256,omitzero"` // what was computed from the bytes; must agree for UPLOAD_COMPLETED
	Reason string     `json:"reason,omitempty"`
}

// CopyReports is accepted from the holder or next of each file's shard in the node's replica. What next
// reports changes nothing: its copies count when the shard switches.
type CopyReports struct {
	Node   NodeID       `json:"node"`
	Copies []CopyReport `json:"copies"`
}

// Releases asks that a node may delete its bytes of files: as their source, or because it no longer holds
// their shard. Refused for a file that is not verified wherever it is required, and for a copy that the node
// is to hold. A source that also holds the file releases only what it kept as the source.
type Releases struct {
	Node  NodeID     `json:"node"`
	Files []FileName `json:"files"`
}

// FileRemoval makes a file's entry a tombstone.
type FileRemoval struct {
	Name   FileName `json:"name"`
	SHA256 Digest   `json:"sha256"` // must agree, against mistakes
	Reason string   `json:"reason"`

	Version uint64 `json:"version,omitempty"` // of the entry that was looked at; since level 3
}

// FileLoss declares that nobody has the bytes of a file any more, or takes that back.
type FileLoss struct {
	Name    FileName `json:"name"`
	SHA256  Digest   `json:"sha256"` // must agree, against mistakes
	Reason  string   `json:"reason"`
	Checked []NodeID `json:"checked,omitempty"` // members that were asked just now, and do not have the bytes
	Version uint64   `json:"version,omitempty"` // of the entry that was looked at; since level 3
	Undo    bool     `json:"undo,omitempty"`
}

// Finding is what an audit found wrong with a copy, or right again.
type Finding struct {
	Name     FileName       `json:"name"`
	FileList FileListStatus `json:"fileList"`
	Checksum ChecksumStatus `json:"checksum"`
	Found    Digest         `json:"found,omitzero"`
}

// Findings are exceptions of an audit; each disputes a copy until a verdict.
type Findings struct {
	Node  NodeID    `json:"node"`
	Files []Finding `json:"files"`
}

// Takeover makes a node that has a file's bytes its source in the place of one that cannot give them.
type Takeover struct {
	Name   FileName `json:"name"`
	SHA256 Digest   `json:"sha256"` // must agree: of the bytes that the node has read just now
	From   NodeID   `json:"from"`   // whose place is taken; refused when another one is the source meanwhile
	Why    string   `json:"why"`    // what kept From from giving the bytes, for the audit trail
}

// Takeovers are made by the node that has the bytes. The other one may still have its own: it keeps them until the file is
// complete, as every node does with bytes that nobody counts on.
type Takeovers struct {
	Node  NodeID     `json:"node"`
	Files []Takeover `json:"files"`
}

// Verdict decides a disputed copy.
type Verdict struct {
	Name    FileName    `json:"name"`
	Replica ReplicaName `json:"replica"`
	Bad     bool        `json:"bad"` // the copy is set aside and owed again; otherwise it is good
	Votes   string      `json:"votes"`
}

// Verdicts are the leader's; a verdict on a copy that is not disputed is refused.
type Verdicts struct {
	Copies []Verdict `json:"copies"`
}

// JobCreation asks for a job; its state becomes NEW.
type JobCreation struct {
	Harvest    string          `json:"harvest"`
	Collection CollectionName  `json:"collection"`
	Channel    string          `json:"channel,omitempty"`
	Spec       json.RawMessage `json:"spec"` // harvest.Job
	Submit     bool            `json:"submit,omitempty"`
	Secret     *Secret         `json:"secret,omitempty"` // what the spec refers to; since level 2
}

// JobRef names a job, and for a claim or start the node and attempt.
type JobRef struct {
	ID      uint64 `json:"id"`
	Node    NodeID `json:"node,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}

// JobEnd ends an attempt. It is refused when the job has moved on to another attempt.
type JobEnd struct {
	ID      uint64   `json:"id"`
	Node    NodeID   `json:"node"`
	Attempt int      `json:"attempt"`
	Failed  bool     `json:"failed,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Stats   JobStats `json:"stats"`
}

// JobWishing says what is wanted of a job.
type JobWishing struct {
	ID     uint64  `json:"id"`
	Wish   JobWish `json:"wish"`
	Reason string  `json:"reason,omitempty"`
}
