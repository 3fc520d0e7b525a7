package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// Propose asks for a change in the name of an actor. The error is the command's refusal, too.
type Propose func(ctx context.Context, kind catalog.Kind, body any, actor string) error

// errStranger reports a session that no member signed, as far as this node knows them: one that has joined since may
// have.
var errStranger = errors.New("this node knows no member that signed the session: it may be good elsewhere")

// endAgain is how long a node waits before it asks again that the end of a session be agreed.
const endAgain = 10 * time.Second

// ending is an end of sessions that this node knows of, and that is not agreed yet.
type ending struct {
	id    string
	kind  catalog.Kind
	body  any
	actor string
	until catalog.Time                     // nobody needs it from then on
	ends  func(content) bool               // whether it is the end of that session
	known func(catalog.View) (bool, error) // whether this node's state has it
	moot  func(error) bool                 // whether the refusal says that the sessions have ended all the same
	over  func(Proof) bool                 // whether a sign-in is over by it that was under way; nil: none is
}

// pending are ends that began here, and of which the other nodes may not know yet.
type pending struct {
	mu    sync.Mutex
	known map[string]ending // by id
}

// has reports whether one of them is the end of the session.
func (p *pending) has(c content) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.known {
		if e.ends(c) {
			return true
		}
	}
	return false
}

// over reports whether a sign-in is over by one of them.
func (p *pending) over(who Proof) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.known {
		if e.over != nil && e.over(who) {
			return true
		}
	}
	return false
}

func (p *pending) add(e ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]ending{}
	}
	p.known[e.id] = e
}

// waits reports whether the end with that id is among them, and how many others are.
func (p *pending) waits(id string) (there bool, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there = p.known[id]; there {
		return true, len(p.known) - 1
	}
	return false, len(p.known)
}

func (p *pending) all() []ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.known))
}

func (p *pending) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}

// End ends a session: on this node at once, whatever the error, and on every node when the error is nil. Otherwise the
// node goes on asking, as long as it runs. A session that has ended already is no error, nor is a text that is none.
//
// One that is worth nothing here is ended, too, if a member signed it: it may be good on a node that knows more, from
// which alone it counts, or whose clock is right. Of one that no member signed that this node knows, it says so.
func (s *Sessions) End(ctx context.Context, text string) error {
	c, plain, signature, err := parse(text)
	if err != nil {
		return orNil(err)
	}
	var ended bool
	err = s.cfg.View(func(v catalog.View) (err error) {
		if err = s.signed(v, c, plain, signature); errors.Is(err, catalog.ErrNotFound) {
			return errStranger
		} else if err != nil {
			return err
		}
		ended, err = catalog.PeopleIn(v).SessionEnded(c.Owner, c.ID)
		return err
	})
	if err != nil || ended {
		return err
	}
	return s.tell(ctx, endOf(c))
}

// endOf is the end of one session, by its owner.
func endOf(c content) ending {
	id := c.ID
	return ending{id: "session " + id, kind: people.EndSession, actor: c.Owner, until: c.Began + people.SessionMost,
		body: people.SessionEnd{Owner: c.Owner, ID: id, Until: c.Began + people.SessionMost},
		ends: func(other content) bool { return other.ID == id },
		known: func(v catalog.View) (bool, error) {
			return catalog.PeopleIn(v).SessionEnded(c.Owner, id)
		},
		moot: func(err error) bool {
			kind, _ := people.ParseActor(c.Owner)
			return kind == people.PersonActor && gone(err)
		}}
}

// tell ends sessions here, and has that agreed. It is forgotten here when this node's state has it.
func (s *Sessions) tell(ctx context.Context, e ending) error {
	s.pending.add(e)
	err := s.cfg.Propose(ctx, e.kind, e.body, e.actor)
	if err != nil && e.moot(err) {
		s.pending.drop(e.id) // they have ended everywhere, and will not be good again
		return nil
	} else if err != nil {
		return err
	}
	var known bool
	err = s.cfg.View(func(v catalog.View) (err error) {
		known, err = e.known(v)
		return err
	})
	if err == nil && known {
		s.pending.drop(e.id)
	}
	return err
}

// gone reports whether the error says that a person is disabled, or not there: all her sessions have ended with that.
func gone(err error) bool {
	var refused *catalog.Refusal
	return errors.As(err, &refused) && (refused.Code == catalog.Denied || refused.Code == catalog.NotFound)
}

func orNil(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// Run has the ends of sessions agreed that could not be agreed at once, until ctx ends.
func (s *Sessions) Run(ctx context.Context) error {
	tick := time.NewTicker(endAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := catalog.At(s.cfg.Now())
		for _, e := range s.pending.all() {
			if e.until < now {
				s.pending.drop(e.id)
				continue
			}
			if err := s.tell(ctx, e); err != nil && ctx.Err() == nil {
				s.cfg.Log.Debug("the end of sessions is not agreed yet", "asked-by", e.actor, "error", err)
			}
		}
	}
}
