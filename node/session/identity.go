package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// byIdentity stands in a session for an access token: it began at a service of OpenID Connect. No access token has such
// an id.
const byIdentity = "(identity)"

// Why an identity that was proved begins no session.
var (
	// ErrStranger says that the identity is nobody's here, or of a person who may not act.
	ErrStranger = errors.New("nobody here has that identity")
	// ErrTaken says that the identity is another person's, or that another person has the name or the e-mail address.
	ErrTaken = errors.New("the identity, the name or the e-mail address is another person's")
	// ErrOver says that the service has ended all sessions of the identity since it said who she is, or one that may be
	// just this.
	ErrOver = errors.New("the service has ended her sessions since")
	// ErrUnnamed says that the service gives no name or address by which somebody could be made a person.
	ErrUnnamed = errors.New("the service gives no name and address that can be used")
)

// Proof is what a service of OpenID Connect has proved about somebody.
type Proof struct {
	Issuer, Subject string
	Session         string              // what the service calls its own session; empty: it does not say
	Made            time.Time           // when the service said so, by its clock; zero: it does not say
	Grants          []people.GroupGrant // what her groups give
	Newcomer        *catalog.Person     // what she is called if she is to be made a person; nil: she is not to be
}

// Identified begins a session of the person whose identity was proved. invitation is the text of an invitation that she
// accepts with it, or empty. What her groups give counts from then on, for a day; what they do not give any more ends.
// It fails with ErrStranger, ErrTaken, ErrUnnamed, ErrOver, or ErrLink if the invitation is worth nothing.
func (s *Sessions) Identified(ctx context.Context, who Proof, invitation string) (Session, error) {
	if err := s.knowsIdentities(); err != nil {
		return Session{}, err
	}
	if invitation != "" {
		if err := s.enterIdentified(ctx, who, invitation); err != nil {
			return Session{}, err
		}
	}
	p, identity, err := s.identified(who)
	if errors.Is(err, ErrStranger) && who.Newcomer != nil && len(who.Grants) > 0 {
		if err := s.admit(ctx, who); err != nil {
			return Session{}, err
		}
		p, identity, err = s.identified(who)
	}
	if err != nil {
		return Session{}, err
	}
	if s.over(who, identity) {
		return Session{}, ErrOver
	}
	if err := s.regroup(ctx, p, identity, who.Grants); err != nil {
		return Session{}, err
	}
	s.cfg.Log.Info("somebody signs in by an identity", "person", p.ID, "identity", identity.ID)
	c := content{ID: random(16), Begun: s.cfg.Self, Token: byIdentity, Owner: p.ID.Actor()}
	if who.Session != "" {
		c.Service = people.ServiceSession(who.Issuer, who.Session)
	}
	out, err := s.extend(c, true)
	if errors.Is(err, ErrEnded) {
		return out, ErrStranger
	} else if err != nil {
		return out, err
	}
	// An end that came before it began is seen now; one that came since ends it.
	if _, identity, err = s.identified(who); err != nil {
		return Session{}, err
	}
	if s.over(who, identity) {
		return Session{}, ErrOver
	}
	return out, nil
}

// over reports whether the service has ended what it vouched for.
func (s *Sessions) over(who Proof, i people.Identity) bool {
	return !who.Made.IsZero() && (i.Over(catalog.At(who.Made), who.Session != "") || s.pending.over(who))
}

func (s *Sessions) knowsIdentities() error {
	return s.cfg.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err == nil && c.Level < people.LevelOfIdentities {
			err = &catalog.Refusal{Code: catalog.Unsupported, Message: "a cluster of this level knows no identities"}
		}
		return err
	})
}

// identified returns the active person whose identity it is, or ErrStranger.
func (s *Sessions) identified(who Proof) (p catalog.Person, i people.Identity, err error) {
	err = s.cfg.View(func(v catalog.View) (err error) {
		p, i, err = catalog.PeopleIn(v).Identified(who.Issuer, who.Subject)
		return err
	})
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return p, i, ErrStranger
	case err != nil:
		return p, i, fmt.Errorf("look up an identity: %w", err)
	case p.State != catalog.Active:
		return p, i, ErrStranger
	}
	return p, i, nil
}

