package wire

import (
	"time"
)

// ReplicaKind says what a replica keeps.
type ReplicaKind string

// The kinds of replica.
const (
	Bitarchive ReplicaKind = "bitarchive" // the bytes
	Checksum   ReplicaKind = "checksum"   // names, sizes and checksums; it votes
)

// Shards is the number of parts that each replica's files are divided into.
const Shards = 4096

// Replica is one set of the archive, and its state.
type Replica struct {
	Name        string      `json:"name"`
	Kind        ReplicaKind `json:"kind" enum:"bitarchive,checksum"`
	Place       string      `json:"place"`
	Collections []string    `json:"collections,omitempty" doc:"collections that it holds; none: all"`
	Created     time.Time   `json:"created"`
	Files       int64       `json:"files" doc:"files that it has to hold"`
	Bytes       int64       `json:"bytes"`
	Good        int64       `json:"good" doc:"verified"`
	Away        int64       `json:"away" doc:"of the verified copies, those on a disk that is away: they count, and nobody can read them"`
	Owed        int64       `json:"owed" doc:"copies that are not good yet, or no longer good"`
	Disputed    int64       `json:"disputed" doc:"copies with findings that wait for a verdict"`
	Held        int         `json:"shardsHeld" doc:"shards with a holder, of 4096"`
	Moving      int         `json:"shardsMoving"`
}

// CopyReplacement asks that a bad copy is made again from a good one.
type CopyReplacement struct {
	Replica string `json:"replica" minLength:"1" maxLength:"64"`
	SHA256  string `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"of the bad bytes, as the copy was found with; another copy is not replaced"`
	Reason  string `json:"reason" minLength:"1" maxLength:"500"`
}

// ChecksumCorrection corrects a file's SHA-256 in the catalog.
type ChecksumCorrection struct {
	Was     string `json:"was" pattern:"^[0-9a-f]{64}$" doc:"the SHA-256 in the catalog; must agree"`
	SHA256  string `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"the right one: audits found at least two copies, and more than half of those that were read, with it"`
	Reason  string `json:"reason" minLength:"1" maxLength:"500"`
	Version uint64 `json:"version,omitempty" doc:"refuse unless the file's entry has this version still"`
}

// CopySetting puts a replica's copy back to owed.
type CopySetting struct {
	Replica string     `json:"replica" minLength:"1" maxLength:"64"`
	SHA256  string     `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"the file's SHA-256; must agree"`
	State   StoreState `json:"state" enum:"UPLOAD_STARTED,UPLOAD_FAILED" doc:"both are owed; only verified bytes make a copy UPLOAD_COMPLETED"`
	Reason  string     `json:"reason" minLength:"1" maxLength:"500"`
	Version uint64     `json:"version,omitempty" doc:"refuse unless the file's entry has this version still"`
}

// ReplicaChecks says how a replica's copies are, by the checks that were made: nothing is checked for it.
type ReplicaChecks struct {
	Replica
	Missing int64          `json:"missing" doc:"copies that were not found and are not repaired"`
	Changed int64          `json:"changed" doc:"copies whose bytes were found to be others and that are not repaired"`
	Partly  bool           `json:"partly" doc:"not all owed or disputed copies were looked at: there may be more missing and changed ones"`
	Checks  []ReplicaCheck `json:"checks" doc:"of each kind; the lists of copies are at /api/v1/copies"`
}

// ReplicaCheck is how the last checks of one kind were. Checks of the kind checksum are counted in shards with files,
// the others in nodes: of presence, those that hold shards with files; of challenges, those that asked.
type ReplicaCheck struct {
	Kind     string    `json:"kind" enum:"checksum,presence,challenge"`
	Oldest   time.Time `json:"oldest,omitzero" doc:"when the oldest of them ended; of checksum, that of the bytes longest unread"`
	Newest   time.Time `json:"newest,omitzero"`
	Checked  int64     `json:"checked" doc:"shards, or nodes, with a check"`
	Never    int64     `json:"never" doc:"shards, or nodes, without a check by the present holder; of challenges, 1 if there was none"`
	Findings int64     `json:"findings" doc:"what these checks found wrong"`
	Missed   int64     `json:"missed" doc:"copies that these checks did not check"`
}

