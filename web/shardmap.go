package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/api/wire"
)

// shardMap is which node holds each shard of a replica: as a picture, and counted.
type shardMap struct {
	Told   int         `json:"told"` // shards that the archive told of
	States []shardArea `json:"states"`
	Nodes  []shardNode `json:"nodes"`
}

// shardArea is the shards in one state.
type shardArea struct {
	State string `json:"state"` // here, away, unknown, moving, none
	Count int    `json:"count"`
	Path  string `json:"-"` // in the picture
}

// shardNode is what a node has of a replica's shards.
type shardNode struct {
	Node     string `json:"node"`
	State    string `json:"state"` // of the node, as the node that answers hears; empty: not known
	Held     int    `json:"held"`
	Leaving  int    `json:"leaving"`
	Arriving int    `json:"arriving"`
}

// mapWide is how many shards stand in a row of the picture.
const mapWide = 64

// mapOf makes the map. That a node is there is known by the state of the cluster alone: nil is not known.
func mapOf(shards []wire.Shard, st *wire.Status) *shardMap {
	presence := map[string]wire.Node{}
	if st != nil {
		for _, n := range st.Nodes {
			presence[n.ID] = n
		}
	}
	nodes := map[string]*shardNode{}
	node := func(id string) *shardNode {
		if nodes[id] == nil {
			n, known := presence[id]
			nodes[id] = &shardNode{Node: id}
			if known {
				nodes[id].Node, nodes[id].State = cmp.Or(n.Name, id), n.Presence.State
			}
		}
		return nodes[id]
	}
	areas := map[string][]int{}
	for i, s := range shards {
		state := "none"
		if s.Holder != "" {
			holder := node(s.Holder)
			holder.Held++
			switch holder.State {
			case "alive":
				state = "here"
			case "":
				state = "unknown"
			default:
				state = "away"
			}
			if s.Next != "" {
				holder.Leaving++
			}
		}
		if s.Next != "" {
			node(s.Next).Arriving++
			if state == "here" {
				state = "moving"
			}
		}
		areas[state] = append(areas[state], i)
	}
	m := &shardMap{Told: len(shards)}
	for _, state := range []string{"here", "moving", "away", "unknown", "none"} {
		if at := areas[state]; len(at) > 0 {
			m.States = append(m.States, shardArea{state, len(at), squares(at)})
		}
	}
	for _, n := range nodes {
		m.Nodes = append(m.Nodes, *n)
	}
	slices.SortFunc(m.Nodes, func(a, b shardNode) int { return cmp.Compare(a.Node, b.Node) })
	return m
}

// squares draws the shards of these numbers, which ascend: a square each, those beside one another as one.
func squares(at []int) string {
	var b strings.Builder
	for i := 0; i < len(at); {
		first := at[i]
		n := 1
		for i+n < len(at) && at[i+n] == first+n && (first+n)%mapWide != 0 {
			n++
		}
		fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", first%mapWide, first/mapWide, n, n)
		i += n
	}
	return b.String()
}

// ShardState names a state of shards, with the class of its colour.
func (l ofCopies) ShardState(s string) mark {
	switch s {
	case "here":
		return mark{"good", l.in.Text("web.shards-here")}
	case "moving":
		return mark{"work", l.in.Text("web.shards-on-move")}
	case "away":
		return mark{"bad", l.in.Text("web.shards-away")}
	case "none":
		return mark{"bad", l.in.Text("web.shards-none")}
	}
	return mark{"look", l.in.Text("web.shards-unknown")}
}
