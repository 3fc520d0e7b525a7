package gossip

import (
	"slices"
	"strings"

	"github.com/hashicorp/memberlist"
)

// teller gives memberlist this node's facts about itself.
type teller struct{ g *Gossip }

func (t teller) NodeMeta(limit int) []byte {
	t.g.mu.Lock()
	defer t.g.mu.Unlock()
	if len(t.g.meta) > limit {
		return nil
	}
	return slices.Clone(t.g.meta)
}

func (t teller) NotifyMsg([]byte)                {}
func (t teller) GetBroadcasts(int, int) [][]byte { return nil }
func (t teller) LocalState(bool) []byte          { return nil }
func (t teller) MergeRemoteState([]byte, bool)   {}

// listener is called by memberlist, under its lock, when something has changed; watch finds out what.
type listener struct{ g *Gossip }

func (l listener) NotifyJoin(*memberlist.Node)   { signal(l.g.changed) }
func (l listener) NotifyLeave(*memberlist.Node)  { signal(l.g.changed) }
func (l listener) NotifyUpdate(*memberlist.Node) { signal(l.g.changed) }

// update takes over what memberlist believes now, and returns what that changes.
func (g *Gossip) update(states []nodeState) []Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	var events []Event
	seen := map[string]bool{g.self.ID: true}
	for _, s := range states {
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		before, known := g.nodes[s.Name]
		now := Node{Facts: before.Facts, State: s.state()}
		if facts, err := decodeFacts(s.Name, s.Meta); err == nil {
			now.Facts = facts
		} else {
			now.Facts.ID = s.Name
		}
		if !known {
			before.State = Left
		}
		events = append(events, changes(before, now)...)
		g.nodes[s.Name] = now
	}
	for id, before := range g.nodes {
		if seen[id] {
			continue
		}
		delete(g.nodes, id)
		events = append(events, changes(before, Node{Facts: before.Facts, State: Failed})...)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return strings.Compare(a.Facts.ID, b.Facts.ID) })
	return events
}

// changes returns the events that lead from one belief to the next.
func changes(before, now Node) []Event {
	event := func(kind EventKind) Event { return Event{Kind: kind, Facts: now.Facts.clone()} }
	var events []Event
	was := before.State == Alive || before.State == Suspected
	is := now.State == Alive || now.State == Suspected
	switch {
	case !was && is:
		events = append(events, event(NodeJoined))
	case was && now.State == Left:
		return append(events, event(NodeLeft))
	case was && now.State == Failed:
		return append(events, event(NodeFailed))
	case was && is && !same(before.Facts, now.Facts):
		events = append(events, event(NodeUpdated))
	}
	switch {
	case now.State == Suspected && before.State != Suspected:
		events = append(events, event(NodeSuspected))
	case now.State == Alive && before.State == Suspected:
		events = append(events, event(NodeRecovered))
	}
	return events
}

func same(a, b Facts) bool {
	addresses, roles := slices.Equal(a.Addresses, b.Addresses), slices.Equal(a.Roles, b.Roles)
	return addresses && roles && a.Name == b.Name && a.Replica == b.Replica && a.Place == b.Place &&
		a.Free == b.Free && a.Total == b.Total && a.Load == b.Load && a.Version == b.Version &&
		a.Raft == b.Raft && a.Jobs == b.Jobs && a.Standing == b.Standing &&
		a.Lacking.Shards == b.Lacking.Shards && slices.Equal(a.Lacking.Next, b.Lacking.Next)
}
