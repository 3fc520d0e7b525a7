package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// The kinds of streams and calls between the replicas of nodes. They are on the wire: a kind keeps its meaning for
// ever.
const (
	FileStream   = "file"
	ChecksumCall = "file.checksum"
	VerifyCall   = "file.verify"
	RereadCall   = "file.reread"
	FindCall     = "file.find"
	AuditCall    = "audit"
	StraysCall   = "strays"

	ChallengeCall = "file.challenge"

	QuarantineCall = "quarantine"
	StrayCall      = "stray"
)

// Carrier reaches other nodes. When the other side answered with a reason, the error has a method Reason that returns
// it.
type Carrier interface {
	Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error)
	Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error)
}

// The reasons that another node is given.
const (
	reasonBusy    = "busy"
	reasonNotHere = "not-here"

	reasonNotExaminer = "not-examiner"
	reasonNotReady    = "not-ready"

	reasonNotAside = "not-aside"
	reasonStays    = "stays"
)

// refusal is an error that travels with a reason.
type refusal struct {
	error
	reason string
}

func (r refusal) Reason() string { return r.reason }

func (r refusal) Unwrap() error { return r.error }

// reasoned gives an answer the reason by which the asking node can tell it from others.
func reasoned(err error) error {
	switch {
	case errors.Is(err, ErrBusy):
		return refusal{err, reasonBusy}
	case errors.Is(err, ErrNotHere):
		return refusal{err, reasonNotHere}
	case errors.Is(err, ErrNotExaminer):
		return refusal{err, reasonNotExaminer}
	case errors.Is(err, ErrNotReady):
		return refusal{err, reasonNotReady}
	case errors.Is(err, ErrNotAside):
		return refusal{err, reasonNotAside}
	case errors.Is(err, ErrStaysAside):
		return refusal{err, reasonStays}
	}
	return err
}

// said is what another node said, which is one of the errors that a caller acts on.
type said struct {
	error
	kind error
}

func (s said) Is(target error) bool { return target == s.kind }

// Understood turns another node's answer to a call about a file into ErrBusy, ErrNotHere or ErrNotExaminer, or one that
// is ErrNotReady, ErrNotAside or ErrStaysAside, where it is that.
func Understood(err error) error {
	var with interface{ Reason() string }
	if errors.As(err, &with) {
		switch with.Reason() {
		case reasonBusy:
			return ErrBusy
		case reasonNotHere:
			return ErrNotHere
		case reasonNotExaminer:
			return ErrNotExaminer
		case reasonNotReady:
			return said{err, ErrNotReady}
		case reasonNotAside:
			return said{err, ErrNotAside}
		case reasonStays:
			return said{err, ErrStaysAside}
		}
	}
	return err
}

// fileRequest asks for bytes of a file; Length is -1 for all that follow Offset. The answer is one byte that says
// how it went, then the bytes, or the text of the error.
type fileRequest struct {
	Name   catalog.FileName `json:"name"`
	Offset int64            `json:"offset"`
	Length int64            `json:"length"`
	Reader bool             `json:"reader,omitempty"` // somebody waits for it: not a copy
}

// The first byte of an answer to a fileRequest.
const (
	fileFollows byte = 0
	fileBusy    byte = 1
	fileNotHere byte = 2
	fileRange   byte = 3
	fileFailed  byte = 4
)

// AuditRequest asks a node about its audits, or for a change of the one named.
type AuditRequest struct {
	Act string `json:"act"` // list, start, pause, resume, stop
	ID  string `json:"id,omitempty"`
	// Nodes are all whose copies are to be audited, and Unheld is what no node holds, with a start.
	Nodes  []catalog.NodeID `json:"nodes,omitempty"`
	Unheld catalog.Root     `json:"unheld,omitzero"`
	// Kind and Scope are asked of nodes whose programs know them: in a cluster of LevelOfScopes.
	Kind  AuditKind  `json:"kind,omitempty"`
	Scope AuditScope `json:"scope,omitzero"`
	Draw  uint64     `json:"draw,omitempty"` // of challenges
}

// LevelOfScopes is the level of a cluster whose nodes know kinds and scopes of audits. A program before would read all
// of its copies, whatever it was asked for.
const LevelOfScopes = 5

// GroupID is the id under which all nodes know an audit of the named one.
func (one *Audit) GroupID(node string) string {
	if one.Group != "" {
		return one.Group
	}
	return one.ID + "-" + node
}

// AsideRequest is the request of a QuarantineCall: list, or show or restore what has the id.
type AsideRequest struct {
	Act string          `json:"act"`
	ID  files.AsideName `json:"id,omitempty"`
}

// AsideReport is what is in the quarantine of a node: what was asked for, or the first, and how much in all.
type AsideReport struct {
	Aside []Aside `json:"aside"`
	Files int     `json:"files"`
	Bytes int64   `json:"bytes"`
	Fault string  `json:"fault,omitempty"` // why there may be more
}

// StrayRequest is the request of a StrayCall: adopt, or set-aside.
type StrayRequest struct {
	Act string `json:"act"`
	Adoption
	Reason string `json:"reason,omitempty"`
}

// StrayReport is what one node has that the archive neither counts on nor asks for: the first files, and how much in
// all.
type StrayReport struct {
	Strays []Stray `json:"strays"`
	Files  int     `json:"files"`
	Bytes  int64   `json:"bytes"`
	Fault  string  `json:"fault,omitempty"` // why there may be more
}

// ask sends one request to another node and reads its answer, both as JSON.
func ask[Answer any](ctx context.Context, c Carrier, to catalog.NodeID, kind string, request any) (answer Answer,
	err error) {
	data, err := json.Marshal(request)
	if err != nil {
		return answer, fmt.Errorf("encode the %s request: %w", kind, err)
	}
	reply, err := c.Call(ctx, to, kind, data)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return answer, fmt.Errorf("read the %s answer of %s: %w", kind, to, err)
	}
	return answer, nil
}
