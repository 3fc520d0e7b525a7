package api

import (
	"time"

	"holdfast/catalog"
	"holdfast/harvest"
)

// Page is a page of a list. Next, when there is more, is the cursor that the next request gives as "after".
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last"`
}

// Presence is what gossip and the carrier say about a node: advice, never a decision.
type Presence struct {
	State     string    `json:"state" enum:"alive,suspected,failed,left,unknown"`
	Voter     bool      `json:"voter"`
	LastHeard time.Time `json:"lastHeard,omitzero" doc:"when the answering node last heard of it"`
	Version   string    `json:"version,omitempty" doc:"of its program"`
	Free      int64     `json:"freeBytes,omitempty" doc:"room left for files"`
	Jobs      int       `json:"jobs,omitempty" doc:"crawls running there"`
}

// Node is a member of the cluster.
type Node struct {
	ID        catalog.NodeID      `json:"id"`
	Name      string              `json:"name"`
	Replica   catalog.ReplicaName `json:"replica"`
	Place     string              `json:"place,omitempty"`
	Addresses []string            `json:"addresses,omitempty"`
	OutOnly   bool                `json:"outOnly,omitempty" doc:"can only dial out, never votes"`
	Weight    int                 `json:"weight" doc:"share of its replica's shards"`
	Draining  bool                `json:"draining" doc:"is to hold no shards"`
	Shards    int                 `json:"shards" doc:"held by it now"`
	Level     int                 `json:"level"`
	Joined    time.Time           `json:"joined"`
	Presence  Presence            `json:"presence"`
}

// Disk is the room on one of a node's disks.
type Disk struct {
	Path  string `json:"path"`
	Free  int64  `json:"freeBytes"`
	Total int64  `json:"totalBytes"`
}

// NodeStatus is what a node knows of itself and, by gossip, of the others.
type NodeStatus struct {
	ID       catalog.NodeID              `json:"id"`
	Name     string                      `json:"name"`
	Version  string                      `json:"version"`
	Started  time.Time                   `json:"started"`
	Ready    bool                        `json:"ready"`
	Role     string                      `json:"role" enum:"leader,voter,candidate,non-voter"`
	Quorum   bool                        `json:"quorum" doc:"a leader is known and was heard just now"`
	Leader   catalog.NodeID              `json:"leader,omitempty"`
	Term     uint64                      `json:"term"`
	Applied  uint64                      `json:"applied" doc:"index of the last command applied here"`
	Listen   Listen                      `json:"listen"`
	Disks    []Disk                      `json:"disks"`
	DiskMove *DiskMove                   `json:"diskMove,omitempty" doc:"a shard that moves from one of its disks to another now"`
	Running  []uint64                    `json:"running" doc:"jobs crawling here"`
	Outbox   int                         `json:"outbox" doc:"files in the node's outbox: it keeps them until every replica has its copy"`
	Refused  map[string]uint64           `json:"refused,omitempty" doc:"connections and joins turned away since the node started, by what was wrong: strangers, removed, clusters, epochs, malformed, busy, joins; and joins also by unknown-tokens, expired-tokens, used-tokens"`
	Problems []string                    `json:"problems,omitempty" doc:"what a human should look at"`
	Presence map[catalog.NodeID]Presence `json:"-"` // of every member, this node too
	Lease    time.Duration               `json:"-"` // after so long without a word a node's jobs are taken from it
}

// Listen are the addresses that a node serves.
type Listen struct {
	Peer   string `json:"peer"`
	API    string `json:"api"`
	Access string `json:"access"`
}

// Replica is one set of the archive and how it stands.
type Replica struct {
	Name        catalog.ReplicaName      `json:"name"`
	Kind        catalog.ReplicaKind      `json:"kind" enum:"bitarchive,checksum"`
	Place       string                   `json:"place"`
	Collections []catalog.CollectionName `json:"collections,omitempty" doc:"none: all"`
	Created     time.Time                `json:"created"`
	Files       int64                    `json:"files" doc:"meant to be held"`
	Bytes       int64                    `json:"bytes"`
	Good        int64                    `json:"good" doc:"verified"`
	Owed        int64                    `json:"owed" doc:"not good yet, or not any more"`
	Disputed    int64                    `json:"disputed" doc:"findings that wait for a verdict"`
	Held        int                      `json:"shardsHeld" doc:"shards that have a holder, of 4096"`
	Moving      int                      `json:"shardsMoving"`
}

