package wire

import (
	"time"
)

// Health says whether the node is up, for supervisors; it needs no token.
type Health struct {
	Ready  bool `json:"ready"`
	Quorum bool `json:"quorum"`
}

// Status is the state of the cluster, as the answering node sees it.
type Status struct {
	Cluster   Cluster          `json:"cluster"`
	Node      NodeStatus       `json:"node" doc:"the node that answers"`
	Nodes     []Node           `json:"nodes"`
	Replicas  []Replica        `json:"replicas"`
	Jobs      map[JobState]int `json:"jobs" doc:"number of jobs in each state, among the newest 1000"`
	Lost      int              `json:"lost" doc:"number of files declared lost, at most 1000"`
	Ownerless int              `json:"tokensWithoutOwner" doc:"access tokens from before level 3 that nobody has taken"`
	Healthy   bool             `json:"healthy"`
	Problems  []string         `json:"problems" doc:"why the cluster is not healthy: the texts of the alerts"`
	Alerts    []Alert          `json:"alerts" doc:"what a person should know of, as the answering node sees it; alert-list asks all nodes"`
}

// Cluster is the cluster's own record and who leads it.
type Cluster struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Epoch      uint64    `json:"epoch"`
	Level      int       `json:"level"`
	Founded    time.Time `json:"founded"`
	Quorum     bool      `json:"quorum"`
	Leader     string    `json:"leader,omitempty"`
	LeaderName string    `json:"leaderName,omitempty"`
}

// Level says which commands and meanings the cluster uses, and which it could use.
type Level struct {
	Level     int           `json:"level" doc:"the cluster's level, which enables new commands and changed meanings"`
	Supported int           `json:"supported" doc:"the highest level that every member supports"`
	Newest    int           `json:"newest" doc:"the highest level that the answering node's program supports"`
	Members   []MemberLevel `json:"members"`
}

// MemberLevel is what one member supports. A member tells it once after each start of its program.
type MemberLevel struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Level   int    `json:"level" doc:"the highest that its program supports"`
	Version string `json:"version,omitempty" doc:"version of the node's program, as last heard"`
	State   string `json:"state" enum:"alive,suspected,failed,left,unknown"`
}

// LevelRequest asks for a higher level.
type LevelRequest struct {
	Level int `json:"level" minimum:"1" maximum:"1000000"`
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
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Replica   string    `json:"replica"`
	Place     string    `json:"place,omitempty"`
	Addresses []string  `json:"addresses,omitempty"`
	OutOnly   bool      `json:"outOnly,omitempty" doc:"the node can only open connections itself, and never votes"`
	Weight    int       `json:"weight" doc:"share of its replica's shards"`
	Draining  bool      `json:"draining" doc:"the node is being drained and is to hold no shards"`
	Shards    int       `json:"shards" doc:"shards held by the node now"`
	Level     int       `json:"level"`
	Channels  []string  `json:"channels,omitempty" doc:"the channels whose jobs the node takes; absent if it crawls nothing"`
	Joined    time.Time `json:"joined"`
	Presence  Presence  `json:"presence"`
}

// NodeChange is a change of a node; fields that are not given stay as they are.
type NodeChange struct {
	Weight   *int  `json:"weight,omitempty" minimum:"1" maximum:"10000" doc:"the node's share of its replica's shards, relative to others; 100 is usual"`
	Draining *bool `json:"draining,omitempty" doc:"true: the node's shards move to other nodes of its replica"`
}

