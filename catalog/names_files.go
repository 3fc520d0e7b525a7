package catalog

import "holdfast/catalog/files"

// The names of catalog/files, by which other rooms know them. What a name means is said there.
type (
	Assignment     = files.Assignment
	Switch         = files.Switch
	Switches       = files.Switches
	Leavings       = files.Leavings
	Leaving        = files.Leaving
	FillStep       = files.FillStep
	Addition       = files.Addition
	Additions      = files.Additions
	CopyReport     = files.CopyReport
	CopyReports    = files.CopyReports
	Releases       = files.Releases
	FileRemoval    = files.FileRemoval
	FileLoss       = files.FileLoss
	Finding        = files.Finding
	Findings       = files.Findings
	Takeover       = files.Takeover
	Takeovers      = files.Takeovers
	Verdict        = files.Verdict
	Verdicts       = files.Verdicts
	ItemResult     = files.ItemResult
	FileName       = files.FileName
	Cursor         = files.Cursor
	ReplicaShard   = files.ReplicaShard
	Root           = files.Root
	StoreState     = files.StoreState
	FileListStatus = files.FileListStatus
	ChecksumStatus = files.ChecksumStatus
	Copy           = files.Copy
	File           = files.File
	ShardPass      = files.ShardPass
	Fill           = files.Fill
	Totals         = files.Totals
	Holding        = files.Holding
)

// Constants of catalog/files.
const (
	AddFiles         = files.AddFiles
	RemoveFile       = files.RemoveFile
	LoseFile         = files.LoseFile
	ReportCopies     = files.ReportCopies
	ReleaseFiles     = files.ReleaseFiles
	FindCopies       = files.FindCopies
	PassShard        = files.PassShard
	JudgeCopies      = files.JudgeCopies
	FindSources      = files.FindSources
	TakeSources      = files.TakeSources
	AssignShards     = files.AssignShards
	SwitchShard      = files.SwitchShard
	SwitchShards     = files.SwitchShards
	LeaveShard       = files.LeaveShard
	LeaveShards      = files.LeaveShards
	FillReplica      = files.FillReplica
	PrefixFills      = files.PrefixFills
	PrefixFiles      = files.PrefixFiles
	PrefixDisputed   = files.PrefixDisputed
	UploadStarted    = files.UploadStarted
	DataUploaded     = files.DataUploaded
	UploadCompleted  = files.UploadCompleted
	UploadFailed     = files.UploadFailed
	NoFileListStatus = files.NoFileListStatus
	FileListOK       = files.FileListOK
	FileListMissing  = files.FileListMissing
	ChecksumUnknown  = files.ChecksumUnknown
	ChecksumOK       = files.ChecksumOK
	ChecksumCorrupt  = files.ChecksumCorrupt
)

// PrefixOwed returns the prefix of the keys of what a replica owes: a change beneath it means work for
// the holder of the shard that follows in the key.
func PrefixOwed(replica ReplicaName) string { return files.PrefixOwed(replica) }

// PrefixNeeded returns the prefix of the keys of the owed copies of a replica that go before others.
func PrefixNeeded(replica ReplicaName) string { return files.PrefixNeeded(replica) }

// PrefixReleases returns the prefix of the single files that a node may ask to release.
func PrefixReleases(node NodeID) string { return files.PrefixReleases(node) }

// PrefixLeft returns the prefix of the whole shards whose files a node may ask to release.
func PrefixLeft(node NodeID) string { return files.PrefixLeft(node) }

// PrefixShard returns the prefix of the names of a shard's files.
func PrefixShard(shard Shard) string { return files.PrefixShard(shard) }

// RootOf returns the root of one file.
func RootOf(name FileName, size int64, digest Digest) Root { return files.RootOf(name, size, digest) }
