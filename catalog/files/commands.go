package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: AddFiles, Level: 1, Do: agree.Widened[additionsUnnamed](LevelOfHidden, with(addFiles)),
		Body: func() agree.Parser { return new(Additions) }},
	{Kind: RemoveFile, Level: 1, Do: agree.Widened[fileRemovalUnmarked](cluster.LevelOfMarks, with(removeFile))},
	{Kind: LoseFile, Level: 2, Do: agree.Widened[fileLossUnmarked](cluster.LevelOfMarks, with(loseFile))},
	{Kind: ReportCopies, Level: 1, Do: with(reportCopies), Body: func() agree.Parser { return new(CopyReports) }},
	{Kind: ReleaseFiles, Level: 1, Do: with(releaseFiles), Body: func() agree.Parser { return new(Releases) }},
	{Kind: FindCopies, Level: 1, Do: with(findCopies)},
	{Kind: PassShard, Level: 1, Do: with(passShard)},
	{Kind: JudgeCopies, Level: 1, Do: with(judgeCopies)},
	{Kind: FindSources, Level: 2, Do: with(findSources)},
	{Kind: TakeSources, Level: 3, Do: with(takeSources)},
	{Kind: AssignShards, Level: 1, Do: with(assignShards)},
	{Kind: SwitchShard, Level: 1, Do: with(switchShard)},
	{Kind: SwitchShards, Level: 2, Do: with(switchShards)},
	{Kind: LeaveShard, Level: 1, Do: with(leaveShard)},
	{Kind: LeaveShards, Level: 2, Do: with(leaveShards)},
	{Kind: FillReplica, Level: 1, Do: with(fillReplica)},
	{Kind: DrawLots, Level: LevelOfChallenges, Do: with(drawLots)},
	{Kind: FindAnswers, Level: LevelOfChallenges, Do: with(findAnswers)},
	{Kind: NoteCheck, Level: LevelOfChallenges, Do: with(noteCheck)},
	{Kind: NoteAway, Level: LevelOfAway, Do: with(noteAway)},
	{Kind: ReplaceCopy, Level: LevelOfChallenges, Do: with(replaceCopy)},
	{Kind: RecordLedger, Level: LevelOfLedgers, Do: with(recordLedger)},
	{Kind: DiscardAside, Level: LevelOfAside, Do: with(discardAside)},
	{Kind: DropAside, Level: LevelOfAside, Do: with(dropAside)},
	{Kind: SetChecksum, Level: LevelOfChallenges, Do: with(setChecksum)},
	{Kind: SetCopyState, Level: LevelOfChallenges, Do: with(setCopyState)},
	{Kind: RestoreFile, Level: LevelOfHidden, Do: with(restoreFile)},
	{Kind: ExpireFiles, Level: LevelOfHidden, Do: with(expireFiles)},
	{Kind: SetRemovals, Level: LevelOfHidden, Do: with(setRemovals)},
	{Kind: NoteAudit, Level: LevelOfHidden, Do: with(noteAudit)},
	{Kind: RecallFiles, Level: agree.LevelOfRebuilding, Do: with(recallFiles)},
	{Kind: RecallShards, Level: agree.LevelOfRebuilding, Do: with(recallShards)},
	{Kind: RecallLedger, Level: agree.LevelOfRebuilding, Do: with(recallLedger)},
}

// The kinds of commands and their bodies.
const (
	AddFiles     agree.Kind = "file.add"          // Additions, at most MaxItems
	RemoveFile   agree.Kind = "file.remove"       // FileRemoval
	LoseFile     agree.Kind = "file.lose"         // FileLoss
	ReportCopies agree.Kind = "copy.report"       // CopyReports, at most MaxItems
	ReleaseFiles agree.Kind = "file.release"      // Releases, at most MaxItems
	FindCopies   agree.Kind = "audit.findings"    // Findings, at most MaxItems
	PassShard    agree.Kind = "audit.pass"        // ShardPass
	JudgeCopies  agree.Kind = "audit.verdict"     // Verdicts, at most MaxItems
	FindSources  agree.Kind = "source.findings"   // Findings, at most MaxItems: about what the node keeps as the source
	TakeSources  agree.Kind = "source.take"       // Takeovers, at most MaxItems
	AssignShards agree.Kind = "shard.assign"      // Assignment
	SwitchShard  agree.Kind = "shard.switch"      // Switch
	SwitchShards agree.Kind = "shard.switches"    // Switches, of shards without files
	LeaveShard   agree.Kind = "shard.leave"       // Leaving
	LeaveShards  agree.Kind = "shard.leaves"      // Leavings
	FillReplica  agree.Kind = "replica.fill"      // FillStep
	DrawLots     agree.Kind = "audit.draw"        // Drawing
	FindAnswers  agree.Kind = "audit.answers"     // Answers, at most MaxItems
	NoteCheck    agree.Kind = "audit.check"       // Check
	NoteAway     agree.Kind = "disk.away"         // Away
	ReplaceCopy  agree.Kind = "copy.replace"      // Replacement
	RecordLedger agree.Kind = "ledger.record"     // Ledger
	DiscardAside agree.Kind = "quarantine.delete" // Discard
	RestoreFile  agree.Kind = "file.restore"      // Restoration
	ExpireFiles  agree.Kind = "file.expire"       // Expiry, at most MaxItems
	SetRemovals  agree.Kind = "removal.set"       // RemovalSetting
	NoteAudit    agree.Kind = "audit.start"       // AuditNote
	DropAside    agree.Kind = "quarantine.drop"   // Drop; the answer is Dropped
	SetChecksum  agree.Kind = "file.checksum"     // Correction
	SetCopyState agree.Kind = "copy.state"        // CopySetting
	RecallFiles  agree.Kind = "rebuild.files"     // FileRecalls, at most MaxItems
	RecallShards agree.Kind = "rebuild.shards"    // Assignment
	RecallLedger agree.Kind = "rebuild.ledger"    // Ledger
)

