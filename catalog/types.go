package catalog

import "holdfast/harvest"

// Level is the highest level this program supports.
const Level = 3

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
