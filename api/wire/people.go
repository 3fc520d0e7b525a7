package wire

import (
	"time"
)

// Role says what somebody may do: reader, curator, operator, admin, each including those before.
type Role string

// The roles.
const (
	RoleReader   Role = "reader"
	RoleCurator  Role = "curator"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// PersonState says whether a person may act.
type PersonState string

// The states of a person.
const (
	Invited  PersonState = "invited" // has not accepted yet, and may do nothing else
	Active   PersonState = "active"
	Disabled PersonState = "disabled" // may do nothing, and neither may her programs
)

// Person is somebody who works with the archive. Address, language and zone are shown to herself and to administrators.
type Person struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Mail        string      `json:"mail,omitempty"`
	Institution string      `json:"institution,omitempty" doc:"a place"`
	Language    string      `json:"language,omitempty"`
	Zone        string      `json:"zone,omitempty" doc:"time zone"`
	State       PersonState `json:"state" enum:"invited,active,disabled"`
	Invited     time.Time   `json:"invited"`
	Since       time.Time   `json:"since" doc:"of the state"`
	Reason      string      `json:"reason,omitempty" doc:"of the state"`
	Grants      []Grant     `json:"grants,omitempty" doc:"only in the answer about a single person"`
	Identities  []Identity  `json:"identities,omitempty" doc:"only in the answer about a single person, to herself and to administrators"`
}

// Identity is the account of an institution with which a person signs in to the pages.
type Identity struct {
	ID      string    `json:"id"`
	Issuer  string    `json:"issuer" doc:"the service of OpenID Connect"`
	Subject string    `json:"subject" doc:"what the service calls the account"`
	Since   time.Time `json:"since"`
}

// PersonRequest invites a person.
type PersonRequest struct {
	Name        string `json:"name" minLength:"1" maxLength:"100" pattern:"^[!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*$" patternDescription:"readable text without a colon, and no spaces around it"`
	Mail        string `json:"mail" minLength:"5" maxLength:"254" pattern:"^[!#$%(-.0-;=?A-Z\\[\\]^-~]+@[!#$%(-.0-;=?A-Z\\[\\]^-~]{3,}$" patternDescription:"name@host in ASCII"`
	Institution string `json:"institution,omitempty" maxLength:"64" pattern:"^([!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*)?$" patternDescription:"readable text" doc:"a place"`
	Language    string `json:"language,omitempty" maxLength:"35" pattern:"^[A-Za-z0-9-]*$" doc:"such as da or en-GB"`
	Zone        string `json:"zone,omitempty" maxLength:"64" pattern:"^[-A-Za-z0-9_+/]*$" doc:"time zone, such as Europe/Copenhagen"`
	Lifetime    string `json:"lifetime,omitempty" pattern:"^([1-9][0-9]{0,5}(m|h)|[1-9][0-9]{1,5}s)([0-9]{1,4}(m|s)){0,2}$" doc:"how long the invitation can be used; default: 168h"`
}

// PersonChange changes a person; fields that are not given stay. A person may change her own language and zone; an
// administrator may change everything.
type PersonChange struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100" pattern:"^[!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*$" patternDescription:"readable text without a colon, and no spaces around it"`
	Mail        *string `json:"mail,omitempty" minLength:"5" maxLength:"254" pattern:"^[!#$%(-.0-;=?A-Z\\[\\]^-~]+@[!#$%(-.0-;=?A-Z\\[\\]^-~]{3,}$" patternDescription:"name@host in ASCII"`
	Institution *string `json:"institution,omitempty" maxLength:"64" pattern:"^([!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*)?$" patternDescription:"readable text"`
	Language    *string `json:"language,omitempty" maxLength:"35" pattern:"^[A-Za-z0-9-]*$"`
	Zone        *string `json:"zone,omitempty" maxLength:"64" pattern:"^[-A-Za-z0-9_+/]*$"`
}

// AgainRequest asks for a further invitation of a person.
type AgainRequest struct {
	Lifetime string `json:"lifetime,omitempty" pattern:"^([1-9][0-9]{0,5}(m|h)|[1-9][0-9]{1,5}s)([0-9]{1,4}(m|s)){0,2}$" doc:"how long the invitation can be used; default: 168h"`
}

// Invitation is accepted by a person, who becomes active. Its text is shown once.
type Invitation struct {
	Person  Person    `json:"person"`
	Expires time.Time `json:"expires"`
	Text    string    `json:"text" doc:"the invitation itself; give it to that person alone"`
	URL     string    `json:"url,omitempty" doc:"where the person accepts it in a browser, with a password; none if the node has no pages"`
}

// SignInLink begins a session at a node's pages, once. Who has it signs in as whoever asked for it.
type SignInLink struct {
	URL     string    `json:"url" doc:"open it in a browser; it works once"`
	Expires time.Time `json:"expires"`
}