// LevelOfChallenges is the level of a cluster whose nodes challenge each other for the bytes of their copies.
const LevelOfChallenges = 5

// Drawing draws lots again for who challenges whom. It is refused unless the number follows the last one's, and before
// DrawLeast is over.
type Drawing struct {
	Node   agree.NodeID `json:"node"`
	Number uint64       `json:"number"`
}

// Answer is a copy of which another node gave a wrong answer to a challenge.
type Answer struct {
	Name  FileName   `json:"name"`
	Since agree.Time `json:"since"` // of the copy's state when it was challenged; refused when that is another now
}

// Answers are wrong answers about copies of one replica. They are taken from each copy's examiner alone, which has a
// good copy itself, and has read it. Each disputes a copy until a verdict.
type Answers struct {
	Node    agree.NodeID        `json:"node"` // the examiner
	Replica cluster.ReplicaName `json:"replica"`
	Draw    uint64              `json:"draw"`
	Files   []Answer            `json:"files"`
}

// Replacement decides that a copy is bad, of which an audit found other bytes: it is set aside and owed again. It is
// refused for a copy that was not found to have this SHA-256, and while there are no good bytes to make it from.
type Replacement struct {
	Name    FileName            `json:"name"`
	Replica cluster.ReplicaName `json:"replica"`
	SHA256  agree.Digest        `json:"sha256"` // of the bad bytes that were found
	Reason  string              `json:"reason"`
}

// Check is the record of a node's last check of one kind, of all that it was to check. Of checksum audits there are
// records for each shard instead.
type Check struct {
	Node     agree.NodeID        `json:"node"`    // who made it
	Replica  cluster.ReplicaName `json:"replica"` // whose copies were checked
	Kind     string              `json:"kind"`    // presence or challenge
	Began    agree.Time          `json:"began"`
	Ended    agree.Time          `json:"ended"`
	Files    int64               `json:"files"`    // copies that were checked
	Findings int64               `json:"findings"` // among them
	Missed   int64               `json:"missed"`   // copies that were to be checked, and were not
}

// Assignment sets the holder of shards that have none, or the next node of shards that move.
type Assignment struct {
	Replica cluster.ReplicaName `json:"replica"`
	Shards  []cluster.Shard     `json:"shards"` // at most 512
	Node    agree.NodeID        `json:"node"`
}

// Switch makes next the holder of a shard; refused unless the root it proves is the catalog's.
type Switch struct {
	Replica cluster.ReplicaName `json:"replica"`
	Shard   cluster.Shard       `json:"shard"`
	Node    agree.NodeID        `json:"node"`
	Root    Root                `json:"root"`
}

// Switches makes next the holder of all those of the shards that have no files and are moving to it. The others stay as
// they are, and so do those for which the command has no room: they are asked for again.
type Switches struct {
	Replica cluster.ReplicaName `json:"replica"`
	Shards  []cluster.Shard     `json:"shards"` // at most 512
	Node    agree.NodeID        `json:"node"`
}

// Leavings is Leaving for many shards, of which the node has nothing.
type Leavings struct {
	Node    agree.NodeID        `json:"node"`
	Replica cluster.ReplicaName `json:"replica"`
	Shards  []cluster.Shard     `json:"shards"` // at most 512
}

// Leaving says that a node has released all it had of the files of a shard that moved away from it.
type Leaving struct {
	Node    agree.NodeID        `json:"node"`
	Replica cluster.ReplicaName `json:"replica"`
	Shard   cluster.Shard       `json:"shard"`
}

// FillStep takes a replica's Fill one chunk further; refused when the Fill is not where the step says.
type FillStep struct {
	Replica cluster.ReplicaName `json:"replica"`
	Shard   cluster.Shard       `json:"shard"`
	After   FileName            `json:"after,omitempty"`
}

// Addition is one file that enters the archive.
type Addition struct {
	Name       FileName               `json:"name"`
	Size       int64                  `json:"size"`
	SHA256     agree.Digest           `json:"sha256"`
	Collection cluster.CollectionName `json:"collection"`
	Source     agree.NodeID           `json:"source"`
	Job        uint64                 `json:"job,omitempty"`
	Attempt    int                    `json:"attempt,omitempty"`
	By         string                 `json:"by,omitempty"` // the actor who put it, who is no node; since level 5
}

