// Package people is the subject of who works with the archive and what they may: people, their grants, the access
// tokens of people and programs, and May, which decides about every act. It is pure and deterministic.
package people

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
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
	Invited     agree.Time  `json:"invited"`
	Accepted    agree.Time  `json:"accepted,omitempty"` // when she first became active
	Since       agree.Time  `json:"since"`              // of the state
	Reason      string      `json:"reason,omitempty"`   // of the state
}

// Scope is where a role counts: in one collection, at one place, or, when it is zero, in the whole archive.
type Scope struct {
	Collection cluster.CollectionName `json:"collection,omitempty"`
	Made       agree.Time             `json:"made,omitempty"` // of the collection: not one made later with its name
	Place      string                 `json:"place,omitempty"`
}

// Whole reports whether the scope is the whole archive.
func (s Scope) Whole() bool { return s.Collection == "" && s.Place == "" }

// text is the scope as the trail has it.
func (s Scope) text() string {
	switch {
	case s.Collection != "":
		return " collection=" + string(s.Collection)
	case s.Place != "":
		return " place=" + s.Place
	}
	return ""
}

// Grant gives a person a role. One that has ended stays, and counts no more.
type Grant struct {
	ID       uint64     `json:"id"`
	Person   PersonID   `json:"person"`
	Role     Role       `json:"role"`
	Scope    Scope      `json:"scope"`
	By       string     `json:"by"` // an actor
	Since    agree.Time `json:"since"`
	Until    agree.Time `json:"until,omitempty"` // counts no more from then on; 0: until it is ended
	Reason   string     `json:"reason,omitempty"`
	Ended    agree.Time `json:"ended,omitempty"`
	EndedBy  string     `json:"endedBy,omitempty"`
	EndedWhy string     `json:"endedWhy,omitempty"`
	Identity string     `json:"identity,omitempty"` // whose groups gave it, by id; empty: somebody gave it by hand
}

// Open reports whether the grant counts at that time.
func (g *Grant) Open(now agree.Time) bool { return g.Ended == 0 && (g.Until == 0 || now < g.Until) }

// AccessToken lets a person or program use the HTTP API.
type AccessToken struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"` // for people
	SecretHash agree.Digest `json:"secretHash"`
	Role       Role         `json:"role"`
	Created    agree.Time   `json:"created"`
	Expires    agree.Time   `json:"expires,omitempty"`
	Revoked    agree.Time   `json:"revoked,omitempty"`
}

// usable reports whether the token is neither revoked nor expired.
func (a *AccessToken) usable(now agree.Time) bool {
	return a.Revoked == 0 && (a.Expires == 0 || now < a.Expires)
}

// Bearer says to whom an access token belongs and how it is limited; its role is the access token's. A token without a
// bearer is from before level 3: a program without an owner.
type Bearer struct {
	Token   string     `json:"token"`
	Owner   PersonID   `json:"owner"`
	Program bool       `json:"program,omitempty"` // of a program that is the owner's; otherwise of the owner herself
	Scopes  []Scope    `json:"scopes,omitempty"`  // it counts in these alone; none: wherever the owner's grants do
	Invites bool       `json:"invites,omitempty"` // it is good for accepting an invitation, and nothing else
	Since   agree.Time `json:"since"`
}

// Day is the length of a day, in the catalog's time.
const Day agree.Time = 24 * 60 * 60 * 1000
