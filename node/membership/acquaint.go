package membership

import (
	"context"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
)

const (
	// MembersCall is the kind of the request for a member list. It is on the wire and keeps its meaning.
	MembersCall = "members"
	// acquaintEvery is the pause between two looks whether this node hears a leader; one that has heard none for
	// acquaintAfter asks for the member list.
	acquaintEvery = 2 * time.Second
	acquaintAfter = 5 * time.Second
	acquaintLimit = 5 * time.Second // for an answer
)

// Acquaint asks the known members for their member lists as long as this node hears no leader. A node that was away
// while a member joined takes that member for a stranger. If that member leads by now, no other node sends the agreed
// state, which would say that it is a member.
func (m Member) Acquaint(ctx context.Context) error {
	tick := time.NewTicker(acquaintEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if silent, _ := m.Agreement.Heard(); silent > acquaintAfter {
			m.askMembers(ctx)
		}
	}
}

// askMembers asks all others at once, and adopts each list that is newer than this node's.
func (m Member) askMembers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, acquaintLimit)
	defer cancel()
	wire.Gather(m.Roster.Others(), func(id catalog.NodeID) (Known, error) {
		k, err := wire.Ask[Known](ctx, m.Caller, id, MembersCall, struct{}{})
		if err != nil {
			m.Log.Debug("member does not tell its member list", "member", m.Roster.NameOf(id), "error", err)
			return k, err
		}
		m.Roster.adopt(k, m.Agreement.Votes) // without waiting for slower nodes
		return k, nil
	})
}

// AnswerMembers tells another member whom this node knows.
func (r *Roster) AnswerMembers() wire.Handler {
	return wire.Answer(MembersCall, func(context.Context, catalog.NodeID, struct{}) (Known, error) {
		return *r.Known(), nil
	})
}