// Shard is one shard of a replica.
type Shard struct {
	Shard  string         `json:"shard" doc:"three hexadecimal digits"`
	Holder catalog.NodeID `json:"holder,omitempty"`
	Next   catalog.NodeID `json:"next,omitempty" doc:"the node it moves to"`
}

// Status is how the cluster stands, as the answering node sees it.
type Status struct {
	Cluster   Cluster                  `json:"cluster"`
	Node      NodeStatus               `json:"node" doc:"the node that answers"`
	Nodes     []Node                   `json:"nodes"`
	Replicas  []Replica                `json:"replicas"`
	Jobs      map[catalog.JobState]int `json:"jobs" doc:"how many in each state, of the newest 1000"`
	Lost      int                      `json:"lost" doc:"files that are declared lost, of the first 1000"`
	Ownerless int                      `json:"tokensWithoutOwner" doc:"access tokens from before level 3 that nobody has taken"`
	Healthy   bool                     `json:"healthy"`
	Problems  []string                 `json:"problems" doc:"why not healthy"`
}

// Cluster is the cluster's own record and who leads it.
type Cluster struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Epoch      uint64         `json:"epoch"`
	Level      int            `json:"level"`
	Founded    time.Time      `json:"founded"`
	Quorum     bool           `json:"quorum"`
	Leader     catalog.NodeID `json:"leader,omitempty"`
	LeaderName string         `json:"leaderName,omitempty"`
}

// JoinToken lets one machine become a member once. Text is given only when it is created.
type JoinToken struct {
	ID      string              `json:"id"`
	Replica catalog.ReplicaName `json:"replica"`
	Created time.Time           `json:"created"`
	Expires time.Time           `json:"expires"`
	State   string              `json:"state" enum:"open,used,expired,revoked"`
	UsedBy  catalog.NodeID      `json:"usedBy,omitempty"`
	Text    string              `json:"text,omitempty" doc:"the token itself; shown once"`
}

// Copy is one replica's holding of a file.
type Copy struct {
	Replica  catalog.ReplicaName    `json:"replica"`
	State    catalog.StoreState     `json:"state" enum:"UPLOAD_STARTED,DATA_UPLOADED,UPLOAD_COMPLETED,UPLOAD_FAILED"`
	Node     catalog.NodeID         `json:"node,omitempty"`
	Since    time.Time              `json:"since"`
	FileList catalog.FileListStatus `json:"fileList" enum:"NO_FILELIST_STATUS,OK,MISSING" doc:"what the last look at the copy found: when it was stored, or an audit"`
	Checksum catalog.ChecksumStatus `json:"checksum" enum:"UNKNOWN,OK,CORRUPT" doc:"what the last reading of its bytes found: when it was stored, or an audit"`
	Verified time.Time              `json:"verified,omitzero" doc:"when its bytes were last read and found right; absent unless they are right as far as is known"`
	Found    string                 `json:"found,omitempty" doc:"SHA-256 found instead of the file's"`
	Reason   string                 `json:"reason,omitempty"`
	Tries    int                    `json:"tries,omitempty"`
	Disputed bool                   `json:"disputed,omitempty"`
}

// File is one file of the archive with its copies.
type File struct {
	Name       catalog.FileName       `json:"name"`
	Size       int64                  `json:"size"`
	SHA256     string                 `json:"sha256"`
	Shard      string                 `json:"shard"`
	Collection catalog.CollectionName `json:"collection"`
	Added      time.Time              `json:"added"`
	Job        uint64                 `json:"job,omitempty"`
	Attempt    int                    `json:"attempt,omitempty"`
	Source     catalog.NodeID         `json:"source"`
	Released   bool                   `json:"released" doc:"the source may have deleted its bytes"`
	Complete   bool                   `json:"complete" doc:"every replica has a verified copy"`
	Removed    time.Time              `json:"removed,omitzero"`
	Reason     string                 `json:"reason,omitempty" doc:"of the removal"`
	Lost       time.Time              `json:"lost,omitzero" doc:"since then nobody is said to have its bytes"`
	LostWhy    string                 `json:"lostWhy,omitempty" doc:"why"`
	Version    uint64                 `json:"version" doc:"counts the changes of this entry"`
	Copies     []Copy                 `json:"copies"`
}

