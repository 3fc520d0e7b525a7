package catalog

import (
	"time"

	"holdfast/catalog/agree"
)

type (
	Reader      = agree.Reader
	Tx          = agree.Tx
	Time        = agree.Time
	NodeID      = agree.NodeID
	Digest      = agree.Digest
	Kind        = agree.Kind
	Command     = agree.Command
	Code        = agree.Code
	Refusal     = agree.Refusal
	Result      = agree.Result
	Cluster     = agree.Cluster
	Event       = agree.Event
	ClockChange = agree.ClockChange
)

// The codes of refusals.
const (
	Invalid        = agree.Invalid
	NotFound       = agree.NotFound
	Conflict       = agree.Conflict
	Denied         = agree.Denied
	Unsafe         = agree.Unsafe
	OutcomeUnknown = agree.OutcomeUnknown
	Unsupported    = agree.Unsupported
)

// Bounds, levels, kinds and keys of the engine.
const (
	MaxItems      = agree.MaxItems
	MaxBytes      = agree.MaxBytes
	WindowSize    = agree.WindowSize
	LevelOfGroups = agree.LevelOfGroups
	ClockMost     = agree.ClockMost
	SetClock      = agree.SetClock
	PrefixCluster = agree.PrefixCluster
	PrefixTrail   = agree.PrefixTrail
)

// Errors of the engine.
var (
	ErrNotFound = agree.ErrNotFound
	ErrDigest   = agree.ErrDigest
	ErrTrail    = agree.ErrTrail
)

// At returns the Time of t.
func At(t time.Time) Time { return agree.At(t) }

// VerifyEvents checks that the events follow each other and the event whose hash is previous; see agree.VerifyEvents.
func VerifyEvents(events []Event, previous Digest) error { return agree.VerifyEvents(events, previous) }
