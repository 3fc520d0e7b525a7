package files

import (
	"cmp"
	"slices"
	"time"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// StoreState is how far a replica has come with its copy of a file.
type StoreState string

// The store states, as archivists know them.
const (
	UploadStarted   StoreState = "UPLOAD_STARTED"   // owed, follows from the file's entry
	DataUploaded    StoreState = "DATA_UPLOADED"    // never reported; accepted below level 5
	UploadCompleted StoreState = "UPLOAD_COMPLETED" // verified
	UploadFailed    StoreState = "UPLOAD_FAILED"    // with a reason; tried again with growing pauses
)

// FileListStatus is the last audit's finding about a copy's presence.
type FileListStatus string

// ChecksumStatus is the last audit's finding about a copy's bytes.
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
	Replica  cluster.ReplicaName `json:"replica"`
	State    StoreState          `json:"state"`
	Node     agree.NodeID        `json:"node,omitempty"`   // who reported the state
	Found    agree.Digest        `json:"found,omitzero"`   // what an audit or fetch found instead of the file's digest
	Reason   string              `json:"reason,omitempty"` // of a failure
	Tries    int                 `json:"tries,omitempty"`  // failed tries since the last success
	Since    agree.Time          `json:"since"`            // of this state
	FileList FileListStatus      `json:"fileList,omitempty"`
	Checksum ChecksumStatus      `json:"checksum,omitempty"`
	Disputed bool                `json:"disputed,omitempty"` // an audit's finding waits for a verdict
	Surplus  bool                `json:"surplus,omitempty"`  // not required any more; Node has it until the release
}

// Good reports whether the copy is verified and no audit's finding against it waits for a verdict.
func (c *Copy) Good() bool { return c.State == UploadCompleted && !c.Disputed }

// File is one file of the archive. Its name, size and digest are fixed at entry and never change.
type File struct {
	Name       FileName               `json:"name"`
	Size       int64                  `json:"size"`
	SHA256     agree.Digest           `json:"sha256"`
	Collection cluster.CollectionName `json:"collection"`
	Source     agree.NodeID           `json:"source"`            // keeps the bytes until every replica is complete
	Released   bool                   `json:"released,omitzero"` // the source may have deleted its bytes
	Added      agree.Time             `json:"added"`
	Job        uint64                 `json:"job,omitempty"`     // the job and attempt that made it
	Attempt    int                    `json:"attempt,omitempty"` //
	Removed    agree.Time             `json:"removed,omitempty"` // a tombstone since then
	Reason     string                 `json:"reason,omitempty"`  // of the removal
	RemovedBy  string                 `json:"removedBy,omitempty"`
	Hidden     agree.Time             `json:"hidden,omitempty"`  // removed then, and can be restored (level 5)
	Until      agree.Time             `json:"until,omitempty"`   // from then on its bytes may be released
	Lost       agree.Time             `json:"lost,omitempty"`    // since then nobody has its bytes (level 2)
	LostWhy    string                 `json:"lostWhy,omitempty"` // and why
	Version    uint64                 `json:"version"`           // counts the changes of this entry
	Copies     []Copy                 `json:"copies,omitempty"`  // by replica; of a tombstone, those not yet released
}

// Copy returns the replica's holding, or nil when it has none.
func (f *File) Copy(replica cluster.ReplicaName) *Copy {
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

// RemovedAt returns when the file was removed, 0 if it was not. Nobody is given a removed file, whether or not its
// bytes are still there and it can be restored.
func (f *File) RemovedAt() agree.Time { return cmp.Or(f.Removed, f.Hidden) }

// Gone says that the file was removed, when, by whom and why, and until when it can be restored. It is for people.
func (f *File) Gone() string {
	text := "file " + string(f.Name) + " was removed at " + clock(f.RemovedAt())
	if f.RemovedBy != "" {
		text += " by " + f.RemovedBy
	}
	if f.Hidden != 0 {
		text += ", and can be restored until " + clock(f.Until)
	}
	return text + ": " + f.Reason
}

func clock(t agree.Time) string { return t.Std().UTC().Format(time.RFC3339) }

// counts reports whether the archive is to have the file's bytes: it is not removed and not declared lost. It is to
// have those of a hidden file.
func (f *File) counts() bool { return f.Removed == 0 && f.Lost == 0 }

// counted returns the replica's holding as lists and totals see it: a file that is declared lost is in none.
func (f *File) counted(replica cluster.ReplicaName) *Copy {
	if f.Lost != 0 {
		return nil
	}
	return f.Copy(replica)
}

// addCopy puts a copy into its place among the entry's copies.
func (f *File) addCopy(c Copy) {
	i, _ := slices.BinarySearchFunc(f.Copies, c.Replica,
		func(c Copy, r cluster.ReplicaName) int { return cmp.Compare(c.Replica, r) })
	f.Copies = slices.Insert(f.Copies, i, c)
}

func (f *File) dropCopy(replica cluster.ReplicaName) {
	f.Copies = slices.DeleteFunc(f.Copies, func(c Copy) bool { return c.Replica == replica })
}

// ShardPass is the record of one audit pass over one shard.
type ShardPass struct {
	Replica    cluster.ReplicaName `json:"replica"`
	Shard      cluster.Shard       `json:"shard"`
	Node       agree.NodeID        `json:"node"`
	Began      agree.Time          `json:"began"`
	Ended      agree.Time          `json:"ended"`
	Root       Root                `json:"root"`
	Exceptions int                 `json:"exceptions"`
}

// Fill is the walk over a replica's files after the collections that it holds changed, or after a node's bytes were
// lost. It continues in chunks from Shard and After until every shard has been seen.
type Fill struct {
	Replica cluster.ReplicaName `json:"replica"`
	All     bool                `json:"all,omitempty"` // every shard; otherwise those of lost holders
	Shard   cluster.Shard       `json:"shard"`
	After   FileName            `json:"after,omitempty"`
	Began   agree.Time          `json:"began"`
}

// Totals counts what a replica holds.
type Totals struct {
	Files    int64 `json:"files"`    // meant to be held
	Bytes    int64 `json:"bytes"`    //
	Good     int64 `json:"good"`     // UPLOAD_COMPLETED
	Owed     int64 `json:"owed"`     // not good
	Disputed int64 `json:"disputed"` // findings without a verdict
}
