package catalog

import "holdfast/harvest"

// Level is the highest level this program supports.
const Level = 3

// Member is a node that the cluster trusts.
type Member struct {
	ID        NodeID      `json:"id"`
	Name      string      `json:"name"`
	Key       []byte      `json:"key"` // Ed25519 public key, 32 bytes
	Replica   ReplicaName `json:"replica"`
	Addresses []string    `json:"addresses,omitempty"` // host:port at which others reach it, inside first
	OutOnly   bool        `json:"outOnly,omitempty"`   // can only dial out, never votes
	Weight    int         `json:"weight,omitempty"`    // share of its replica's shards, 100 if 0
	Draining  bool        `json:"draining,omitempty"`  // is to hold no shards
	Level     int         `json:"level"`               // what its program supports
	Joined    Time        `json:"joined"`
	Crawls    bool        `json:"crawls,omitempty"` // it crawls jobs, and so opens their secrets; since level 2
	Seal      *SealKey    `json:"seal,omitempty"`   // its key for secrets; since level 2
	Local     Digest      `json:"local,omitzero"`   // SHA-256 of its local token's secret, for other nodes to know it by; since level 2
}

// ReplicaKind says what a replica holds.
type ReplicaKind string

// The kinds of replica.
const (
	Bitarchive ReplicaKind = "bitarchive" // the bytes
	Checksum   ReplicaKind = "checksum"   // names, sizes and checksums; it votes
)

// Replica is one set of the archive at one place.
type Replica struct {
	Name        ReplicaName      `json:"name"`
	Kind        ReplicaKind      `json:"kind"`
	Place       string           `json:"place"`                 // where its nodes stand and fail together
	Collections []CollectionName `json:"collections,omitempty"` // those it is meant to hold; none = all
	Created     Time             `json:"created"`
}

// Collection is what a file, a domain and a harvest belong to.
type Collection struct {
	Name    CollectionName `json:"name"`
	Created Time           `json:"created"`
}

// Placement says which node holds a shard of a replica and, while it moves, which is next.
type Placement struct {
	Holder NodeID `json:"holder,omitempty"`
	Next   NodeID `json:"next,omitempty"`
}

// StoreState is how far a replica has come with its copy of a file.
type StoreState string

// The store states, as archivists know them.
const (
	UploadStarted   StoreState = "UPLOAD_STARTED"   // owed, follows from the file's entry
	DataUploaded    StoreState = "DATA_UPLOADED"    // the bytes are there, their checksum is not agreed
	UploadCompleted StoreState = "UPLOAD_COMPLETED" // verified
	UploadFailed    StoreState = "UPLOAD_FAILED"    // with a reason; tried again with growing pauses
)

// FileListStatus is what the last audit found about a copy's presence.
type FileListStatus string

// ChecksumStatus is what the last audit found about a copy's bytes.
type ChecksumStatus string

// Findings of an audit.
const (
	NoFileListStatus FileListStatus = "NO_FILELIST_STATUS"
	FileListOK       FileListStatus = "OK"
	FileListMissing  FileListStatus = "MISSING"
	ChecksumUnknown  ChecksumStatus = "UNKNOWN"
	ChecksumOK       ChecksumStatus = "OK"
	ChecksumCorrupt  ChecksumStatus = "CORRUPT"
)

// Copy is one replica's holding of one file.
type Copy struct {
	Replica  ReplicaName    `json:"replica"`
	State    StoreState     `json:"state"`
	Node     NodeID         `json:"node,omitempty"`   // who reported the state
	Found    Digest         `json:"found,omitzero"`   // what an audit or fetch found instead of the file's digest
	Reason   string         `json:"reason,omitempty"` // of a failure
	Tries    int            `json:"tries,omitempty"`  // failed tries since the last success
	Since    Time           `json:"since"`            // of this state
	FileList FileListStatus `json:"fileList,omitempty"`
	Checksum ChecksumStatus `json:"checksum,omitempty"`
	Disputed bool           `json:"disputed,omitempty"` // an audit's finding waits for a verdict
	Surplus  bool           `json:"surplus,omitempty"`  // no longer required; Node has the bytes until it releases them
}

// Good reports whether the copy is verified and no audit's finding against it waits for a verdict.
func (c *Copy) Good() bool { return c.State == UploadCompleted && !c.Disputed }

// File is one file of the archive. Its name, size and digest are fixed at entry and never change.
type File struct {
	Name       FileName       `json:"name"`
	Size       int64          `json:"size"`
	SHA256     Digest         `json:"sha256"`
	Collection CollectionName `json:"collection"`
	Source     NodeID         `json:"source"`            // keeps the bytes until every replica is complete
	Released   bool           `json:"released,omitzero"` // the source may have deleted its bytes
	Added      Time           `json:"added"`
	Job        uint64         `json:"job,omitempty"`     // the job and attempt that made it
	Attempt    int            `json:"attempt,omitempty"` //
	Removed    Time           `json:"removed,omitempty"` // a tombstone since then
	Reason     string         `json:"reason,omitempty"`  // of the removal
	Lost       Time           `json:"lost,omitempty"`    // since then nobody is said to have its bytes (level 2)
	LostWhy    string         `json:"lostWhy,omitempty"` // and why
	Version    uint64         `json:"version"`           // counts the changes of this entry
	Copies     []Copy         `json:"copies,omitempty"`  // one per replica of its collection, by name; of a tombstone, those not yet released
}

