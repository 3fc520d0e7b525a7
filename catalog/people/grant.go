package people

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// maxGrants bounds the grants of a person that have not ended.
const maxGrants = 200

func giveGrant(s *state, b *Giving) (any, error) {
	p, err := s.person(b.Person)
	if err != nil {
		return nil, err
	}
	self, err := s.actsFor(p.ID)
	if err != nil {
		return nil, err
	}
	if self {
		return nil, agree.Refuse(agree.Denied, "nobody gives a grant to themselves: another administrator has to")
	}
	if p.State == Disabled {
		return nil, agree.Refuse(agree.Conflict, "person %s is disabled", p.ID)
	}
	g := Grant{Person: p.ID, Role: b.Role, By: s.Actor, Since: s.At, Until: b.Until, Reason: agree.ClipReason(b.Reason)}
	if g.Scope, err = s.scope(b.Role, b.Collection, b.Place); err != nil {
		return nil, err
	}
	if b.Until != 0 && b.Until <= s.At {
		return nil, agree.Refuse(agree.Invalid, "a grant cannot end in the past")
	}
	if err := s.mayLast(&g); err != nil {
		return nil, err
	}
	grants, err := s.grants(p.ID)
	if err != nil {
		return nil, err
	}
	open := 0
	for i := range grants {
		old := &grants[i]
		if !old.Open(s.At) {
			continue
		}
		if open++; old.Identity == "" && old.Role == g.Role && old.Scope == g.Scope && old.Until == g.Until {
			return old, nil
		}
	}
	if open >= maxGrants {
		return nil, agree.Refuse(agree.Invalid, "person %s has %d grants: no more", p.ID, open)
	}
	last, _, err := agree.Get[uint64](s, keyGrants)
	if err != nil {
		return nil, err
	}
	g.ID = last + 1
	if err := s.Set(keyGrants, g.ID); err != nil {
		return nil, err
	}
	if err := s.Set(keyGrant(p.ID, g.ID), g); err != nil {
		return nil, err
	}
	return &g, s.Event(GiveGrant, string(p.ID), "grant=%d role=%s%s until=%d reason=%s",
		g.ID, g.Role, g.Scope.text(), g.Until, g.Reason)
}

// actsFor reports whether the command comes from the person, or from a program that is hers.
func (s *state) actsFor(id PersonID) (bool, error) {
	kind, actor := ParseActor(s.Actor)
	if kind != ProgramActor {
		return kind == PersonActor && actor == string(id), nil
	}
	b, there, err := agree.Get[Bearer](s, keyBearer(actor))
	return there && b.Owner == id, err
}

// mayLast refuses an administrator's grant that will end while there is no active one without an end: with the day on
// which it ends, the cluster would have none.
func (s *state) mayLast(g *Grant) error {
	if g.Role != RoleAdmin || g.Until == 0 {
		return nil
	}
	there, err := s.hasAdmin()
	if err != nil || there {
		return err
	}
	return agree.Refuse(agree.Unsafe, "the first administrator's grant must have no end")
}

func endGrant(s *state, b *Ending) (any, error) {
	g, there, err := agree.Get[Grant](s, keyGrant(b.Person, b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "person %q has no grant %d", agree.Clip(string(b.Person), 64), b.ID)
	}
	if g.Ended != 0 {
		return &g, nil
	}
	had, err := s.hasAdmin()
	if err != nil {
		return nil, err
	}
	g.Ended, g.EndedBy, g.EndedWhy = s.At, s.Actor, agree.ClipReason(b.Reason)
	if err := s.Set(keyGrant(g.Person, g.ID), g); err != nil {
		return nil, err
	}
	if err := s.adminStays(had); err != nil {
		return nil, err
	}
	return &g, s.Event(EndGrant, string(g.Person), "grant=%d role=%s%s reason=%s",
		g.ID, g.Role, g.Scope.text(), g.EndedWhy)
}

// scope makes the scope of a role: a collection for a curator, a place for an operator, neither for the whole archive.
func (s *state) scope(role Role, collection cluster.CollectionName, place string) (Scope, error) {
	if role.rank() < 0 {
		return Scope{}, agree.Refuse(agree.Invalid, "role %q: want reader, curator, operator or admin",
			agree.Clip(string(role), 40))
	}
	switch {
	case collection != "" && place != "":
		return Scope{}, agree.Refuse(agree.Invalid, "a role counts in a collection or at a place, not in both")
	case collection != "" && role != RoleCurator:
		return Scope{}, agree.Refuse(agree.Invalid, "a role in a collection is curator, not %s", role)
	case place != "" && role != RoleOperator:
		return Scope{}, agree.Refuse(agree.Invalid, "a role at a place is operator, not %s", role)
	case collection != "":
		c, there, err := cluster.In(s).Collection(collection)
		if err != nil || !there {
			return Scope{}, agree.OrNotFound(err, "no collection %q", agree.Clip(string(collection), 64))
		}
		return Scope{Collection: c.Name, Made: c.Created}, nil
	case place != "":
		replicas, err := cluster.In(s).Replicas()
		if err != nil {
			return Scope{}, err
		}
		if !slices.ContainsFunc(replicas, func(r cluster.Replica) bool { return r.Place == place }) {
			return Scope{}, agree.Refuse(agree.NotFound, "no replica is at place %q", agree.Clip(place, 64))
		}
	}
	return Scope{Place: place}, nil
}

func (r View) grants(id PersonID) ([]Grant, error) {
	return agree.List[Grant](r.Reader, prefixGrants(id), "", 0)
}

// hasAdmin reports whether an active person administers the whole archive by a grant without an end.
func (r View) hasAdmin() (bool, error) {
	id, err := r.admin("")
	return id != "", err
}

// admin returns an active administrator, other than the one given, whose grant has no end.
func (r View) admin(but PersonID) (PersonID, error) {
	grants, err := agree.List[Grant](r.Reader, PrefixGrants, "", 0)
	if err != nil {
		return "", err
	}
	for _, g := range grants {
		if g.Role != RoleAdmin || !g.Scope.Whole() || g.Ended != 0 || g.Until != 0 || g.Person == but {
			continue
		}
		p, _, err := agree.Get[Person](r.Reader, keyPerson(g.Person))
		if err != nil {
			return "", err
		}
		if p.State == Active {
			return p.ID, nil
		}
	}
	return "", nil
}

// adminStays refuses what took the last administrator away.
func (s *state) adminStays(had bool) error {
	has, err := s.hasAdmin()
	if err != nil || has || !had {
		return err
	}
	return agree.Refuse(agree.Unsafe, "this would take away the last active administrator whose grant has no end; "+
		"make somebody else one first")
}
