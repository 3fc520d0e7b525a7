// Package approvals is the subject of acts that wait for a second person: which do, what was proposed, and what became
// of it. What such an act is and does, the subject does not know: the catalog says so, and carries it out. It is pure
// and deterministic.
package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/people"
)

// Level is the level of a cluster that has approvals.
const Level = 5

// Class is a kind of act that can wait for a second person.
type Class string

// The classes.
const (
	FileRemove    Class = "file-remove"       // remove a file
	FileLost      Class = "file-lost"         // declare a file lost
	FileChecksum  Class = "file-checksum"     // change a file's SHA-256 in the catalog
	CopyReplace   Class = "copy-replace"      // set a bad copy aside
	CopyState     Class = "copy-state"        // put a copy back to owed
	NodeLost      Class = "node-lost"         // remove a node as lost
	ReplicaRemove Class = "replica-remove"    // remove a replica
	ReplicaNarrow Class = "replica-narrow"    // take collections from a replica
	AsideDelete   Class = "quarantine-delete" // delete bytes that a node has set aside
	RuleChange    Class = "rule-change"       // change which of these wait; waits whenever anything else does
)

// Classes are those that a Rule can name.
func Classes() []Class {
	return []Class{FileRemove, FileLost, FileChecksum, CopyReplace, CopyState, NodeLost, ReplicaRemove, ReplicaNarrow,
		AsideDelete}
}

// The bounds of a time limit, and what it is unless somebody says otherwise.
const (
	LeastLimit   agree.Time = 60 * 60 * 1000
	MostLimit               = 90 * people.Day
	DefaultLimit            = 7 * people.Day
)

// Rule says which acts wait for a second person. The zero one: none does.
type Rule struct {
	Acts       []Class    `json:"acts,omitempty"`
	OtherPlace bool       `json:"otherPlace,omitempty"` // of another institution than the first
	Limit      agree.Time `json:"limit,omitempty"`      // how long a proposal waits, in milliseconds
	Version    uint64     `json:"version"`              // counts the changes
	By         string     `json:"by,omitempty"`         // an actor
	At         agree.Time `json:"at,omitempty"`
}

// Waits reports whether an act of the class waits for a second person.
func (r *Rule) Waits(class Class) bool {
	if class == RuleChange {
		return len(r.Acts) > 0
	}
	return slices.Contains(r.Acts, class)
}

// Act is what a command does that waits, as it was when it was proposed.
type Act struct {
	Class   Class        `json:"class"`
	Subject string       `json:"subject"`           // the file, node or replica; of bytes set aside: node/name
	Replica string       `json:"replica,omitempty"` // of a copy
	SHA256  agree.Digest `json:"sha256,omitzero"`   // of the file, or of the bytes set aside
	Files   int64        `json:"files,omitempty"`   // that it is about; of a lost node: that its replica has
	Bytes   int64        `json:"bytes,omitempty"`   //
	Shards  int          `json:"shards,omitempty"`  // of a lost node
	Days    int          `json:"days,omitempty"`    // for which a file that is removed can be restored
	// Mark tells the state of what the act is about from any other. An act whose mark is another when it is granted is
	// refused.
	Mark string `json:"mark"`
}

// Same reports whether this is what the act was when it was proposed. How many files a lost node's replica has changes
// with every put, and nothing follows from it: what the node holds is in the mark.
func (a Act) Same(proposed Act) bool {
	if a.Class == NodeLost {
		a.Files, a.Bytes = proposed.Files, proposed.Bytes
	}
	return a == proposed
}

// State says what became of a proposal.
type State string

// The states. Waiting proposals expire, and go stale, without a command: see Proposal.Late and the view.
const (
	Waiting   State = "waiting"
	Granted   State = "granted" // and carried out
	Denied    State = "denied"
	Withdrawn State = "withdrawn"
)

// Proposal is an act that waits for a second person, or has waited.
type Proposal struct {
	ID uint64 `json:"id"`
	Act
	Kind       agree.Kind      `json:"kind"` // the command
	Body       json.RawMessage `json:"body"`
	Reason     string          `json:"reason"`
	By         string          `json:"by"`     // the actor: a person, or a program of hers
	Person     people.PersonID `json:"person"` // the person behind it
	Place      string          `json:"place,omitempty"`
	OtherPlace bool            `json:"otherPlace,omitempty"` // the second person has to be of another place than Place
	Epoch      uint64          `json:"epoch"`
	Made       agree.Time      `json:"made"`
	Until      agree.Time      `json:"until"`
	Sum        agree.Digest    `json:"sum"` // of all of the above, for who decides: it is this proposal that was seen

	State     State      `json:"state"`
	Decided   agree.Time `json:"decided,omitempty"`
	DecidedBy string     `json:"decidedBy,omitempty"` // an actor
	Why       string     `json:"why,omitempty"`
}

// Late reports whether the proposal's time is over. One that was made later than now was made while the clock was
// wrong: nobody can say how long it has waited.
func (p *Proposal) Late(now agree.Time) bool { return now >= p.Until || now < p.Made }

// sum is a digest of what was proposed.
func (p *Proposal) sum() (agree.Digest, error) {
	asked := *p
	asked.Sum, asked.State, asked.Decided, asked.DecidedBy, asked.Why = agree.Digest{}, "", 0, "", ""
	text, err := json.Marshal(asked)
	if err != nil {
		return agree.Digest{}, fmt.Errorf("encode proposal %d: %w", p.ID, err)
	}
	return sha256.Sum256(text), nil
}

const (
	prefixProposals = "approval/"      // <id>: Proposal
	prefixWaiting   = "approvalwaits/" // <id>: mark, while it waits
	keyCount        = "approvalcount"  // number of the last one
	keyRule         = "approvalrule"   // Rule
)

func keyProposal(id uint64) string { return prefixProposals + agree.Hex(id) }

func keyWaiting(id uint64) string { return prefixWaiting + agree.Hex(id) }
