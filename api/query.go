package api

import (
	"errors"
	"slices"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// nodesOf lists the members with their shards and their current presence.
func nodesOf(v catalog.View, presence map[catalog.NodeID]wire.Presence) ([]wire.Node, error) {
	members, err := v.Members()
	if err != nil {
		return nil, err
	}
	replicas, err := v.Replicas()
	if err != nil {
		return nil, err
	}
	shards, places := map[catalog.NodeID]int{}, map[catalog.ReplicaName]string{}
	for _, r := range replicas {
		places[r.Name] = r.Place
		layout, err := v.Layout(r.Name)
		if err != nil {
			return nil, err
		}
		for _, p := range layout {
			shards[p.Holder]++
		}
	}
	nodes := make([]wire.Node, 0, len(members))
	for _, m := range members {
		n := wire.Node{
			ID: string(m.ID), Name: m.Name, Replica: string(m.Replica), Place: places[m.Replica],
			Addresses: m.Addresses, OutOnly: m.OutOnly,
			Weight: m.Weight, Draining: m.Draining, Shards: shards[m.ID], Level: m.Level, Joined: std(m.Joined),
			Presence: presence[m.ID],
		}
		if m.Crawls {
			n.Channels = m.Served()
		}
		if n.Weight == 0 {
			n.Weight = 100
		}
		if n.Presence.State == "" {
			n.Presence.State = "unknown"
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b wire.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return nodes, nil
}

// nodeNames maps the members' ids to their names.
func nodeNames(v catalog.View) (map[catalog.NodeID]string, error) {
	members, err := v.Members()
	names := make(map[catalog.NodeID]string, len(members))
	for _, m := range members {
		names[m.ID] = m.Name
	}
	return names, err
}

// replicasOf lists the replicas with their totals and how many shards are held and move.
func replicasOf(v catalog.View) ([]wire.Replica, error) {
	replicas, err := v.Replicas()
	if err != nil {
		return nil, err
	}
	out := make([]wire.Replica, 0, len(replicas))
	for _, r := range replicas {
		totals, err := v.Totals(r.Name)
		if err != nil {
			return nil, err
		}
		layout, err := v.Layout(r.Name)
		if err != nil {
			return nil, err
		}
		away, err := v.CopiesAway(r.Name)
		if err != nil {
			return nil, err
		}
		shown := wire.Replica{
			Name: string(r.Name), Kind: wire.ReplicaKind(r.Kind), Place: r.Place,
			Collections: kindOf[string](r.Collections), Created: std(r.Created), Files: totals.Files,
			Bytes: totals.Bytes, Good: totals.Good, Away: away, Owed: totals.Owed, Disputed: totals.Disputed,
		}
		for _, p := range layout {
			if p.Holder != "" {
				shown.Held++
			}
			if p.Next != "" {
				shown.Moving++
			}
		}
		out = append(out, shown)
	}
	return out, nil
}

// firstCollection is where files and jobs go when nothing else is said.
func firstCollection(v catalog.View) (catalog.CollectionName, error) {
	collections, err := v.Collections()
	if err != nil {
		return "", err
	}
	if len(collections) == 0 {
		return "", errors.New("the cluster has no collection")
	}
	return collections[0].Name, nil
}
