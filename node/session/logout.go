package session

import (
	"context"
	"errors"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// ErrRepeated says that a message of a service was carried out before.
var ErrRepeated = errors.New("the message of the service was carried out before")

// ErrLapsed says that a message of a service is too old, by the clock that the cluster has agreed on: whoever kept it
// could send it to a node whose own clock is behind, when nobody remembers it any more.
var ErrLapsed = errors.New("the message of the service is too old by the cluster's clock")

// ErrPending says that sessions have ended on this node, that the other nodes do not know of it yet, and that this node
// goes on asking them.
var ErrPending = errors.New("the sessions have ended on this node alone so far: the cluster cannot decide now")

// maxPending bounds what this node keeps of messages that could not be agreed.
const maxPending = 10_000

// Logout is what a service of OpenID Connect says has ended: its session, or, if it names none, all of the subject's.
type Logout struct {
	Issuer  string
	Subject string    // may be empty if there is a session
	Session string    // may be empty if there is a subject
	Message string    // the service's id of the message
	Made    time.Time // by the service's clock
	Until   time.Time // from then on the message is not taken any more
}

// EndAtService ends what a service says has ended: on this node at once, whatever the error, and on every node when the
// error is nil. Otherwise the node goes on asking, as long as it runs, and the error is ErrPending.
//
// A session of the service ends the sessions that began with it, and those of the person of which the service did not
// say with which they began. Without one, all sessions of the person end, also those that began with a password. What
// is nobody's here, or has ended already, is no error. A message is carried out once: then it is ErrRepeated. One
// that is too old is ErrLapsed.
func (s *Sessions) EndAtService(ctx context.Context, said Logout) error {
	if err := s.knowsIdentities(); err != nil {
		return err
	}
	e, err := s.endAtService(said)
	waits, others := s.pending.waits(e.id)
	if errors.Is(err, ErrLapsed) {
		return err
	}
	if err == nil && others >= maxPending {
		return errors.New("too many ends of sessions wait until the cluster can decide")
	}
	if err == nil {
		err = s.tell(ctx, e)
	}
	var refused *catalog.Refusal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRepeated) || repeated(err):
		s.pending.drop(e.id)
		if waits { // the service was told before that it failed, and asks again
			return nil
		}
		return ErrRepeated
	case errors.As(err, &refused) && refused.Code == catalog.Invalid:
		s.pending.drop(e.id) // it will not be taken later either
		return err
	}
	e.moot = repeated
	s.pending.add(e)
	return errors.Join(ErrPending, err)
}

// endAtService is the end that the service speaks of, or ErrRepeated.
func (s *Sessions) endAtService(said Logout) (ending, error) {
	body := people.IdentityEnd{Message: people.ServiceMessage(said.Issuer, said.Message), Until: catalog.At(said.Until)}
	if !said.Made.IsZero() {
		body.Made = catalog.At(said.Made)
	}
	if said.Session != "" {
		body.Session = people.ServiceSession(said.Issuer, said.Session)
	}
	if said.Subject != "" {
		body.Identity = people.IdentityID(said.Issuer, said.Subject)
	}
	var owner string // empty: nobody's here, as far as this node knows
	var now catalog.Time
	err := s.cfg.View(func(v catalog.View) (err error) {
		in := catalog.PeopleIn(v)
		if now, err = in.Now(catalog.At(s.cfg.Now())); err != nil {
			return err
		}
		if was, err := in.SignedOut(body.Message); err != nil || was {
			return orRepeated(err)
		}
		if now >= body.Until {
			return ErrLapsed
		}
		if said.Subject == "" {
			return nil
		}
		p, _, err := in.Identified(said.Issuer, said.Subject)
		if err == nil {
			owner = p.ID.Actor()
		}
		return orNil(err)
	})
	return ending{id: "message " + body.Message, kind: people.EndIdentified, body: body,
		actor: catalog.Local(s.cfg.Self), until: now + people.SessionMost,
		ends: func(c content) bool {
			if body.Session != "" && c.Service == body.Session {
				return true
			}
			if owner == "" || c.Owner != owner || body.Session != "" && !unnamed(c) {
				return false
			}
			// Other nodes' clocks may be ahead: what began there is not known to have begun later.
			return c.Began <= now || c.Begun != s.cfg.Self
		},
		known: func(v catalog.View) (bool, error) { return catalog.PeopleIn(v).SignedOut(body.Message) },
		over: func(who Proof) bool {
			i := people.Identity{Ended: body.Made}
			if body.Session != "" {
				i = people.Identity{EndedOne: body.Made}
			}
			return people.IdentityID(who.Issuer, who.Subject) == body.Identity &&
				i.Over(catalog.At(who.Made), who.Session != "")
		},
		moot: func(error) bool { return false }}, err
}

func repeated(err error) bool {
	var refused *catalog.Refusal
	return errors.As(err, &refused) && refused.Code == catalog.Conflict
}

func orRepeated(err error) error {
	if err == nil {
		err = ErrRepeated
	}
	return err
}
