package agree

import (
	"encoding/json"
	"fmt"
)

// MaxItems bounds the items of one command; MaxBytes its encoded size.
const (
	MaxItems = 100
	MaxBytes = 512 << 10
)

// Kind names a command.
type Kind string

// Command is one change asked of the catalog. Node, Boot and Seq identify the request, so that a retry of
// it is applied once; a command without Node is applied each time it is seen.
type Command struct {
	Version int             `json:"v"` // of the encoding, 1
	Kind    Kind            `json:"k"`
	At      Time            `json:"at"`              // stamped by the leader
	Actor   string          `json:"actor,omitempty"` // who asked, for the audit trail
	Node    NodeID          `json:"node,omitempty"`
	Boot    uint64          `json:"boot,omitempty"` // grows with each start of the node
	Seq     uint64          `json:"seq,omitempty"`  // grows by one with each request of a boot
	Body    json.RawMessage `json:"body"`
}

// Code says why a command was refused.
type Code string

// The codes.
const (
	Invalid        Code = "invalid"         // the command makes no sense, whatever the state
	NotFound       Code = "not-found"       // what it names is not there
	Conflict       Code = "conflict"        // the state has moved on, or says otherwise
	Denied         Code = "denied"          // a token that is wrong, expired, used or revoked
	Stale          Code = "stale"           // what it changes is not as it was seen, see Guard
	Unapproved     Code = "unapproved"      // it waits for a second person (level 5)
	OnlyStaged     Code = "only-staged"     // the layout changes by staging and applying alone (level 5)
	Unsafe         Code = "unsafe"          // it would lose the last good copy or an unreleased file
	OutcomeUnknown Code = "outcome-unknown" // a retry below the window: it may or may not have been applied
	Unsupported    Code = "unsupported"     // an unknown command or one above the cluster's level
)

// Refusal is the answer to a command that changed nothing.
type Refusal struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error returns the refusal's message.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal.
func Refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// OrConflict returns err, or a refusal of that code if err is nil.
func OrConflict(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return Refuse(Conflict, format, args...)
}

// OrNotFound returns err, or a refusal of that code if err is nil.
func OrNotFound(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return Refuse(NotFound, format, args...)
}

// UnknownField refuses a field that came with a higher level, in the words of a program that does not know it.
func UnknownField(name string) error {
	return Refuse(Invalid, "body: json: unknown field %q", name)
}

// Result is the answer to a command: a refusal, or a value whose type follows from the command.
type Result struct {
	Refusal *Refusal        `json:"refusal,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // its type follows from the kind: see doc/format/catalog.md
	// Repeated says that the request was carried out before, see Guard.Once; Value is what it got then.
	Repeated bool `json:"repeated,omitempty"`
}

// Recalled is a result's value that changes later. A retry of the command gets the value of that number as it is by
// then, from the table's Recall.
type Recalled interface{ RecallNumber() uint64 }