// ReplicaRequest asks for a new replica.
type ReplicaRequest struct {
	Name        string      `json:"name" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Kind        ReplicaKind `json:"kind" enum:"bitarchive,checksum"`
	Place       string      `json:"place,omitempty" maxLength:"64" doc:"the place where its nodes are and would fail together; default: the replica's name"`
	Collections []string    `json:"collections,omitempty" doc:"the collections that it has to hold; default: all"`
}

// Shard is one shard of a replica.
type Shard struct {
	Shard  string `json:"shard" doc:"three hexadecimal digits"`
	Holder string `json:"holder,omitempty"`
	Next   string `json:"next,omitempty" doc:"the node it moves to"`
}

// Collection is what a file and a harvest belong to.
type Collection struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// CollectionRequest asks for a new collection.
type CollectionRequest struct {
	Name string `json:"name" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
}

// File is one file of the archive with its copies.
type File struct {
	Name        string    `json:"name"`
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"`
	Shard       string    `json:"shard"`
	Collection  string    `json:"collection"`
	Added       time.Time `json:"added"`
	Job         uint64    `json:"job,omitempty"`
	Attempt     int       `json:"attempt,omitempty"`
	Source      string    `json:"source"`
	Released    bool      `json:"released" doc:"the source may have deleted its bytes"`
	Complete    bool      `json:"complete" doc:"every replica has a verified copy"`
	Removed     time.Time `json:"removed,omitzero"`
	RemovedBy   string    `json:"removedBy,omitempty" doc:"who removed it: an actor, as in the trail; absent for files that were removed below level 5"`
	RemoverName string    `json:"removedByName,omitempty" doc:"its present name"`
	Until       time.Time `json:"until,omitzero" doc:"of a removed file that can be restored: when the release of its bytes begins"`
	Reason      string    `json:"reason,omitempty" doc:"of the removal"`
	Lost        time.Time `json:"lost,omitzero" doc:"when the file was declared lost"`
	LostWhy     string    `json:"lostWhy,omitempty" doc:"why"`
	Version     uint64    `json:"version" doc:"number of changes of this entry"`
	Stuck       *Stuck    `json:"stuck,omitempty" doc:"only in lists of the state stuck: why a copy cannot be made now"`
	Copies      []Copy    `json:"copies"`
}

// Stuck says why a copy of a file cannot be made now: no node that is alive has good bytes of it.
type Stuck struct {
	Away []string `json:"away" doc:"names of the nodes that have good bytes and are not alive, as the answering node hears; none: no node has any"`
}

// StoreState says how far a copy is.
type StoreState string

// The store states, as archivists know them.
const (
	UploadStarted   StoreState = "UPLOAD_STARTED"   // owed, follows from the file's entry
	UploadCompleted StoreState = "UPLOAD_COMPLETED" // verified
	UploadFailed    StoreState = "UPLOAD_FAILED"    // with a reason; tried again with growing pauses
)

// FileListStatus is what the last look at a copy found about its presence.
type FileListStatus string

// ChecksumStatus is what the last reading of a copy's bytes found.
type ChecksumStatus string

// What was found.
const (
	NoFileListStatus FileListStatus = "NO_FILELIST_STATUS"
	FileListOK       FileListStatus = "OK"
	FileListMissing  FileListStatus = "MISSING"
	ChecksumUnknown  ChecksumStatus = "UNKNOWN"
	ChecksumOK       ChecksumStatus = "OK"
	ChecksumCorrupt  ChecksumStatus = "CORRUPT"
)

// Copy is one replica's holding of a file.
type Copy struct {
	Replica  string         `json:"replica"`
	State    StoreState     `json:"state" enum:"UPLOAD_STARTED,UPLOAD_COMPLETED,UPLOAD_FAILED"`
	Node     string         `json:"node,omitempty"`
	Since    time.Time      `json:"since"`
	FileList FileListStatus `json:"fileList" enum:"NO_FILELIST_STATUS,OK,MISSING" doc:"result of the last look at the copy, when it was stored or by an audit"`
	Checksum ChecksumStatus `json:"checksum" enum:"UNKNOWN,OK,CORRUPT" doc:"result of the last reading of its bytes, when it was stored or by an audit"`
	Verified time.Time      `json:"verified,omitzero" doc:"when its bytes were last read and found right; absent if that never was, if a later look found otherwise, or if no node answers for the copy now"`
	Found    string         `json:"found,omitempty" doc:"SHA-256 found instead of the file's"`
	Reason   string         `json:"reason,omitempty"`
	Tries    int            `json:"tries,omitempty"`
	Disputed bool           `json:"disputed,omitempty"`
	Away     bool           `json:"away,omitempty" doc:"it lies on a disk that is away, as its node says: it counts, and nobody can read it; only in the entry of one file"`
}

