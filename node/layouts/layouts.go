// Package layouts foresees what would follow from the staged changes of the layout: duty decides what moves, and here
// it gets the nodes' names, and the time that it takes at the limits of cluster.toml.
package layouts

import (
	"context"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/duty"
)

// mostFiles bounds the entries that are read to find files that would be short of copies.
const mostFiles = 200_000

// Plans foresees, on this node.
type Plans struct {
	Nodes func() map[catalog.NodeID]int64 // the living nodes, each with its free room in bytes
	// Limits are the bytes/s at which a node takes and gives copies; 0: no limit is known.
	Limits func(name string) (takes, gives int64)
}

// Plan says what would follow by the view and by what this node hears of the others now.
func (p Plans) Plan(ctx context.Context, v catalog.View) (wire.LayoutPlan, error) {
	members, err := v.Members()
	if err != nil {
		return wire.LayoutPlan{}, err
	}
	alive := p.Nodes()
	names := map[catalog.NodeID]string{}
	var rooms []duty.Room
	for i := range members {
		id := members[i].ID
		free, lives := alive[id]
		names[id] = members[i].Name
		rooms = append(rooms, duty.Room{Node: id, Free: free, Alive: lives})
	}
	plan, err := duty.PlanLayout(v, rooms, duty.MovesAtOnce, mostFiles, ctx.Err)
	if err != nil {
		return wire.LayoutPlan{}, err
	}
	out := wire.LayoutPlan{Refused: []wire.LayoutRefusal{}, Links: []wire.LayoutLink{}, Short: []wire.LayoutShort{},
		Full: []wire.LayoutFull{}, Stuck: []wire.LayoutStuck{}, Partly: plan.Partly}
	for _, r := range plan.Refused {
		out.Refused = append(out.Refused, wire.LayoutRefusal{Change: r.ID, Why: r.Why})
	}
	for _, c := range plan.Carries {
		out.Links = append(out.Links, wire.LayoutLink{Replica: string(c.Replica), From: string(c.From),
			FromName: names[c.From], To: string(c.To), ToName: names[c.To], Fill: c.Fill, Shards: c.Shards,
			Files: c.Files, Bytes: c.Bytes})
	}
	for _, s := range plan.Short {
		out.Short = append(out.Short, wire.LayoutShort{Replica: string(s.Replica), Fewer: s.Fewer,
			OnePlace: s.OnePlace, None: s.None})
	}
	for _, f := range plan.Full {
		out.Full = append(out.Full, wire.LayoutFull{Node: string(f.Node), NodeName: names[f.Node], Free: f.Free,
			Bytes: f.Bytes})
	}
	for _, n := range plan.Stuck {
		out.Stuck = append(out.Stuck, wire.LayoutStuck{Node: string(n.Node), NodeName: names[n.Node],
			Shards: n.Shards})
	}
	for _, r := range plan.Unsettled {
		out.Unsettled = append(out.Unsettled, string(r))
	}
	p.time(out.Links)
	return out, nil
}

// time says how long each link takes. What a node takes, and what it gives, shares its limit.
func (p Plans) time(links []wire.LayoutLink) {
	taken, given := map[string]int64{}, map[string]int64{}
	for i := range links {
		taken[links[i].To] += links[i].Bytes
		given[links[i].From] += links[i].Bytes
	}
	for i := range links {
		l := &links[i]
		if l.Bytes == 0 || l.From == "" || l.To == "" {
			continue
		}
		takes, _ := p.Limits(l.ToName)
		_, gives := p.Limits(l.FromName)
		l.Rate = least(takes, gives)
		l.Seconds = max(seconds(taken[l.To], takes), seconds(given[l.From], gives))
	}
}

// least returns the lower of two limits, of which none is 0.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// seconds is how long the bytes take, rounded up; 0 if there is no limit.
func seconds(bytes, limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	return (bytes + limit - 1) / limit
}
