package people

import (
	"errors"
	"slices"

	"holdfast/catalog/agree"
)

// GroupLife is how long a grant lasts at most that a group gave, unless the person signs in again.
const GroupLife = Day

// maxGroupGrants bounds what the groups of one identity give.
const maxGroupGrants = 50

// Grouping says what the groups of an identity give now. What they gave before and give no more ends; what was given by
// hand stays as it is.
type Grouping struct {
	Person   PersonID     `json:"person"`
	Identity string       `json:"identity"` // its id
	Grants   []GroupGrant `json:"grants,omitempty"`
	Until    agree.Time   `json:"until"` // GroupLife from now at most
}

// Grouped is the answer to a Grouping or an Admission.
type Grouped struct {
	Counting int      `json:"counting"`          // grants of these groups that count now
	Refused  []string `json:"refused,omitempty"` // why others cannot be given
}

// byNode refuses who is not a node that speaks with the right of its local token: groups are worked out where somebody
// signs in. So a person cannot give herself a grant, and a node whose local token is no administrator's gives none.
func (s *state) byNode() error {
	if kind, _ := ParseActor(s.Actor); kind != LocalActor {
		return agree.Refuse(agree.Denied, "what groups give is said by the node at which somebody signs in")
	}
	return nil
}

func regroup(s *state, b *Grouping) (any, error) {
	if err := s.byNode(); err != nil {
		return nil, err
	}
	p, err := s.person(b.Person)
	if err != nil {
		return nil, err
	}
	if p.State != Active {
		return nil, agree.Refuse(agree.Denied, "person %s is %s", p.ID, p.State)
	}
	i, there, err := agree.Get[Identity](s, keyIdentity(p.ID, b.Identity))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "person %s has no identity %q", p.ID, agree.Clip(b.Identity, 64))
	}
	return s.regroup(p.ID, i, b.Grants, b.Until)
}

// regroup makes the grants of an identity's groups those that are asked for, until then. One that cannot be given, such
// as for a collection that is not there, is left out and named: the others must not depend on it.
func (s *state) regroup(id PersonID, i Identity, asked []GroupGrant, until agree.Time) (out Grouped, err error) {
	if len(asked) > maxGroupGrants {
		return out, agree.Refuse(agree.Invalid, "%d grants of groups: at most %d", len(asked), maxGroupGrants)
	}
	if until = min(until, s.At+GroupLife); until <= s.At {
		return out, agree.Refuse(agree.Invalid, "a grant cannot end in the past")
	}
	wanted, refused, err := s.wanted(id, i, asked, until)
	if err != nil {
		return out, err
	}
	out.Refused = refused
	grants, err := s.grants(id)
	if err != nil {
		return out, err
	}
	open := 0
	for _, g := range grants {
		if g.Identity != i.ID || g.Ended != 0 {
			if g.Open(s.At) {
				open++
			}
			continue
		}
		at := slices.IndexFunc(wanted, func(w Grant) bool { return w.Role == g.Role && w.Scope == g.Scope })
		if at < 0 {
			if err := s.endOfGroup(g, "no group gives it any more"); err != nil {
				return out, err
			}
			continue
		}
		wanted = slices.Delete(wanted, at, at+1)
		open++
		out.Counting++
		if err := s.goOn(g, until); err != nil {
			return out, err
		}
	}
	for _, g := range wanted {
		if open >= maxGrants {
			out.Refused = append(out.Refused, "the person has too many grants")
			break
		}
		if err := s.giveOfGroup(g); err != nil {
			return out, err
		}
		open++
		out.Counting++
	}
	return out, nil
}

// wanted returns the grants that can be given of those that are asked for, each once.
func (s *state) wanted(id PersonID, i Identity, asked []GroupGrant, until agree.Time) (out []Grant, refused []string,
	err error) {
	for _, a := range asked {
		g := Grant{Person: id, Role: a.Role, By: s.Actor, Since: s.At, Until: until, Identity: i.ID,
			Reason: agree.ClipReason("groups at " + i.Issuer)}
		if g.Scope, err = s.scope(a.Role, a.Collection, a.Place); err == nil {
			err = s.mayLast(&g)
		}
		var refusal *agree.Refusal
		switch {
		case errors.As(err, &refusal):
			refused = append(refused, refusal.Message)
		case err != nil:
			return nil, nil, err
		case !slices.ContainsFunc(out, func(o Grant) bool { return o.Role == g.Role && o.Scope == g.Scope }):
			out = append(out, g)
		}
	}
	return out, refused, nil
}

// goOn lets a grant of a group last longer. The trail hears of one that had lapsed.
func (s *state) goOn(g Grant, until agree.Time) error {
	lapsed := !g.Open(s.At)
	if lapsed {
		g.Since = s.At
	}
	g.Until, g.By = until, s.Actor
	if err := s.Set(keyGrant(g.Person, g.ID), g); err != nil || !lapsed {
		return err
	}
	return s.Event(Regroup, string(g.Person), "grant=%d counts again role=%s%s until=%d identity=%s", g.ID, g.Role,
		g.Scope.text(), g.Until, g.Identity)
}

func (s *state) giveOfGroup(g Grant) error {
	last, _, err := agree.Get[uint64](s, keyGrants)
	if err != nil {
		return err
	}
	g.ID = last + 1
	if err := s.Set(keyGrants, g.ID); err != nil {
		return err
	}
	if err := s.Set(keyGrant(g.Person, g.ID), g); err != nil {
		return err
	}
	return s.Event(Regroup, string(g.Person), "grant=%d given role=%s%s until=%d identity=%s", g.ID, g.Role,
		g.Scope.text(), g.Until, g.Identity)
}

// endOfGroup ends a grant that a group gave. No rule of administrators stands in the way: such a grant always has an
// end, so that none of them is the last one.
func (s *state) endOfGroup(g Grant, why string) error {
	g.Ended, g.EndedBy, g.EndedWhy = s.At, s.Actor, why
	if err := s.Set(keyGrant(g.Person, g.ID), g); err != nil {
		return err
	}
	return s.Event(Regroup, string(g.Person), "grant=%d ended role=%s%s identity=%s", g.ID, g.Role, g.Scope.text(),
		g.Identity)
}