// Removal takes a node out of the cluster.
type Removal struct {
	Lost   bool   `json:"lost,omitempty" doc:"the node's bytes are gone for good: remove it without waiting for its shards to move"`
	Files  int64  `json:"files,omitempty" minimum:"0" doc:"with lost: how many files have no good copy but on this node, as /api/v1/nodes/{name}/sole-files counts them; refused when the number is another one now"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
	Confirmation
}

// NodeStatus is what a node knows of itself and, by gossip, of the others.
type NodeStatus struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Started  time.Time         `json:"started"`
	Ready    bool              `json:"ready"`
	Role     string            `json:"role" enum:"leader,voter,candidate,non-voter"`
	Quorum   bool              `json:"quorum" doc:"a leader is known and was heard from just now"`
	Leader   string            `json:"leader,omitempty"`
	Term     uint64            `json:"term"`
	Applied  uint64            `json:"applied" doc:"index of the last command applied here"`
	Listen   Listen            `json:"listen"`
	Disks    []Disk            `json:"disks"`
	DiskMove *DiskMove         `json:"diskMove,omitempty" doc:"the shard that is moving from one of its disks to another"`
	Running  []uint64          `json:"running" doc:"jobs crawling here"`
	Backup   *BackupState      `json:"backup,omitempty" doc:"how the backups of the catalog stand that the node makes by itself; absent if it makes none"`
	Outbox   int               `json:"outbox" doc:"files in the node's outbox: it keeps them until every replica has its copy"`
	Refused  map[string]uint64 `json:"refused,omitempty" doc:"connections and joins refused since the node started, by reason: strangers, removed, clusters, epochs, malformed, busy, joins; and joins also by unknown-tokens, expired-tokens, used-tokens"`
	Problems []string          `json:"problems,omitempty" doc:"problems that a person should look at"`
}

// Listen are the addresses that a node serves.
type Listen struct {
	Peer   string `json:"peer"`
	API    string `json:"api"`
	Access string `json:"access"`
}

// Disk is the room on one of a node's disks.
type Disk struct {
	Path  string `json:"path"`
	Free  int64  `json:"freeBytes"`
	Total int64  `json:"totalBytes"`
}

// DiskState is the state of one of the node's disks for files.
type DiskState struct {
	Path   string `json:"path" doc:"folder for files on the disk"`
	Total  int64  `json:"totalBytes"`
	Room   int64  `json:"roomBytes" doc:"free bytes beyond the reserve"`
	Shards int    `json:"shards" doc:"shards on the disk"`
	Bytes  int64  `json:"bytes" doc:"of the files in its shards"`
	State  string `json:"state" enum:"in use,draining,emptied,not mounted,read-only"`
	Why    string `json:"why,omitempty" doc:"why it cannot be emptied, read or written"`
}

// DiskMove is how far one shard's move from disk to disk is.
type DiskMove struct {
	Shard      string    `json:"shard"`
	From       string    `json:"from"`
	To         string    `json:"to"`
	Files      int64     `json:"files" doc:"copied and read back"`
	TotalFiles int64     `json:"totalFiles"`
	Bytes      int64     `json:"bytes" doc:"copied"`
	TotalBytes int64     `json:"totalBytes"`
	Began      time.Time `json:"began"`
}

// Disks is the state of the node's disks for files, and of the moves between them.
type Disks struct {
	Disks     []DiskState `json:"disks"`
	Paused    bool        `json:"paused" doc:"no shard moves between disks until moving is resumed"`
	Balancing bool        `json:"balancing" doc:"shards move from the fullest disk to the emptiest"`
	Moved     int         `json:"moved" doc:"shards that have moved between disks since the node started"`
	Move      *DiskMove   `json:"move,omitempty" doc:"under way now"`
	Fault     string      `json:"fault,omitempty" doc:"why nothing moves"`
}

// DiskWish asks something of the node's disks.
type DiskWish struct {
	Wish string `json:"wish" enum:"drain,undrain,pause,resume,add,replace" doc:"pause and resume concern all moves between disks; add makes a folder ready, which is used once the node is started with it in its settings; replace gives a disk up for good, in place of which another is made ready"`
	Path string `json:"path,omitempty" maxLength:"4096" doc:"the folder of the disk to drain, undrain, add or replace"`
	By   string `json:"by,omitempty" maxLength:"4096" doc:"the folder of the new disk, to replace one"`
	Confirmation
}

// IndexStatus is the state of one node's index.
type IndexStatus struct {
	Node       string `json:"node"`
	Name       string `json:"name,omitempty"`
	Files      int64  `json:"files" doc:"indexed files"`
	Pending    int64  `json:"pending" doc:"files here that are not indexed yet"`
	Captures   int64  `json:"captures"`
	Bytes      int64  `json:"bytes" doc:"size of the index on disk"`
	Rebuilding bool   `json:"rebuilding"`
	Silent     bool   `json:"silent,omitempty" doc:"the node did not answer: none of its figures is known"`
	Detail     string `json:"detail,omitempty" doc:"what is wrong, or why the node did not answer"`
}

// IndexRebuild asks for an index to be rebuilt from the files.
type IndexRebuild struct {
	Node   string `json:"node,omitempty" doc:"the node's name or id; default: every node"`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"for the log of the node that answers"`
}

// Event is one entry of the hash-chained audit trail.
type Event struct {
	Seq       uint64    `json:"seq"`
	Index     uint64    `json:"index" doc:"index of its command in the log"`
	At        time.Time `json:"at"`
	Actor     string    `json:"actor" doc:"an id; before level 3, the name of a token"`
	ActorName string    `json:"actorName" doc:"its present name"`
	Act       string    `json:"act"`
	Subject   string    `json:"subject"`
	Detail    string    `json:"detail,omitempty"`
	Previous  string    `json:"previous"`
	Hash      string    `json:"hash"`
}
