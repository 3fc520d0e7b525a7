package people

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfPeople is the level since which people, their grants and the owners of tokens are agreed. Below it, a token's
// name is the actor and its role counts for the whole archive.
const LevelOfPeople = 3

// levelOfAgain is the level since which it is kept who invited a person again.
const levelOfAgain = 5

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: CreateAccess, Level: 1, Do: with(createAccess)},
	{Kind: RevokeAccess, Level: 1, Do: with(revokeAccess)},
	{Kind: InvitePerson, Level: LevelOfPeople, Do: with(invitePerson)},
	{Kind: ReinvitePerson, Level: LevelOfPeople, Do: with(reinvitePerson)},
	{Kind: AcceptInvitation, Level: LevelOfPeople, Do: with(acceptInvitation)},
	{Kind: ChangePerson, Level: LevelOfPeople, Do: with(changePerson)},
	{Kind: DisablePerson, Level: LevelOfPeople, Do: with(disablePerson)},
	{Kind: EnablePerson, Level: LevelOfPeople, Do: with(enablePerson)},
	{Kind: GiveGrant, Level: LevelOfPeople, Do: with(giveGrant)},
	{Kind: EndGrant, Level: LevelOfPeople, Do: with(endGrant)},
	{Kind: MakeToken, Level: LevelOfPeople, Do: with(makeToken)},
	{Kind: TakeToken, Level: LevelOfPeople, Do: with(takeToken)},
	{Kind: NoteUses, Level: LevelOfPeople, Do: with(noteUses)},
	{Kind: SetPassword, Level: LevelOfSessions, Do: with(setPassword)},
	{Kind: Enter, Level: LevelOfSessions, Do: with(enter)},
	{Kind: EndSession, Level: LevelOfSessions, Do: with(endSession)},
	{Kind: EnterIdentified, Level: LevelOfIdentities, Do: with(enterIdentified)},
	{Kind: AdmitPerson, Level: LevelOfIdentities, Do: with(admitPerson)},
	{Kind: UnlinkIdentity, Level: LevelOfIdentities, Do: with(unlinkIdentity)},
	{Kind: Regroup, Level: LevelOfIdentities, Do: with(regroup)},
	{Kind: EndIdentified, Level: LevelOfIdentities, Do: with(endIdentified)},
}

// The kinds of commands and their bodies.
const (
	CreateAccess     agree.Kind = "access.create"   // AccessToken
	RevokeAccess     agree.Kind = "access.revoke"   // Named
	InvitePerson     agree.Kind = "person.invite"   // Invitation
	ReinvitePerson   agree.Kind = "person.again"    // Invitation, of a person that is there
	AcceptInvitation agree.Kind = "person.accept"   // Acceptance
	ChangePerson     agree.Kind = "person.set"      // PersonChange
	DisablePerson    agree.Kind = "person.disable"  // PersonRef
	EnablePerson     agree.Kind = "person.enable"   // PersonRef
	GiveGrant        agree.Kind = "grant.give"      // Giving
	EndGrant         agree.Kind = "grant.end"       // Ending
	MakeToken        agree.Kind = "access.make"     // TokenMaking
	TakeToken        agree.Kind = "access.take"     // TokenTaking
	NoteUses         agree.Kind = "access.used"     // TokenUses
	SetPassword      agree.Kind = "person.password" // PasswordSetting
	Enter            agree.Kind = "person.enter"    // Entrance
	EndSession       agree.Kind = "session.end"     // SessionEnd
	EnterIdentified  agree.Kind = "identity.enter"  // Identification
	AdmitPerson      agree.Kind = "identity.admit"  // Admission
	UnlinkIdentity   agree.Kind = "identity.unlink" // Unlinking
	Regroup          agree.Kind = "identity.groups" // Grouping
	EndIdentified    agree.Kind = "identity.end"    // IdentityEnd
)

// Invitation invites a person, with a token by which she accepts.
type Invitation struct {
	Person Person      `json:"person"` // of person.again, the id alone
	Token  AccessToken `json:"token"`
}

// Acceptance makes an invited person active. The invitation is used up, and the new token is hers.
type Acceptance struct {
	Invitation string      `json:"invitation"` // the token's id
	Token      AccessToken `json:"token"`
}

// PersonChange changes a person; nil fields stay as they are.
type PersonChange struct {
	ID          PersonID `json:"id"`
	Name        *string  `json:"name,omitempty"`
	Mail        *string  `json:"mail,omitempty"`
	Institution *string  `json:"institution,omitempty"`
	Language    *string  `json:"language,omitempty"`
	Zone        *string  `json:"zone,omitempty"`
}

// Own reports whether the change is one that a person may make of herself.
func (c *PersonChange) Own() bool { return c.Name == nil && c.Mail == nil && c.Institution == nil }

// PersonRef names a person, and says why.
type PersonRef struct {
	ID     PersonID `json:"id"`
	Reason string   `json:"reason,omitempty"`
}

// Giving gives a person a grant. The same again, while it counts, is carried out without change.
type Giving struct {
	Person     PersonID               `json:"person"`
	Role       Role                   `json:"role"`
	Collection cluster.CollectionName `json:"collection,omitempty"`
	Place      string                 `json:"place,omitempty"`
	Until      agree.Time             `json:"until,omitempty"`
	Reason     string                 `json:"reason,omitempty"`
}

// Ending ends a grant.
type Ending struct {
	Person PersonID `json:"person"`
	ID     uint64   `json:"id"`
	Reason string   `json:"reason,omitempty"`
}

// TokenMaking makes an access token of a person or of a program.
type TokenMaking struct {
	Token       AccessToken              `json:"token"`
	Owner       PersonID                 `json:"owner"`
	Program     bool                     `json:"program,omitempty"`
	Collections []cluster.CollectionName `json:"collections,omitempty"`
	Places      []string                 `json:"places,omitempty"`
}

// TokenTaking gives a program without an owner to a person.
type TokenTaking struct {
	ID    string   `json:"id"`
	Owner PersonID `json:"owner"`
}

// TokenUses says which access tokens were used on a day. It is not in the audit trail.
type TokenUses struct {
	Day    agree.Time `json:"day"`    // its first millisecond, UTC
	Tokens []string   `json:"tokens"` // at most MaxItems
}