// Copy returns the replica's holding, or nil when it has none.
func (f *File) Copy(replica ReplicaName) *Copy {
	for i := range f.Copies {
		if f.Copies[i].Replica == replica {
			return &f.Copies[i]
		}
	}
	return nil
}

// Complete reports whether every replica of the file's collection has a good copy.
func (f *File) Complete() bool {
	required := 0
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus {
			continue
		}
		if !c.Good() {
			return false
		}
		required++
	}
	return required > 0
}

// Root proves a set of files: their number, their bytes, and the sum modulo 2^256 of
// SHA-256("name\x00size\x00sha256 in hex") over them. Roots of disjoint sets add up, so that a root is kept
// up to date at each change and those of a replica's collections are summed when they are compared.
type Root struct {
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
	Sum   Digest `json:"sum,omitzero"`
}

// ShardPass is the record of one audit pass over one shard.
type ShardPass struct {
	Replica    ReplicaName `json:"replica"`
	Shard      Shard       `json:"shard"`
	Node       NodeID      `json:"node"`
	Began      Time        `json:"began"`
	Ended      Time        `json:"ended"`
	Root       Root        `json:"root"`
	Exceptions int         `json:"exceptions"`
}

// Fill is the walk over a replica's files after what it is to hold changed, or after a node's bytes were lost.
// It goes on in chunks from Shard and After until every shard has been seen.
type Fill struct {
	Replica ReplicaName `json:"replica"`
	All     bool        `json:"all,omitempty"` // every shard; otherwise those whose holder is no longer a member
	Shard   Shard       `json:"shard"`
	After   FileName    `json:"after,omitempty"`
	Began   Time        `json:"began"`
}

// JobState is a job's state, NetarchiveSuite's words.
type JobState string

// The states of a job.
const (
	JobNew            JobState = "NEW"
	JobSubmitted      JobState = "SUBMITTED"
	JobStarted        JobState = "STARTED"
	JobDone           JobState = "DONE"
	JobFailed         JobState = "FAILED"
	JobResubmitted    JobState = "RESUBMITTED"
	JobFailedRejected JobState = "FAILED_REJECTED"
)

// JobWish is what somebody wants of a running job.
type JobWish string

// The wishes.
const (
	WishRun   JobWish = ""
	WishPause JobWish = "pause"
	WishStop  JobWish = "stop"
)

// JobStats is what an attempt of a job brought in.
type JobStats struct {
	Objects    int64  `json:"objects"` // URIs fetched with success
	Bytes      int64  `json:"bytes"`   // bytes of content
	Failed     int64  `json:"failed"`
	Files      int    `json:"files"`      // files that entered the archive
	StopReason string `json:"stopReason"` // completed, object-limit, size-limit, time-limit, unfinished, …
}

// Job is one piece of a harvest run, given to one node at a time.
type Job struct {
	ID         uint64         `json:"id"`
	Harvest    string         `json:"harvest"` // the harvest definition's name
	Collection CollectionName `json:"collection"`
	Channel    string         `json:"channel,omitempty"`
	Spec       harvest.Job    `json:"spec"`
	State      JobState       `json:"state"`
	Wish       JobWish        `json:"wish,omitempty"`
	WishReason string         `json:"wishReason,omitempty"`
	Attempt    int            `json:"attempt"` // 0 before the first claim
	Node       NodeID         `json:"node,omitempty"`
	Created    Time           `json:"created"`
	Submitted  Time           `json:"submitted,omitempty"`
	Started    Time           `json:"started,omitempty"`
	Ended      Time           `json:"ended,omitempty"`
	Stats      JobStats       `json:"stats"`
	Reason     string         `json:"reason,omitempty"` // of a failure
	Next       uint64         `json:"next,omitempty"`   // the job that took over when RESUBMITTED
	Secret     string         `json:"secret,omitempty"` // the Secret that the spec refers to, while the job may run
}

// JoinToken lets one machine become a member once.
type JoinToken struct {
	ID         string      `json:"id"`
	SecretHash Digest      `json:"secretHash"`
	Replica    ReplicaName `json:"replica"`
	Created    Time        `json:"created"`
	Expires    Time        `json:"expires"`
	UsedBy     NodeID      `json:"usedBy,omitempty"`
	Used       Time        `json:"used,omitempty"`
	Revoked    Time        `json:"revoked,omitempty"`
}

// Role is what a person or program may do; each includes those before it.
type Role string

// The roles.
const (
	RoleReader   Role = "reader"
	RoleCurator  Role = "curator"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// AccessToken lets a person or program use the HTTP API.
type AccessToken struct {
	ID         string `json:"id"`
	Name       string `json:"name"` // for people
	SecretHash Digest `json:"secretHash"`
	Role       Role   `json:"role"`
	Created    Time   `json:"created"`
	Expires    Time   `json:"expires,omitempty"`
	Revoked    Time   `json:"revoked,omitempty"`
}

// Totals counts what a replica holds.
type Totals struct {
	Files    int64 `json:"files"`    // meant to be held
	Bytes    int64 `json:"bytes"`    //
	Good     int64 `json:"good"`     // UPLOAD_COMPLETED
	Owed     int64 `json:"owed"`     // not good
	Disputed int64 `json:"disputed"` // findings without a verdict
}
