// Package batches is the subject of batches: programs that run over files of the archive where the files lie. It keeps
// who asked for which program over which files, how far each batch is as a whole, which node drives it, and how it
// ended. It is pure and deterministic, and knows nothing of what a program does.
package batches

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// Level is the level of a cluster that keeps all this.
const Level = 5

// State says how far a batch is.
type State string

// The states of a batch.
const (
	Opening    State = "opening" // its list of names is not complete yet
	Running    State = "running"
	Paused     State = "paused"
	Stopped    State = "stopped"    // by somebody
	Done       State = "done"       // every selected file was processed
	Incomplete State = "incomplete" // it ended, and some files are missing in the result
)

// Ended reports whether nothing more happens to a batch in this state.
func (s State) Ended() bool { return s == Stopped || s == Done || s == Incomplete }

// Batch is a program that runs over files.
type Batch struct {
	ID         string            `json:"id"`
	Program    string            `json:"program"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Selection  Selection         `json:"selection"`
	Limits     Limits            `json:"limits"`
	By         string            `json:"by"` // an actor
	State      State             `json:"state"`
	Reason     string            `json:"reason,omitempty"` // of the state
	// Node drives the batch: it asks others for the results of their files and keeps them. Empty: nobody does.
	Node agree.NodeID `json:"node,omitempty"`
	Term uint64       `json:"term"` // grows with each driver

	Opened agree.Time `json:"opened"`
	// Begun is when the list of names was complete: the files are selected that the archive had then.
	Begun     agree.Time `json:"begun,omitempty"`
	Since     agree.Time `json:"since,omitempty"`     // it is paused since then
	PausedFor agree.Time `json:"pausedFor,omitempty"` // in all, in milliseconds
	Ended     agree.Time `json:"ended,omitempty"`

	Parts   int            `json:"parts,omitempty"` // of the list of names that are there
	Named   int            `json:"named,omitempty"` // names in them
	Last    files.FileName `json:"last,omitempty"`  // the last of these names
	Summary *Summary       `json:"summary,omitempty"`
}

// Selection says which files a batch processes: those for which all that is said holds.
type Selection struct {
	Collections []cluster.CollectionName `json:"collections,omitempty"` // files of these alone
	Replica     cluster.ReplicaName      `json:"replica,omitempty"`     // files that it is to hold
	Files       string                   `json:"files,omitempty"`       // a regular expression for the whole name
	Job         uint64                   `json:"job,omitempty"`         // that made them
	Names       int                      `json:"names,omitempty"`       // how many the list has
}

// Limits bound a batch. Zero is no limit.
type Limits struct {
	Time   agree.Time `json:"time,omitempty"`   // milliseconds that it may run, without pauses
	Output int64      `json:"output,omitempty"` // bytes of its result
}

// Summary says how a batch went.
type Summary struct {
	Selected int64     `json:"selected"` // files
	Files    int64     `json:"files"`    // that were processed
	Bytes    int64     `json:"bytes"`    // of these files
	Output   int64     `json:"output"`   // bytes of the result
	Failed   int64     `json:"failed"`   // files that are not in the result
	Failures []Failure `json:"failures,omitempty"`
	Nodes    []Share   `json:"nodes,omitempty"` // that processed files
}

// Failure says why a file is not in the result. The summary has the first MostFailures.
type Failure struct {
	Name   files.FileName `json:"name"`
	Reason string         `json:"reason"`
}

// Share is what one node processed.
type Share struct {
	Node  agree.NodeID `json:"node"`
	Files int64        `json:"files"`
	Bytes int64        `json:"bytes"`
}

// Bounds.
const (
	// MostBatches bounds the batches that are kept.
	MostBatches = 1000
	// MostNames bounds the list of names of a batch, PartNames one part of it.
	MostNames = 100_000
	PartNames = 1000
	// MostFailures and MostShares bound a summary.
	MostFailures = 100
	MostShares   = 200
	// mostParameters bounds the parameters of a program; mostText the text of one, and the regular expression.
	mostParameters = 20
	mostText       = 1000
)

// Times, in milliseconds.
const (
	hour agree.Time = 60 * 60 * 1000
	// KeptFor is how long a batch is kept after its end.
	KeptFor = 30 * 24 * hour
	// openFor is how long the list of names may take to come.
	openFor = hour
)

// Passed returns for how long the batch has run at a time, without its pauses, in milliseconds.
func (b *Batch) Passed(now agree.Time) agree.Time {
	if b.Begun == 0 {
		return 0
	}
	end := now
	if b.Ended != 0 {
		end = b.Ended
	}
	if b.State == Paused {
		end = b.Since
	}
	return max(0, end-b.Begun-b.PausedFor)
}
