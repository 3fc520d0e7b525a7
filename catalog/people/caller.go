package people

import (
	"errors"
	"strings"
	"time"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// ActorKind is the kind of an actor. Actors are in commands, in the audit trail and in records; they are shown by
// name.
type ActorKind string

// The kinds of actors. Others are from before level 3: a token's name, or a node's id.
const (
	PersonActor  ActorKind = "person"  // by the person's id
	ProgramActor ActorKind = "program" // by the id of its access token
	LocalActor   ActorKind = "local"   // who holds the local token of a node, by the node's id
)

// Actor returns the person as an actor.
func (p PersonID) Actor() string { return string(PersonActor) + ":" + string(p) }

// Program returns the program that holds the token as an actor.
func Program(token string) string { return string(ProgramActor) + ":" + token }

// Local returns whoever holds the node's local token as an actor.
func Local(node agree.NodeID) string { return string(LocalActor) + ":" + string(node) }

// ParseActor splits an actor; the kind is empty when it is none of the known ones.
func ParseActor(actor string) (kind ActorKind, id string) {
	before, after, ok := strings.Cut(actor, ":")
	switch k := ActorKind(before); {
	case !ok:
	case k == PersonActor, k == ProgramActor, k == LocalActor:
		return k, after
	}
	return "", actor
}

// Caller is the person or program that an access token stands for, with its present rights.
type Caller struct {
	Actor   string   // for commands
	Name    string   // for people: the program's, or the person's
	Person  PersonID // herself, or the program's owner; none of a program without one
	Program bool
	Rights  []Right
	Role    Role       // the token's: its rights have this one at most
	Scopes  []Scope    // the token's: its rights are within these; none: not limited
	Expires agree.Time // the token's; 0: it does not
	Invited bool       // it is an invitation: it may be accepted, and nothing else
}

// ErrDisabled says that the person to whom a token belongs may not act.
var ErrDisabled = errors.New("the owner of the access token is disabled")

// Caller returns the person or program that a token stands for. The caller of this function has to have proved the
// token, and checked that it is neither revoked nor expired. ErrDisabled means that the token is worthless.
func (r View) Caller(token AccessToken, now agree.Time) (Caller, error) {
	c := Caller{Actor: token.Name, Name: token.Name, Role: token.Role, Expires: token.Expires, Program: true,
		Rights: []Right{{Role: token.Role}}}
	own, _, err := agree.Get[agree.Cluster](r.Reader, agree.PrefixCluster)
	if err != nil || own.Level < LevelOfPeople {
		return c, err
	}
	c.Actor = Program(token.ID)
	b, there, err := agree.Get[Bearer](r.Reader, keyBearer(token.ID))
	if err != nil || !there {
		return c, err
	}
	p, err := r.Person(b.Owner)
	if err != nil {
		return Caller{}, err
	}
	c.Person, c.Program, c.Scopes, c.Invited, c.Rights = p.ID, b.Program, b.Scopes, b.Invites, nil
	if !b.Program {
		c.Actor, c.Name = p.ID.Actor(), p.Name
	}
	switch {
	case p.State == Disabled, p.State != Active && !b.Invites:
		return Caller{}, ErrDisabled
	case b.Invites:
		return c, nil
	}
	rights, err := r.rights(p.ID, now)
	if err != nil {
		return Caller{}, err
	}
	scopes, err := r.present(b.Scopes)
	if err == nil && (len(b.Scopes) == 0 || len(scopes) > 0) {
		c.Rights = limited(rights, token.Role, scopes)
	}
	return c, err
}

// rights returns the rights that the person's grants give now, whatever the person's state.
func (r View) rights(id PersonID, now agree.Time) ([]Right, error) {
	grants, err := r.grants(id)
	if err != nil {
		return nil, err
	}
	var out []Right
	for i := range grants {
		g := &grants[i]
		if !g.Open(now) {
			continue
		}
		there, err := r.There(g.Scope)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, Right{Role: g.Role, Collection: g.Scope.Collection, Place: g.Scope.Place})
		}
	}
	return out, nil
}

// There reports whether the scope's collection is the one that it was made for. A place is never another one.
func (r View) There(s Scope) (bool, error) {
	if s.Collection == "" {
		return true, nil
	}
	c, there, err := cluster.In(r.Reader).Collection(s.Collection)
	return there && c.Created == s.Made, err
}

func (r View) present(scopes []Scope) ([]Scope, error) {
	var out []Scope
	for _, s := range scopes {
		there, err := r.There(s)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, s)
		}
	}
	return out, nil
}

// limited returns the rights, limited to the role and, if there are scopes, to the scopes. An unknown role leaves none.
func limited(rights []Right, most Role, scopes []Scope) []Right {
	var out []Right
	if most.rank() < 0 {
		return nil
	}
	for _, r := range rights {
		if r.Role.Includes(most) {
			r.Role = most
		}
		if len(scopes) == 0 {
			out = append(out, r)
			continue
		}
		for _, s := range scopes {
			if r.covers(s) {
				out = append(out, Right{Role: r.Role, Collection: s.Collection, Place: s.Place})
			}
		}
	}
	return out
}

// Now returns the time by which tokens and grants expire: the machine's, or that of the last command if it is later. So
// a machine whose clock is behind lets nobody in.
func (r View) Now(machine agree.Time) (agree.Time, error) {
	agreed, err := r.Clock()
	return max(machine, agreed), err
}

// MayMake refuses a token that would be for more than the caller may with the one used: of a higher role, outside its
// scopes, or for longer. A program makes no token that acts as its owner. expires is when the new token does, 0 if it
// does not.
func (c Caller) MayMake(role Role, program bool, collections []cluster.CollectionName, places []string,
	expires agree.Time) error {
	scopes := len(collections) + len(places)
	switch {
	case c.Expires != 0 && (expires == 0 || expires > c.Expires):
		return agree.Refuse(agree.Denied, "the token that you use expires at %s: "+
			"give the new one a lifetime that ends before", c.Expires.Std().Format(time.RFC3339))
	case !c.Role.Includes(role):
		return agree.Refuse(agree.Denied, "a token cannot have the role %s: the one that you use has %s", role, c.Role)
	case c.Program && !program:
		return agree.Refuse(agree.Denied, "a program cannot make a token that acts as its owner")
	case len(c.Scopes) > 0 && scopes == 0:
		return agree.Refuse(agree.Denied,
			"the token that you use counts in some scopes alone: give the scopes of the new one")
	}
	have := c.Rights
	if scopes == 0 {
		return (&Bearer{}).within(role, have)
	}
	b := &Bearer{}
	for _, name := range collections {
		b.Scopes = append(b.Scopes, Scope{Collection: name})
	}
	for _, place := range places {
		b.Scopes = append(b.Scopes, Scope{Place: place})
	}
	return b.within(role, have)
}