// Verification is what re-reading one copy found.
type Verification struct {
	Replica catalog.ReplicaName `json:"replica"`
	Node    catalog.NodeID      `json:"node,omitempty"`
	State   string              `json:"state" enum:"ok,corrupt,missing,unreachable"`
	SHA256  string              `json:"sha256,omitempty" doc:"found"`
	Detail  string              `json:"detail,omitempty"`
}

// Audit is one pass over the copies of one replica or all.
type Audit struct {
	ID       string                `json:"id"`
	Replicas []catalog.ReplicaName `json:"replicas"`
	State    string                `json:"state" enum:"running,paused,stopped,incomplete,done" doc:"incomplete: ended, but some copies were not read; see the nodes"`
	Began    time.Time             `json:"began"`
	Ended    time.Time             `json:"ended,omitzero"`
	Files    int64                 `json:"files" doc:"copies read so far, and copies found missing"`
	Bytes    int64                 `json:"bytes"`
	Total    int64                 `json:"total" doc:"copies to read, as the catalog had it when the audit began"`
	Missing  int64                 `json:"missing"`
	Corrupt  int64                 `json:"corrupt"`
	Lines    int64                 `json:"lines" doc:"of manifests that were wrong or missing and have been put right"`
	Nodes    []AuditNode           `json:"nodes"`

	Owed      int64 `json:"owed" doc:"copies that were not read because they are still to be made: the catalog does not count on them"`
	OwedBytes int64 `json:"owedBytes"`
	Unheld    int64 `json:"unheld" doc:"copies in shards that no node held when the audit began: nobody could read them"`
}

// Clean reports whether the audit has read every copy that the archive is to have, and found nothing wrong.
func (a Audit) Clean() bool {
	return a.State == "done" && a.Missing+a.Corrupt+a.Lines+a.Owed+a.Unheld == 0
}

// AuditNode is one node's part of an audit.
type AuditNode struct {
	Node    catalog.NodeID `json:"node"`
	Name    string         `json:"name,omitempty"`
	State   string         `json:"state" enum:"running,paused,stopped,incomplete,done,unreachable"`
	Files   int64          `json:"files"`
	Bytes   int64          `json:"bytes"`
	Total   int64          `json:"total"`
	Missing int64          `json:"missing"`
	Corrupt int64          `json:"corrupt"`
	Lines   int64          `json:"lines"`
	Detail  string         `json:"detail,omitempty"`

	Owed      int64 `json:"owed"`
	OwedBytes int64 `json:"owedBytes"`

	Findings []AuditFinding `json:"findings" doc:"the first missing and corrupt copies"`
	Omitted  int64          `json:"omitted" doc:"missing and corrupt copies that are not listed"`
}

// AuditFinding is a copy that an audit found wrong.
type AuditFinding struct {
	File   catalog.FileName `json:"file"`
	State  string           `json:"state" enum:"missing,corrupt"`
	SHA256 string           `json:"sha256,omitempty" doc:"of the bytes that were found; none when they could not be read"`
}

// Progress is how a running crawl stands.
type Progress struct {
	Discovered int64   `json:"discovered" doc:"URIs found"`
	Queued     int64   `json:"queued"`
	Done       int64   `json:"done" doc:"fetched with success"`
	Failed     int64   `json:"failed"`
	Bytes      int64   `json:"bytes" doc:"of content"`
	Rate       float64 `json:"rate" doc:"URIs a second"`
	Seconds    float64 `json:"seconds" doc:"since the attempt began"`
}

