package approvals

import (
	"encoding/json"
	"fmt"

	"holdfast/catalog/agree"
)

// Rules are the subject's own commands. Those that carry acts out, Propose, Grant and Set, stand in the catalog.
var Rules = []agree.Rule{
	{Kind: Deny, Level: Level, Do: agree.With(deny)},
	{Kind: Withdraw, Level: Level, Do: agree.With(withdraw)},
}

// The kinds of commands and their bodies.
const (
	Set      agree.Kind = "approval.rule"     // Setting
	Propose  agree.Kind = "approval.propose"  // Proposing
	Grant    agree.Kind = "approval.grant"    // Decision
	Deny     agree.Kind = "approval.deny"     // Decision
	Withdraw agree.Kind = "approval.withdraw" // Decision
)

// Setting changes which acts wait for a second person.
type Setting struct {
	Acts       []Class    `json:"acts,omitempty"` // none: nothing waits any more
	OtherPlace bool       `json:"otherPlace,omitempty"`
	Limit      agree.Time `json:"limit,omitempty"` // 0: DefaultLimit
	Version    uint64     `json:"version"`         // of the rule that is changed
	Reason     string     `json:"reason"`
}

// Proposing asks that an act is carried out when a second person has granted it.
type Proposing struct {
	Kind agree.Kind      `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Decision is about one proposal, which Sum tells from any other that has had its number.
type Decision struct {
	ID     uint64       `json:"id"`
	Sum    agree.Digest `json:"sum"`
	Reason string       `json:"reason,omitempty"`
}

// Inner returns the command that is proposed, with whose name and node is on it, or c itself if none is. A body that
// cannot be read gives c: it is refused when it is applied.
func Inner(c *agree.Command) *agree.Command {
	if c.Kind != Propose {
		return c
	}
	var b Proposing
	if agree.DecodeStrict(c.Body, &b) != nil {
		return c
	}
	inner := *c
	inner.Kind, inner.Body = b.Kind, b.Body
	return &inner
}

// Pending is the error for who asked for an act that waits for a second person now: it was proposed.
type Pending struct{ Proposal }

// Error says what waits, and until when.
func (p *Pending) Error() string {
	return fmt.Sprintf("%s of %s was not done: it waits for a second person, as proposal %d, until %s", p.Class,
		p.Subject, p.ID, p.Until.Std().Format("2006-01-02 15:04 MST"))
}

// PendingOf returns the error for the outcome of a Propose: a Pending, or the refusal.
func PendingOf(result agree.Result) error {
	if result.Refusal != nil {
		return result.Refusal
	}
	p := &Pending{}
	if err := json.Unmarshal(result.Value, &p.Proposal); err != nil {
		return fmt.Errorf("read what was proposed: %w", err)
	}
	return p
}
