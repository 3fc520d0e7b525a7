package api

import (
	"context"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// faultPages is how many pages of copies are looked at to count those that are missing or changed.
const faultPages = 200

// allChecks says it of every replica.
func (s *server) allChecks(ctx context.Context) ([]wire.ReplicaChecks, error) {
	all, err := s.replicas()
	out := make([]wire.ReplicaChecks, 0, len(all))
	for _, r := range all {
		if err == nil {
			var one wire.ReplicaChecks
			one, err = s.checks(ctx, r.Name)
			out = append(out, one)
		}
	}
	return out, err
}

// checks says how a replica's copies are, by what is agreed.
func (s *server) checks(ctx context.Context, name string) (out wire.ReplicaChecks, err error) {
	if out.Replica, err = s.replica(name); err != nil {
		return out, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		for _, look := range []func(catalog.View, catalog.ReplicaName) (wire.ReplicaCheck, error){
			passesOf, presenceOf, challengesOf,
		} {
			one, err := look(v, catalog.ReplicaName(name))
			if err != nil {
				return err
			}
			out.Checks = append(out.Checks, one)
		}
		return nil
	})
	for fault, count := range map[agreed.CopyFault]*int64{agreed.CopyMissing: &out.Missing,
		agreed.CopyCorrupt: &out.Changed} {
		if err == nil {
			err = s.count(ctx, &out, agreed.CopySearch{Fault: fault, Replica: catalog.ReplicaName(name)}, count)
		}
	}
	return out, err
}

// count counts copies, a page in each view.
func (s *server) count(ctx context.Context, out *wire.ReplicaChecks, q agreed.CopySearch, count *int64) error {
	after := ""
	for range faultPages {
		var found agreed.FoundCopies
		err := s.Catalog.View(func(v catalog.View) (err error) { found, err = v.Copies(q, after, 1000); return err })
		if err != nil {
			return err
		}
		*count += int64(len(found.Copies))
		if after = found.Next; after == "" {
			return ctx.Err()
		}
	}
	out.Partly = true
	return nil
}

// add counts a check that ended then.
func add(one *wire.ReplicaCheck, ended catalog.Time, findings, missed int64) {
	at := std(ended)
	if one.Checked == 0 || at.Before(one.Oldest) {
		one.Oldest = at
	}
	if at.After(one.Newest) {
		one.Newest = at
	}
	one.Checked++
	one.Findings += findings
	one.Missed += missed
}

// passesOf puts together the last readings of the replica's shards by their present holders.
func passesOf(v catalog.View, name catalog.ReplicaName) (one wire.ReplicaCheck, err error) {
	one.Kind = "checksum"
	holders, err := holdersOf(v, name)
	if err != nil {
		return one, err
	}
	passes, err := v.Passes(name)
	for _, p := range passes {
		if holder, ok := holders[p.Shard]; ok && holder == p.Node {
			add(&one, p.Ended, int64(p.Exceptions), 0)
			delete(holders, p.Shard)
		}
	}
	one.Never = int64(len(holders))
	return one, err
}

// holdersOf returns who holds each of the replica's shards that have files, empty where nobody does.
func holdersOf(v catalog.View, name catalog.ReplicaName) (map[catalog.Shard]catalog.NodeID, error) {
	layout, err := v.Layout(name)
	if err != nil {
		return nil, err
	}
	roots, err := v.Roots(name)
	if err != nil {
		return nil, err
	}
	out := map[catalog.Shard]catalog.NodeID{}
	for n, root := range roots {
		if root.Files > 0 {
			out[catalog.Shard(n)] = layout[n].Holder
		}
	}
	return out, nil
}

// presenceOf puts together the last looks of the nodes that hold shards with files. What nobody holds counts as a node
// that never looked.
func presenceOf(v catalog.View, name catalog.ReplicaName) (one wire.ReplicaCheck, err error) {
	one.Kind = "presence"
	holders, err := holdersOf(v, name)
	if err != nil {
		return one, err
	}
	nodes := map[catalog.NodeID]bool{}
	for _, node := range holders {
		nodes[node] = true
	}
	checks, err := v.Checks(name, one.Kind)
	for _, c := range checks {
		if nodes[c.Node] {
			add(&one, c.Ended, c.Findings, c.Missed)
			delete(nodes, c.Node)
		}
	}
	one.Never = int64(len(nodes))
	return one, err
}

// challengesOf puts together the last challenges of each node that challenged the replica.
func challengesOf(v catalog.View, name catalog.ReplicaName) (one wire.ReplicaCheck, err error) {
	one.Kind = "challenge"
	checks, err := v.Checks(name, one.Kind)
	for _, c := range checks {
		if _, err := v.Member(c.Node); err == nil {
			add(&one, c.Ended, c.Findings, c.Missed)
		}
	}
	if one.Checked == 0 {
		one.Never = 1
	}
	return one, err
}
