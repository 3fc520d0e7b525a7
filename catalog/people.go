package catalog

import "holdfast/catalog/agree"

// LevelOfPeople is the level since which people, their grants and the owners of tokens are agreed. Below it, a token's
// name is the actor and its role counts for the whole archive.
const LevelOfPeople = 3

// The commands about people, of level 3.
const (
	InvitePerson     Kind = "person.invite"  // Invitation
	ReinvitePerson   Kind = "person.again"   // Invitation, of a person that is there
	AcceptInvitation Kind = "person.accept"  // Acceptance
	ChangePerson     Kind = "person.set"     // PersonChange
	DisablePerson    Kind = "person.disable" // PersonRef
	EnablePerson     Kind = "person.enable"  // PersonRef
	GiveGrant        Kind = "grant.give"     // Giving
	EndGrant         Kind = "grant.end"      // Ending
	MakeToken        Kind = "access.make"    // TokenMaking
	TakeToken        Kind = "access.take"    // TokenTaking
	NoteUses         Kind = "access.used"    // TokenUses
)

// PersonID is random, chosen when the person is invited, and never given again.
type PersonID string

// PersonState says whether a person may act.
type PersonState string

// The states of a person.
const (
	Invited  PersonState = "invited" // has not accepted yet, and may do nothing else
	Active   PersonState = "active"
	Disabled PersonState = "disabled" // may do nothing, and neither may her programs
)

// Person is somebody who works with the archive. No two have the same name or e-mail address.
type Person struct {
	ID          PersonID    `json:"id"`
	Name        string      `json:"name"`
	Mail        string      `json:"mail"`
	Institution string      `json:"institution,omitempty"` // a place
	Language    string      `json:"language,omitempty"`    // such as da or en-GB
	Zone        string      `json:"zone,omitempty"`        // time zone, such as Europe/Copenhagen
	State       PersonState `json:"state"`
	Invited     Time        `json:"invited"`
	Accepted    Time        `json:"accepted,omitempty"` // when she first became active
	Since       Time        `json:"since"`              // of the state
	Reason      string      `json:"reason,omitempty"`   // of the state
}

// Scope is where a role counts: in one collection, at one place, or, when it is zero, in the whole archive.
type Scope struct {
	Collection CollectionName `json:"collection,omitempty"`
	Made       Time           `json:"made,omitempty"` // of the collection: one made later with its name is another
	Place      string         `json:"place,omitempty"`
}

// Whole reports whether the scope is the whole archive.
func (s Scope) Whole() bool { return s.Collection == "" && s.Place == "" }

// Grant gives a person a role. One that has ended stays, and counts no more.
type Grant struct {
	ID       uint64   `json:"id"`
	Person   PersonID `json:"person"`
	Role     Role     `json:"role"`
	Scope    Scope    `json:"scope"`
	By       string   `json:"by"` // an actor
	Since    Time     `json:"since"`
	Until    Time     `json:"until,omitempty"` // counts no more from then on; 0: until it is ended
	Reason   string   `json:"reason,omitempty"`
	Ended    Time     `json:"ended,omitempty"`
	EndedBy  string   `json:"endedBy,omitempty"`
	EndedWhy string   `json:"endedWhy,omitempty"`
}

// Open reports whether the grant counts at that time.
func (g *Grant) Open(now Time) bool { return g.Ended == 0 && (g.Until == 0 || now < g.Until) }

// Bearer says to whom an access token belongs and how it is limited; its role is the access token's. A token without a
// bearer is from before level 3: a program without an owner.
type Bearer struct {
	Token   string   `json:"token"`
	Owner   PersonID `json:"owner"`
	Program bool     `json:"program,omitempty"` // of a program that is the owner's; otherwise of the owner herself
	Scopes  []Scope  `json:"scopes,omitempty"`  // it counts in these alone; none: wherever the owner's grants do
	Invites bool     `json:"invites,omitempty"` // it is good for accepting an invitation, and nothing else
	Since   Time     `json:"since"`
}

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

// PersonChange changes what is given of a person; nil fields stay.
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
	Person     PersonID       `json:"person"`
	Role       Role           `json:"role"`
	Collection CollectionName `json:"collection,omitempty"`
	Place      string         `json:"place,omitempty"`
	Until      Time           `json:"until,omitempty"`
	Reason     string         `json:"reason,omitempty"`
}

// Ending ends a grant.
type Ending struct {
	Person PersonID `json:"person"`
	ID     uint64   `json:"id"`
	Reason string   `json:"reason,omitempty"`
}

// TokenMaking makes an access token of a person or of a program.
type TokenMaking struct {
	Token       AccessToken      `json:"token"`
	Owner       PersonID         `json:"owner"`
	Program     bool             `json:"program,omitempty"`
	Collections []CollectionName `json:"collections,omitempty"`
	Places      []string         `json:"places,omitempty"`
}

// TokenTaking gives a program without an owner to a person.
type TokenTaking struct {
	ID    string   `json:"id"`
	Owner PersonID `json:"owner"`
}

// Day is the length of a day, in the catalog's time.
const Day Time = 24 * 60 * 60 * 1000

// TokenUses says which access tokens were used on a day. It is not in the audit trail.
type TokenUses struct {
	Day    Time     `json:"day"`    // its first millisecond, UTC
	Tokens []string `json:"tokens"` // at most MaxItems
}

// The keys of what is about people.
const (
	keyGrants     = "grantcount" // number of the last grant
	PrefixPeople  = "person/"    // <person>: Person
	prefixMails   = "mail/"      // <e-mail, lower case>: PersonID
	prefixCalled  = "called/"    // <name, folded>: PersonID
	PrefixGrants  = "grant/"     // <person>/<id>: Grant
	PrefixBearers = "bearer/"    // <access token>: Bearer
	prefixUses    = "used/"      // <access token>: Time, the last day
)

func keyPerson(id PersonID) string          { return PrefixPeople + string(id) }
func keyMail(mail string) string            { return prefixMails + lower(mail) }
func keyCalled(name string) string          { return prefixCalled + folded(name) }
func prefixGrants(id PersonID) string       { return PrefixGrants + string(id) + "/" }
func keyGrant(id PersonID, n uint64) string { return prefixGrants(id) + agree.Hex(n) }
func keyBearer(token string) string         { return PrefixBearers + token }
func keyUse(token string) string            { return prefixUses + token }
