package cluster

import "holdfast/catalog/agree"

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: SetCollection, Level: 1, Do: agree.With(setCollection)},
	{Kind: CreateToken, Level: 1, Do: agree.With(createToken)},
	{Kind: RevokeToken, Level: 1, Do: agree.With(revokeToken)},
	{Kind: JoinMember, Level: 1, Do: agree.Widened[joiningUnchanneled](LevelOfChannels,
		agree.With(joinMember)), Joins: true},
	{Kind: UpdateMember, Level: 1, Do: agree.Widened[changeUnchanneled](LevelOfChannels,
		agree.With(updateMember))},
	{Kind: ProveHolding, Level: 2, Do: agree.With(proveHolding)},
	{Kind: RevertLayout, Level: LevelOfStaging, Do: agree.With(revertLayout)},
	{Kind: StageAlways, Level: LevelOfStaging, Do: agree.With(setStaging)},
}

// The kinds of commands and their bodies.
const (
	SetCollection agree.Kind = "collection.set" // Collection
	CreateToken   agree.Kind = "token.create"   // JoinToken
	RevokeToken   agree.Kind = "token.revoke"   // Named
	JoinMember    agree.Kind = "member.join"    // Joining
	UpdateMember  agree.Kind = "member.update"  // MemberChange
	ProveHolding  agree.Kind = "member.proved"  // Proof
)

// The kinds of commands about staged changes. Those that carry changes out, or try to, stand in the catalog.
const (
	StageLayout  agree.Kind = "layout.stage"  // StageChange
	ApplyLayout  agree.Kind = "layout.apply"  // ApplyChanges
	RevertLayout agree.Kind = "layout.revert" // RevertChanges
	StageAlways  agree.Kind = "layout.always" // SetStaging
)

// StageChange asks that a change of the layout is kept for an apply.
type StageChange struct {
	Step        Step             `json:"step"`
	Node        agree.NodeID     `json:"node,omitempty"`
	Weight      int              `json:"weight,omitempty"`
	Replica     ReplicaName      `json:"replica,omitempty"`
	Collections []CollectionName `json:"collections,omitempty"` // none: all
	Reason      string           `json:"reason,omitempty"`
}

// ApplyChanges carries out all that is staged, if it is the version that was shown.
type ApplyChanges struct {
	Version uint64 `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// RevertChanges discards the change, or all when it is 0; only of the version, unless that is 0.
type RevertChanges struct {
	Change  uint64 `json:"change,omitempty"`
	Version uint64 `json:"version,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// SetStaging says whether changes of the layout are always staged.
type SetStaging struct {
	Always bool   `json:"always"`
	Reason string `json:"reason,omitempty"`
}

// Named names a token to revoke.
type Named struct {
	ID string `json:"id"`
}

// Joining uses up a join token and binds the joiner's key to it: the same key may repeat it, no other may.
type Joining struct {
	Token  string `json:"token"`  // the token's id
	Secret []byte `json:"secret"` // hashed and compared
	Member Member `json:"member"`
}

// MemberChange changes a member; nil fields stay as they are.
type MemberChange struct {
	ID        agree.NodeID  `json:"id"`
	Name      *string       `json:"name,omitempty"`
	Addresses *[]string     `json:"addresses,omitempty"`
	OutOnly   *bool         `json:"outOnly,omitempty"`
	Weight    *int          `json:"weight,omitempty"`
	Draining  *bool         `json:"draining,omitempty"`
	Level     *int          `json:"level,omitempty"`
	Crawls    *bool         `json:"crawls,omitempty"`   // since level 2
	Seal      *SealKey      `json:"seal,omitempty"`     // since level 2; only the member itself may
	Local     *agree.Digest `json:"local,omitempty"`    // since level 2; only the member itself may
	Channels  *[]string     `json:"channels,omitempty"` // since level 4; only the member itself may
}

// Proof reports that a member has compared the copies that the catalog counts for it with its files, after the epoch
// began.
type Proof struct {
	Node  agree.NodeID `json:"node"`
	Epoch uint64       `json:"epoch"`
}
