package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// IngestState says how far an ingest is.
type IngestState string

// The states of an ingest.
const (
	IngestRunning IngestState = "running"
	IngestDone    IngestState = "done"
	IngestStopped IngestState = "stopped" // by somebody
	IngestFailed  IngestState = "failed"
)

// Ingest is a list of domains that one node reads, line by line, and brings into the catalog.
type Ingest struct {
	ID         string                 `json:"id"` // chosen by the node
	Collection cluster.CollectionName `json:"collection"`
	Node       agree.NodeID           `json:"node"` // has the list, and reads it
	By         string                 `json:"by"`   // an actor
	Size       int64                  `json:"size"` // of the list, in bytes
	SHA256     agree.Digest           `json:"sha256"`
	State      IngestState            `json:"state"`
	Reason     string                 `json:"reason,omitempty"` // of the state
	Began      agree.Time             `json:"began"`
	Ended      agree.Time             `json:"ended,omitempty"`

	Seq   uint64 `json:"seq"`   // chunks that were carried out
	Line  int64  `json:"line"`  // that was read last
	At    int64  `json:"at"`    // bytes of the list that were read
	Made  int64  `json:"made"`  // domains
	Known int64  `json:"known"` // lines with domains that were there
	Bad   int64  `json:"bad"`   // lines
}

// BadLine is a line of a list that is not the name of a domain.
type BadLine struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}

// badLines are those of one chunk.
type badLines struct {
	Lines []BadLine `json:"lines"`
}

// Bounds of an ingest.
const (
	MaxIngestNames = 800 // in one command
	MaxIngestBad   = 400 // lines in one command
	// MaxBadLines is how many lines of a list may be bad: with more, it is no list of domains, and the ingest ends.
	// All are kept.
	MaxBadLines = 10_000
	// maxIngests is how many ingests a node may have that run.
	maxIngests = 100
)
