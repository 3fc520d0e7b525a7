package catalog

import "holdfast/catalog/people"

// The names of catalog/people, by which other rooms know them. What a name means is said there.
type (
	ActorKind    = people.ActorKind
	Caller       = people.Caller
	Invitation   = people.Invitation
	Acceptance   = people.Acceptance
	PersonChange = people.PersonChange
	PersonRef    = people.PersonRef
	Giving       = people.Giving
	Ending       = people.Ending
	TokenMaking  = people.TokenMaking
	TokenTaking  = people.TokenTaking
	TokenUses    = people.TokenUses
	Act          = people.Act
	Extent       = people.Extent
	Where        = people.Where
	Role         = people.Role
	Right        = people.Right
	PersonID     = people.PersonID
	PersonState  = people.PersonState
	Person       = people.Person
	Scope        = people.Scope
	Grant        = people.Grant
	AccessToken  = people.AccessToken
	Bearer       = people.Bearer
)

// Constants of catalog/people.
const (
	PersonActor      = people.PersonActor
	ProgramActor     = people.ProgramActor
	LocalActor       = people.LocalActor
	LevelOfPeople    = people.LevelOfPeople
	CreateAccess     = people.CreateAccess
	RevokeAccess     = people.RevokeAccess
	InvitePerson     = people.InvitePerson
	ReinvitePerson   = people.ReinvitePerson
	AcceptInvitation = people.AcceptInvitation
	ChangePerson     = people.ChangePerson
	DisablePerson    = people.DisablePerson
	EnablePerson     = people.EnablePerson
	GiveGrant        = people.GiveGrant
	EndGrant         = people.EndGrant
	MakeToken        = people.MakeToken
	TakeToken        = people.TakeToken
	NoteUses         = people.NoteUses
	PrefixAccess     = people.PrefixAccess
	PrefixPeople     = people.PrefixPeople
	PrefixGrants     = people.PrefixGrants
	PrefixBearers    = people.PrefixBearers
	Look             = people.Look
	KeepOwn          = people.KeepOwn
	RunJob           = people.RunJob
	PutFile          = people.PutFile
	Define           = people.Define
	ReachInside      = people.ReachInside
	LookAtDisks      = people.LookAtDisks
	LookAtNode       = people.LookAtNode
	ChangeNode       = people.ChangeNode
	CheckCopies      = people.CheckCopies
	RebuildIndex     = people.RebuildIndex
	InviteNode       = people.InviteNode
	RemoveNode       = people.RemoveNode
	ChangeReplica    = people.ChangeReplica
	ChangeCollection = people.ChangeCollection
	EraseFile        = people.EraseFile
	ChangeLevel      = people.ChangeLevel
	KeepPeople       = people.KeepPeople
	Nowhere          = people.Nowhere
	Anywhere         = people.Anywhere
	Collections      = people.Collections
	Places           = people.Places
	Whole            = people.Whole
	RoleReader       = people.RoleReader
	RoleCurator      = people.RoleCurator
	RoleOperator     = people.RoleOperator
	RoleAdmin        = people.RoleAdmin
	Day              = people.Day
	Invited          = people.Invited
	Active           = people.Active
	Disabled         = people.Disabled
)

// Errors of catalog/people.
var (
	ErrDisabled = people.ErrDisabled
)

// Program returns the program that holds the token as an actor.
func Program(token string) string { return people.Program(token) }

// Local returns the actor that holds the node's local token.
func Local(node NodeID) string { return people.Local(node) }

// ParseActor splits an actor; the kind is empty if it is unknown.
func ParseActor(actor string) (kind ActorKind, id string) { return people.ParseActor(actor) }

// May decides whether somebody with these rights may do the act there. The refusal says which right is missing. All
// such decisions are made here, whoever asks and by whatever way.
func May(rights []Right, act Act, where Where) error { return people.May(rights, act, where) }

// Everything returns the rights of an administrator.
func Everything() []Right { return people.Everything() }

// Holds reports whether the rights have the role in the whole archive.
func Holds(rights []Right, role Role) bool { return people.Holds(rights, role) }
