package session

import (
	"context"
	"errors"
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

// pending are sessions that ended here, and of which the other nodes may not know yet.
type pending struct {
	mu    sync.Mutex
	ended map[string]people.SessionEnd // by id
}

func (p *pending) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, there := p.ended[id]
	return there
}

func (p *pending) add(e people.SessionEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = map[string]people.SessionEnd{}
	}
	p.ended[e.ID] = e
}

func (p *pending) all() (out []people.SessionEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.ended {
		out = append(out, e)
	}
	return out
}

func (p *pending) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ended, id)
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
	e := people.SessionEnd{Owner: c.Owner, ID: c.ID, Until: c.Began + people.SessionMost}
	s.pending.add(e)
	return s.tell(ctx, e)
}

// tell has the end of a session agreed. It is forgotten here when this node's state has it.
func (s *Sessions) tell(ctx context.Context, e people.SessionEnd) error {
	err := s.cfg.Propose(ctx, people.EndSession, e, e.Owner)
	if kind, _ := people.ParseActor(e.Owner); err != nil && kind == people.PersonActor && gone(err) {
		s.pending.drop(e.ID) // it has ended everywhere, and will not be good again
		return nil
	} else if err != nil {
		return err
	}
	var known bool
	err = s.cfg.View(func(v catalog.View) (err error) {
		known, err = catalog.PeopleIn(v).SessionEnded(e.Owner, e.ID)
		return err
	})
	if err == nil && known {
		s.pending.drop(e.ID)
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
			if e.Until < now {
				s.pending.drop(e.ID)
				continue
			}
			if err := s.tell(ctx, e); err != nil && ctx.Err() == nil {
				s.cfg.Log.Debug("the end of a session is not agreed yet", "owner", e.Owner, "error", err)
			}
		}
	}
}