// enterIdentified accepts an invitation: the identity is that of the person who was invited from then on.
func (s *Sessions) enterIdentified(ctx context.Context, who Proof, invitation string) error {
	token, p, err := s.invited(invitation)
	if err != nil {
		return err
	}
	err = s.cfg.Propose(ctx, people.EnterIdentified, people.Identification{Invitation: token.ID, Issuer: who.Issuer,
		Subject: who.Subject}, p.ID.Actor())
	return refusedAs(err, map[catalog.Code]error{catalog.Denied: ErrLink, catalog.Conflict: ErrTaken})
}

// admit makes a person of the identity. Two sign-ins of the same one at the same time make one person.
func (s *Sessions) admit(ctx context.Context, who Proof) error {
	err := s.cfg.Propose(ctx, people.AdmitPerson, people.Admission{Person: *who.Newcomer, Issuer: who.Issuer,
		Subject: who.Subject, Grants: who.Grants, Until: s.grantsEnd()}, catalog.Local(s.cfg.Self))
	if err != nil {
		if _, _, found := s.identified(who); found == nil {
			return nil
		}
		s.cfg.Log.Warn("somebody whose groups give a grant is not made a person", "error", err)
	}
	return refusedAs(err, map[catalog.Code]error{catalog.Conflict: ErrTaken, catalog.Invalid: ErrUnnamed,
		catalog.Denied: ErrStranger})
}

func (s *Sessions) grantsEnd() catalog.Time { return catalog.At(s.cfg.Now()) + people.GroupLife }

// regroup has agreed what the groups of an identity give now. Where nothing is lost, a session begins also if that
// cannot be agreed, with what there is: a site that is cut off must be able to work. Where something is lost, none
// does.
func (s *Sessions) regroup(ctx context.Context, p catalog.Person, i people.Identity, gives []people.GroupGrant) error {
	given, err := s.given(p.ID, i)
	if err != nil || len(given) == 0 && len(gives) == 0 {
		return err
	}
	failed := s.cfg.Propose(ctx, people.Regroup, people.Grouping{Person: p.ID, Identity: i.ID, Grants: gives,
		Until: s.grantsEnd()}, catalog.Local(s.cfg.Self))
	if failed != nil {
		lost := slices.ContainsFunc(given, func(g catalog.Grant) bool {
			return !slices.Contains(gives, groupGrant(g))
		})
		if lost {
			return fmt.Errorf("end what groups give no more: %w", failed)
		}
		s.cfg.Log.Warn("what groups give is not agreed: a session begins with what counted before", "person", p.ID,
			"error", failed)
		return nil
	}
	if given, err = s.given(p.ID, i); err != nil {
		return err
	}
	for _, g := range gives {
		if !slices.ContainsFunc(given, func(o catalog.Grant) bool { return groupGrant(o) == g }) {
			s.cfg.Log.Warn("what a group gives cannot be given", "person", p.ID, "role", g.Role,
				"collection", g.Collection, "place", g.Place)
		}
	}
	return nil
}

func groupGrant(g catalog.Grant) people.GroupGrant {
	return people.GroupGrant{Role: g.Role, Collection: g.Scope.Collection, Place: g.Scope.Place}
}

// given returns what the groups of the identity gave and what counts now.
func (s *Sessions) given(id catalog.PersonID, i people.Identity) (out []catalog.Grant, err error) {
	err = s.cfg.View(func(v catalog.View) error {
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.cfg.Now()))
		if err != nil {
			return err
		}
		all, err := catalog.PeopleIn(v).GrantsOf(id)
		for _, g := range all {
			if g.Identity == i.ID && g.Open(now) {
				out = append(out, g)
			}
		}
		return err
	})
	return out, err
}

// refusedAs returns what stands for the refusal, else err.
func refusedAs(err error, means map[catalog.Code]error) error {
	var refusal *catalog.Refusal
	if errors.As(err, &refusal) {
		if meant, there := means[refusal.Code]; there {
			return meant
		}
	}
	return err
}