// AcceptRequest accepts an invitation.
type AcceptRequest struct {
	Invitation string `json:"invitation" minLength:"1" maxLength:"300" doc:"the text of the invitation"`
}

// Grant gives a person a role: for the whole archive, in one collection, or at one place.
type Grant struct {
	ID         uint64    `json:"id"`
	Person     string    `json:"person"`
	PersonName string    `json:"personName"`
	Role       Role      `json:"role" enum:"reader,curator,operator,admin"`
	Collection string    `json:"collection,omitempty"`
	Place      string    `json:"place,omitempty"`
	State      string    `json:"state" enum:"open,expired,ended,void" doc:"the grant's state; void means that its collection was removed"`
	By         string    `json:"by" doc:"who gave it"`
	ByName     string    `json:"byName"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	Ended      time.Time `json:"ended,omitzero"`
	EndedBy    string    `json:"endedBy,omitempty"`
	EndedWhy   string    `json:"endedWhy,omitempty"`
	Groups     bool      `json:"groups,omitempty" doc:"groups of an account gave it: it lasts a day unless the person signs in again"`
}

// GrantRequest gives a person a role.
type GrantRequest struct {
	Person     string    `json:"person" minLength:"1" maxLength:"254" doc:"id, e-mail address or name"`
	Role       Role      `json:"role" enum:"reader,curator,operator,admin"`
	Collection string    `json:"collection,omitempty" maxLength:"64" doc:"for the role curator: only in this collection"`
	Place      string    `json:"place,omitempty" maxLength:"64" doc:"for the role operator: only at this place"`
	Until      time.Time `json:"until,omitzero" doc:"when the grant ends"`
	Reason     string    `json:"reason,omitempty" maxLength:"500"`
}

// AccessToken lets a person or program use the API. Text is given only when it is created.
type AccessToken struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Role        Role      `json:"role"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero"`
	State       string    `json:"state" enum:"open,expired,revoked"`
	Kind        string    `json:"kind" enum:"person,program,invitation" doc:"the person or program that it belongs to"`
	Owner       string    `json:"owner,omitempty" doc:"the person, or the person responsible for the program; absent if there is none"`
	OwnerName   string    `json:"ownerName,omitempty"`
	Collections []string  `json:"collections,omitempty" doc:"the token counts only in these collections"`
	Places      []string  `json:"places,omitempty" doc:"the token counts only at these places"`
	Used        string    `json:"used,omitempty" doc:"the last day (UTC) on which it is known to have been used"`
	Text        string    `json:"text,omitempty" doc:"the token itself; shown once"`
}

// AccessTokenRequest asks for a token for oneself or, from level 3 on, for a program of one's own.
type AccessTokenRequest struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100" doc:"the program's name, or what one's own token is for"`
	Role        Role     `json:"role" enum:"reader,curator,operator,admin" doc:"the most that the token may do"`
	Lifetime    string   `json:"lifetime,omitempty" pattern:"^([1-9][0-9]{0,5}(m|h)|[1-9][0-9]{1,5}s)([0-9]{1,4}(m|s)){0,2}$" doc:"how long it can be used, such as 2160h; without this it does not expire"`
	Program     bool     `json:"program,omitempty" doc:"the token is for a program, which acts under its own name"`
	Owner       string   `json:"owner,omitempty" maxLength:"254" doc:"the person responsible for the program: id, e-mail address or name; needed with a node's local token; default: the caller"`
	Collections []string `json:"collections,omitempty" maxItems:"50" doc:"for the role curator: the token counts only in these collections"`
	Places      []string `json:"places,omitempty" maxItems:"50" doc:"for the role operator: the token counts only at these places"`
}

// TakeRequest gives a program without an owner to a person.
type TakeRequest struct {
	Owner string `json:"owner,omitempty" maxLength:"254" doc:"the person responsible for it: id, e-mail address or name; needed with a node's local token; default: the caller"`
}

// JoinToken lets one machine become a member once. Text is given only when it is created.
type JoinToken struct {
	ID      string    `json:"id"`
	Replica string    `json:"replica"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	State   string    `json:"state" enum:"open,used,expired,revoked"`
	UsedBy  string    `json:"usedBy,omitempty"`
	Text    string    `json:"text,omitempty" doc:"the token itself; shown once"`
}

// JoinTokenRequest asks for a token by which one machine may join a replica.
type JoinTokenRequest struct {
	Replica  string `json:"replica" minLength:"1" maxLength:"64"`
	Lifetime string `json:"lifetime,omitempty" pattern:"^([1-9][0-9]{0,5}(m|h)|[1-9][0-9]{1,5}s)([0-9]{1,4}(m|s)){0,2}$" doc:"how long the token can be used; default: 24h"`
}