// FileCopy is one replica's copy of a file, in a list of copies.
type FileCopy struct {
	File       string `json:"file"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Shard      string `json:"shard"`
	Collection string `json:"collection"`
	Job        uint64 `json:"job,omitempty"`
	Copy
}

// FileRestoration makes a removed file one like any other again.
type FileRestoration struct {
	SHA256 string `json:"sha256" pattern:"^[0-9a-fA-F]{64}$" doc:"the file's SHA-256; the file is restored only if it matches"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

// RemovalRule says for how long a removed file can be restored.
type RemovalRule struct {
	Days    int       `json:"days" doc:"0: removed files cannot be restored"`
	Version uint64    `json:"version" doc:"grows by one with each change; 0 as long as nobody has changed it"`
	By      string    `json:"by,omitempty"`
	ByName  string    `json:"byName,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// RemovalRuleRequest changes it for files that are removed from then on.
type RemovalRuleRequest struct {
	Days    int    `json:"days" minimum:"0" maximum:"3650"`
	Version uint64 `json:"version" maximum:"9007199254740991" doc:"of the rule that was looked at; refused when it is another now"`
	Reason  string `json:"reason" minLength:"1" maxLength:"500"`
}

// FileRemoval hides a file, whose bytes are released some days later.
type FileRemoval struct {
	SHA256 string `json:"sha256" pattern:"^[0-9a-fA-F]{64}$" doc:"the file's SHA-256; the file is removed only if it matches"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
	Confirmation
}

// LossRequest declares a file lost.
type LossRequest struct {
	ReasonRequest
	Version uint64 `json:"version,omitempty" doc:"the version of the file's entry that was shown; the request is refused with 409 if the entry has changed since"`
}

// Verification is what re-reading one copy found.
type Verification struct {
	Replica string `json:"replica"`
	Node    string `json:"node,omitempty"`
	State   string `json:"state" enum:"ok,corrupt,missing,away,unreadable,unreachable" doc:"of the copy itself: away while its disk is not there, unreadable if its bytes cannot be read"`
	SHA256  string `json:"sha256,omitempty" doc:"found"`
	Outbox  string `json:"outbox,omitempty" enum:"ok,corrupt,unreadable,unreachable" doc:"how the bytes are that the node keeps in its outbox besides, as long as not all copies are made; left out if it keeps none. They are no part of the copy"`
	Detail  string `json:"detail,omitempty"`
}

// NodeStrays lists what one node has that the archive neither counts on nor asks for.
type NodeStrays struct {
	Node        string  `json:"node"`
	Name        string  `json:"name,omitempty"`
	Unreachable string  `json:"unreachable,omitempty" doc:"why the node did not answer; what it has is unknown then"`
	Fault       string  `json:"fault,omitempty" doc:"why the list is not whole"`
	Files       int     `json:"files" doc:"number of strays, including those not listed"`
	Bytes       int64   `json:"bytes" doc:"bytes of all strays"`
	Strays      []Stray `json:"strays" doc:"the first 1000"`
}

// Stray is one of them.
type Stray struct {
	Name  string `json:"name" doc:"the file's name"`
	Where string `json:"where" enum:"files,incoming,quarantine"`
	Path  string `json:"path" doc:"on the node's disk"`
	Size  int64  `json:"size"`
	State string `json:"state" doc:"why it is there, and what will be done with it"`
}

// Adoption takes bytes on a node into the archive that nobody asks for.
type Adoption struct {
	Collection string `json:"collection,omitempty" maxLength:"64" doc:"of a file that the catalog does not know"`
	SHA256     string `json:"sha256,omitempty" pattern:"^([0-9a-fA-F]{64})?$" doc:"other bytes are refused"`
}

// NodeQuarantine lists what is in the quarantine of one node.
type NodeQuarantine struct {
	Node        string  `json:"node"`
	Name        string  `json:"name,omitempty"`
	Unreachable string  `json:"unreachable,omitempty" doc:"why the node did not answer; what it has is unknown then"`
	Fault       string  `json:"fault,omitempty" doc:"why the list is not whole"`
	Files       int     `json:"files" doc:"number of files, including those not listed"`
	Bytes       int64   `json:"bytes"`
	Aside       []Aside `json:"aside" doc:"the first 1000"`
}

// Aside is bytes that a node has set aside.
type Aside struct {
	ID     string    `json:"id" doc:"the file's name, a dot, and when the bytes were set aside"`
	Name   string    `json:"name" doc:"the file's name"`
	Path   string    `json:"path" doc:"on the node's disk"`
	Size   int64     `json:"size"`
	Since  time.Time `json:"since" doc:"when they were set aside"`
	Reason string    `json:"reason" doc:"why"`
	SHA256 string    `json:"sha256,omitempty" doc:"of the bytes, if they have been read"`
	State  string    `json:"state" doc:"what the bytes are"`
	Known  bool      `json:"known" doc:"the catalog knows the file"`
	Good   int       `json:"good" doc:"number of verified copies of the file that replicas have"`
	Kept   string    `json:"kept,omitempty" doc:"why the bytes are not deleted now, whoever asks"`
	Going  bool      `json:"going,omitempty" doc:"somebody asked for their deletion, and the node has not carried it out yet"`
}

// AsideRemoval asks for the deletion of bytes that a node has set aside.
type AsideRemoval struct {
	SHA256 string `json:"sha256" pattern:"^[0-9a-fA-F]{64}$" doc:"of the bytes; others are not deleted"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

// Audit is one pass over the copies of one replica or all.
type Audit struct {
	ID       string      `json:"id"`
	Replicas []string    `json:"replicas"`
	State    string      `json:"state" enum:"running,paused,stopped,incomplete,done" doc:"incomplete: ended, but some copies were not read; see the nodes"`
	Began    time.Time   `json:"began"`
	Ended    time.Time   `json:"ended,omitzero"`
	Files    int64       `json:"files" doc:"copies read so far, and copies found missing"`
	Bytes    int64       `json:"bytes"`
	Total    int64       `json:"total" doc:"copies to read, according to the catalog when the audit began"`
	Missing  int64       `json:"missing"`
	Corrupt  int64       `json:"corrupt"`
	Lines    int64       `json:"lines" doc:"lines of manifests that were wrong or missing and have been corrected"`
	Extra    int64       `json:"extra" doc:"files that lie in the nodes' shards and are no copy that the archive counts on there. They take nothing from the copies: an audit that finds nothing else is clean"`
	Nodes    []AuditNode `json:"nodes"`

	Kind string `json:"kind" enum:"checksum,presence,challenge" doc:"checksum: every byte of each copy was read; presence: names, sizes and manifests were looked at, and only copies read at which something was odd; challenge: the nodes of other replicas had to show that they have the bytes"`
	AuditChallenges
	Shard  string   `json:"shard,omitempty" doc:"only copies of this shard"`
	Prefix string   `json:"prefix,omitempty" doc:"only copies of files whose names begin with this"`
	Named  []string `json:"named,omitempty" doc:"only copies of these files"`
	Left   int64    `json:"leftSeconds,omitempty" doc:"about how long the slowest node will go on, while it works as it did so far"`
	Unseen int64    `json:"unseen" doc:"copies that were asked for and that no node looked at: their shards moved, or the files were removed, while the audit began"`

	Unrecorded string `json:"unrecorded,omitempty" doc:"why it is not known whether the audit trail says who began this audit; only in the answer to who began it"`

	Owed      int64 `json:"owed" doc:"copies that were not read because they are still to be made: the catalog does not count on them"`
	OwedBytes int64 `json:"owedBytes"`
	Unheld    int64 `json:"unheld" doc:"copies in shards that no node held when the audit began: nobody could read them"`
}

// AuditChallenges is what an audit of the kind challenge has beside what others have.
type AuditChallenges struct {
	Challenged string `json:"challenged,omitempty" doc:"the replica whose copies were challenged, by nodes of the replicas; absent: those of all"`
	Wrong      int64  `json:"wrong" doc:"challenges with a wrong answer: the node has other bytes, or does not have the file"`
	Refused    int64  `json:"refused" doc:"challenges that a node did not answer, with a reason"`
	Late       int64  `json:"late" doc:"challenges that a node did not answer in time"`
	Unreached  int64  `json:"unreached" doc:"challenges that could not be made, or not be compared"`
	Answered   int64  `json:"answered" doc:"of those that were refused, late or unreached: how many were answered rightly when they were asked again, which goes on after the audit's end"`
}

// Clean reports whether the audit has checked every copy that was asked for, and found nothing wrong.
func (a Audit) Clean() bool {
	return a.State == "done" && a.Missing+a.Corrupt+a.Lines+a.Owed+a.Unheld+a.Unseen+
		a.Wrong+a.Refused+a.Late+a.Unreached-a.Answered == 0
}

// AuditRequest asks for an audit.
type AuditRequest struct {
	Replica string   `json:"replica,omitempty" doc:"default: every replica"`
	Kind    string   `json:"kind,omitempty" enum:"checksum,presence,challenge" doc:"checksum, the default, reads every byte; presence looks at names, sizes and manifests; challenge lets nodes of other replicas ask for what only the bytes can answer"`
	Shard   string   `json:"shard,omitempty" pattern:"^[0-9a-f]{3}$" doc:"only copies of this shard"`
	Prefix  string   `json:"prefix,omitempty" maxLength:"255" doc:"only copies of files whose names begin with this"`
	Files   []string `json:"files,omitempty" maxItems:"1000" doc:"only copies of these files"`
	Reason  string   `json:"reason,omitempty" maxLength:"500" doc:"for the audit trail"`
}

// AuditNode is one node's part of an audit.
type AuditNode struct {
	Node    string `json:"node"`
	Name    string `json:"name,omitempty"`
	State   string `json:"state" enum:"running,paused,stopped,incomplete,done,unreachable"`
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Total   int64  `json:"total"`
	Missing int64  `json:"missing"`
	Corrupt int64  `json:"corrupt"`
	Lines   int64  `json:"lines"`
	Extra   int64  `json:"extra"`
	Detail  string `json:"detail,omitempty"`

	Owed      int64 `json:"owed"`
	OwedBytes int64 `json:"owedBytes"`

	Wrong     int64 `json:"wrong"`
	Refused   int64 `json:"refused"`
	Late      int64 `json:"late"`
	Unreached int64 `json:"unreached"`
	Answered  int64 `json:"answered"`

	Findings []AuditFinding `json:"findings" doc:"the first missing and corrupt copies, and the first challenges that were not answered rightly"`
	Omitted  int64          `json:"omitted" doc:"findings that are not listed"`
}

// AuditFinding is a copy that an audit found wrong.
type AuditFinding struct {
	File   string `json:"file"`
	State  string `json:"state" enum:"missing,corrupt,manifest,extra,wrong,refused,late,unreached,unread" doc:"missing and corrupt copies of the node itself; manifest: the bytes are right, and the line in the manifest was wrong or missing and has been put right; extra: no copy that counts there; of challenges, as they are counted. unread: the examiner could not read its own copy, or it is wrong"`
	SHA256 string `json:"sha256,omitempty" doc:"SHA-256 of the bytes that were found; absent if they could not be read"`

	Replica string `json:"replica,omitempty" doc:"of the copy that was challenged"`
	Node    string `json:"node,omitempty" doc:"that was asked"`
	Detail  string `json:"detail,omitempty"`

	Tries    int       `json:"tries,omitempty" doc:"how often it was asked again"`
	Answered time.Time `json:"answered,omitzero" doc:"when it was answered rightly after all; state and detail are of the answer before"`
}

// Capture is one archived response at one time; in a stream's last line, instead, the shards not covered.
type Capture struct {
	Key             string `json:"urlkey,omitempty"`
	Timestamp       string `json:"timestamp,omitempty"`
	URL             string `json:"url,omitempty"`
	MIME            string `json:"mime,omitempty"`
	Status          int    `json:"status,omitempty"`
	Digest          string `json:"digest,omitempty"`
	Redirect        string `json:"redirect,omitempty"`
	File            string `json:"filename,omitempty"`
	Offset          int64  `json:"offset,omitempty"`
	Length          int64  `json:"length,omitempty"`
	RefersURL       string `json:"refersTo,omitempty" doc:"of a revisit"`
	RefersTimestamp string `json:"refersToTimestamp,omitempty"`
	Incomplete      []int  `json:"incomplete,omitempty" doc:"in the last line only: shards that no node answered for"`
	Failed          string `json:"failed,omitempty" doc:"in the last line only: why the answer is incomplete"`
}