// Job is one piece of a harvest run.
type Job struct {
	ID         uint64                 `json:"id"`
	Harvest    string                 `json:"harvest"`
	Collection catalog.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	State      catalog.JobState       `json:"state" enum:"NEW,SUBMITTED,STARTED,DONE,FAILED,RESUBMITTED,FAILED_REJECTED"`
	Wish       catalog.JobWish        `json:"wish,omitempty" enum:",pause,stop"`
	WishReason string                 `json:"wishReason,omitempty"`
	Attempt    int                    `json:"attempt"`
	Node       catalog.NodeID         `json:"node,omitempty"`
	NodeName   string                 `json:"nodeName,omitempty"`
	Created    time.Time              `json:"created"`
	Submitted  time.Time              `json:"submitted,omitzero"`
	Started    time.Time              `json:"started,omitzero"`
	Ended      time.Time              `json:"ended,omitzero"`
	Stats      catalog.JobStats       `json:"stats"`
	Reason     string                 `json:"reason,omitempty"`
	Next       uint64                 `json:"next,omitempty" doc:"the job that took over"`
	Seeds      []string               `json:"seeds"`
	Settings   *Settings              `json:"settings,omitempty" doc:"given when one job is shown"`
	Note       string                 `json:"note,omitempty" doc:"given when one job is shown whose wish waits for its node"`
	Progress   *Progress              `json:"progress,omitempty" doc:"given when one running job is shown and its node answers"`
}

// Collection is what a file and a harvest belong to.
type Collection struct {
	Name    catalog.CollectionName `json:"name"`
	Created time.Time              `json:"created"`
}

// CollectionRequest asks for a new collection.
type CollectionRequest struct {
	Name catalog.CollectionName `json:"name" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
}

// ReplicaRequest asks for a new replica.
type ReplicaRequest struct {
	Name        catalog.ReplicaName      `json:"name" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Kind        catalog.ReplicaKind      `json:"kind" enum:"bitarchive,checksum"`
	Place       string                   `json:"place,omitempty" maxLength:"64" doc:"where its nodes stand and fail together; default: its name"`
	Collections []catalog.CollectionName `json:"collections,omitempty" doc:"those it is to hold; default: all"`
}

// JobRequest asks for a crawl.
type JobRequest struct {
	Harvest    string                 `json:"harvest,omitempty" doc:"the harvest it belongs to; default: its name"`
	Collection catalog.CollectionName `json:"collection,omitempty" doc:"default: the cluster's first"`
	Channel    string                 `json:"channel,omitempty"`
	Name       string                 `json:"name" minLength:"1" maxLength:"100"`
	Seeds      []string               `json:"seeds" minItems:"1" maxItems:"10000"`
	Settings   *Settings              `json:"settings,omitempty" doc:"those not given have their defaults"`
}

// Settings are a job's crawl settings; in JSON, what is not given has its default.
type Settings struct{ harvest.Settings }

// UnmarshalJSON reads settings over the defaults; an unknown key is refused with the nearest known one.
func (s *Settings) UnmarshalJSON(data []byte) error {
	settings, err := harvest.ParseSettings(data)
	s.Settings = settings
	return err
}

// IndexStatus is how one node's index stands.
type IndexStatus struct {
	Node       catalog.NodeID `json:"node"`
	Name       string         `json:"name,omitempty"`
	Files      int64          `json:"files" doc:"indexed"`
	Pending    int64          `json:"pending" doc:"files here that are not indexed yet"`
	Captures   int64          `json:"captures"`
	Bytes      int64          `json:"bytes" doc:"of the index on disk"`
	Rebuilding bool           `json:"rebuilding"`
	Detail     string         `json:"detail,omitempty" doc:"what is wrong, or why the node did not answer"`
}

// Event is one entry of the hash-chained audit trail.
type Event struct {
	Seq       uint64    `json:"seq"`
	Index     uint64    `json:"index" doc:"of its command in the log"`
	At        time.Time `json:"at"`
	Actor     string    `json:"actor" doc:"an id; before level 3, the name of a token"`
	ActorName string    `json:"actorName" doc:"as it is called now"`
	Act       string    `json:"act"`
	Subject   string    `json:"subject"`
	Detail    string    `json:"detail,omitempty"`
	Previous  string    `json:"previous"`
	Hash      string    `json:"hash"`
}