// Additions lets files enter. Adding the same name, size and digest again is carried out without change, but
// for a file that is not complete and whose source is gone: the new source takes over. The same name with
// other content is refused.
type Additions struct {
	Files []Addition `json:"files"`
}

// CopyReport is a node's report about its replica's copy of a file.
type CopyReport struct {
	Name   FileName     `json:"name"`
	State  StoreState   `json:"state"`
	SHA256 agree.Digest `json:"sha256,omitzero"` // what was computed from the bytes; must agree for UPLOAD_COMPLETED
	Reason string       `json:"reason,omitempty"`
}

// CopyReports is accepted from the holder or next of each file's shard in the node's replica. What next
// reports changes nothing: its copies count when the shard switches.
type CopyReports struct {
	Node   agree.NodeID `json:"node"`
	Copies []CopyReport `json:"copies"`
}

// Releases asks that a node may delete its bytes of files: as their source, or because it no longer holds their
// shard. It is refused for a file that is not verified everywhere it is required, and for a copy that the node has to
// hold. A source that also holds the file releases only the bytes that it kept as the source.
type Releases struct {
	Node  agree.NodeID `json:"node"`
	Files []FileName   `json:"files"`
}

// FileRemoval hides a file, and its bytes are released some days later. Below level 5, and when the rule of removals
// says 0 days, they are released at once, and the entry is a tombstone.
type FileRemoval struct {
	Name   FileName     `json:"name"`
	SHA256 agree.Digest `json:"sha256"` // must agree, against mistakes
	Reason string       `json:"reason"`

	Version uint64 `json:"version,omitempty"` // of the entry that was looked at; since level 3
}

// FileLoss declares that nobody has the bytes of a file any more, or takes that back.
type FileLoss struct {
	Name    FileName       `json:"name"`
	SHA256  agree.Digest   `json:"sha256"` // must agree, against mistakes
	Reason  string         `json:"reason"`
	Checked []agree.NodeID `json:"checked,omitempty"` // members that were asked just now, and do not have the bytes
	Version uint64         `json:"version,omitempty"` // of the entry that was looked at; since level 3
	Undo    bool           `json:"undo,omitempty"`
}

// Finding is an audit's finding that a copy is wrong, or right again.
type Finding struct {
	Name     FileName       `json:"name"`
	FileList FileListStatus `json:"fileList"`
	Checksum ChecksumStatus `json:"checksum"`
	Found    agree.Digest   `json:"found,omitzero"`
}

// Findings are exceptions of an audit; each disputes a copy until a verdict.
type Findings struct {
	Node  agree.NodeID `json:"node"`
	Files []Finding    `json:"files"`
}

// Takeover makes a node that has a file's bytes its source in the place of one that cannot give them.
type Takeover struct {
	Name   FileName     `json:"name"`
	SHA256 agree.Digest `json:"sha256"` // must agree: of the bytes that the node has read just now
	From   agree.NodeID `json:"from"`   // whose place is taken; refused when another one is the source meanwhile
	Why    string       `json:"why"`    // what kept From from giving the bytes, for the audit trail
}

// Takeovers are made by the node that has the bytes. The other one may still have its own: it keeps them until the file
// is complete, as every node does with bytes that nobody counts on.
type Takeovers struct {
	Node  agree.NodeID `json:"node"`
	Files []Takeover   `json:"files"`
}

// Verdict decides a disputed copy.
type Verdict struct {
	Name    FileName            `json:"name"`
	Replica cluster.ReplicaName `json:"replica"`
	Bad     bool                `json:"bad"` // the copy is set aside and owed again; otherwise it is good
	Votes   string              `json:"votes"`
}

// Verdicts are the leader's; a verdict on a copy that is not disputed is refused.
type Verdicts struct {
	Copies []Verdict `json:"copies"`
}

// The bodies of the commands that carry a mark of what was looked at, as they were before; see cluster.LevelOfMarks.
type (
	additionsUnnamed struct {
		Files []struct {
			Name       FileName               `json:"name"`
			Size       int64                  `json:"size"`
			SHA256     agree.Digest           `json:"sha256"`
			Collection cluster.CollectionName `json:"collection"`
			Source     agree.NodeID           `json:"source"`
			Job        uint64                 `json:"job,omitempty"`
			Attempt    int                    `json:"attempt,omitempty"`
		} `json:"files"`
	}
	fileRemovalUnmarked struct {
		Name   FileName     `json:"name"`
		SHA256 agree.Digest `json:"sha256"`
		Reason string       `json:"reason"`
	}
	fileLossUnmarked struct {
		Name    FileName       `json:"name"`
		SHA256  agree.Digest   `json:"sha256"`
		Reason  string         `json:"reason"`
		Checked []agree.NodeID `json:"checked,omitempty"`
		Undo    bool           `json:"undo,omitempty"`
	}
)
