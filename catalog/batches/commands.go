package batches

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Open, Level: Level, Do: agree.With(open)},
	{Kind: AddNames, Level: Level, Do: agree.With(addNames)},
	{Kind: Wish, Level: Level, Do: agree.With(wish)},
	{Kind: Claim, Level: Level, Do: agree.With(claim)},
	{Kind: Release, Level: Level, Do: agree.With(release)},
	{Kind: End, Level: Level, Do: agree.With(end)},
}

// The kinds of commands and their bodies.
const (
	Open     agree.Kind = "batch.open"    // Beginning
	AddNames agree.Kind = "batch.names"   // Naming
	Wish     agree.Kind = "batch.wish"    // Wishing
	Claim    agree.Kind = "batch.claim"   // Holder
	Release  agree.Kind = "batch.release" // Holder
	End      agree.Kind = "batch.end"     // Ending
)

// Beginning asks for a batch. Without a list of names it runs at once, driven by the node; with one, when all names are
// there. Its value is the batch, also when the same is asked again.
type Beginning struct {
	ID         string            `json:"id"`
	Program    string            `json:"program"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Selection  Selection         `json:"selection"`
	Limits     Limits            `json:"limits"`
	Node       agree.NodeID      `json:"node"`
}

// Naming adds the next names to the list of a batch. The names of all parts are in order, none twice.
type Naming struct {
	ID    string           `json:"id"`
	Part  int              `json:"part"` // from 1
	Names []files.FileName `json:"names"`
}

// Wishing says what is to become of a batch: run, pause or stop.
type Wishing struct {
	ID     string `json:"id"`
	Wish   string `json:"wish"`
	Reason string `json:"reason,omitempty"`
}

// Holder is a node that takes it on to drive a batch that nobody drives; or one that drives it no more. The term is the
// batch's present one.
type Holder struct {
	ID   string       `json:"id"`
	Node agree.NodeID `json:"node"`
	Term uint64       `json:"term"`
}

// Ending says how a batch ended: done or incomplete.
type Ending struct {
	ID      string       `json:"id"`
	Node    agree.NodeID `json:"node"`
	Term    uint64       `json:"term"`
	State   State        `json:"state"`
	Reason  string       `json:"reason,omitempty"`
	Summary Summary      `json:"summary"`
}
