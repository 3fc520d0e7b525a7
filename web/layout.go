package web

import (
	"context"
	"strconv"

	"holdfast/api/wire"
)

func askReplica(ctx context.Context, v *visit) (*form, error) {
	collections, err := collectionsOf(ctx, v)
	f := &form{Help: "web.replica-new-help"}
	if len(collections) > 0 {
		f.Effects = []said{{"web.effect-replica", []any{"count", len(collections)}}}
	}
	return f.add(named(""), field{Name: "kind", Label: "web.kind", Kind: choose, Need: true, Value: "bitarchive",
		Options: []option{{"bitarchive", "web.kind-bitarchive"}, {"checksum", "web.kind-checksum"}}},
		field{Name: "place", Label: "web.place", Most: 64, Help: "web.replica-place-help"},
		field{Name: "collections", Label: "web.collections", Kind: area, Most: 8000,
			Help: "web.replica-collections-help"}), err
}

func addReplica(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Replicas().Add(ctx, wire.ReplicaRequest{Name: f.text("name"),
		Kind: wire.ReplicaKind(f.text("kind")), Place: f.text("place"), Collections: f.lines("collections")})
	return outcome{Next: "/replicas", Notes: []said{{"web.did-replica", []any{"replica", f.text("name")}}}}, err
}

func askRemoveReplica(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	r, err := v.api.Replicas().Show(ctx, v.given["name"])
	f := &form{Help: "web.replica-remove-help", Confirm: r.Name, Grave: true, Effects: []said{
		{"web.effect-replica-good", []any{"count", r.Good}}, {"web.effect-replica-held", []any{"count", r.Held}}}}
	return f.add(reason(true)), err
}

func removeReplica(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/replicas"}, v.api.Replicas().Remove(ctx, v.given["name"], f.text("reason"))
}

func showCollections(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "collection")
	out := &listed[wire.Collection]{}
	v.ask(ctx, "web.collections", soon, func(ctx context.Context) error {
		all, err := v.api.Collections().List(ctx)
		return out.set(wire.Page[wire.Collection]{Items: all}, err)
	})
	v.wait()
	return out, nil
}

func askCollection(context.Context, *visit) (*form, error) {
	return (&form{Help: "web.collection-new-help"}).add(named("")), nil
}

func addCollection(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Collections().Add(ctx, f.text("name"))
	return outcome{Next: "/collections", Notes: []said{{"web.did-collection", []any{"name", f.text("name")}}}}, err
}

func askRemoveCollection(ctx context.Context, v *visit) (*form, error) {
	name := v.given["name"]
	v.about = name
	all, err := v.api.Collections().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Name == name {
			f := &form{Help: "web.collection-remove-help", Confirm: name, Grave: true}
			return f.add(reason(true)), nil
		}
	}
	return nil, wire.ErrNotFound
}

func removeCollection(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/collections"}, v.api.Collections().Remove(ctx, v.given["name"], f.text("reason"))
}

// levelPage is what the page of the cluster's level shows.
type levelPage struct {
	Level *wire.Level `json:"level"`
}

func (p *levelPage) lines() (items any, next string, read bool) {
	if p.Level == nil {
		return []wire.MemberLevel{}, "", false
	}
	return p.Level.Members, "", true
}

func showLevel(ctx context.Context, v *visit) (any, error) {
	p := &levelPage{}
	v.ask(ctx, "web.level", soon, func(ctx context.Context) error {
		found, err := v.api.Level(ctx)
		if err == nil {
			p.Level = &found
		}
		return err
	})
	v.wait()
	if p.Level != nil && p.Level.Supported > p.Level.Level {
		v.offer("level", "raise")
	}
	return p, nil
}

// Behind counts the members that do not support the newest level that the answering node's program has.
func (p *levelPage) Behind() (n int) {
	for _, m := range p.Level.Members {
		if m.Level < p.Level.Newest {
			n++
		}
	}
	return n
}

func askRaise(ctx context.Context, v *visit) (*form, error) {
	st, err := v.api.Status(ctx)
	if err != nil {
		return nil, err
	}
	now, err := v.api.Level(ctx)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.level-help", Confirm: st.Cluster.Name, Grave: true, Effects: []said{
		{"web.effect-level", []any{"level", plain(now.Level), "count", len(now.Members)}}}}
	d := field{Name: "level", Label: "web.level", Kind: choose, Need: true, Value: plain(now.Supported)}
	for n := now.Supported; n > now.Level; n-- {
		d.Options = append(d.Options, option{Value: plain(n)})
	}
	return f.add(d), nil
}

// raise raises the level, and tells the level that the cluster has then.
func raise(ctx context.Context, v *visit, f *form) (outcome, error) {
	to, err := strconv.Atoi(f.text("level"))
	if err != nil {
		return outcome{}, &formError{"level", "web.want-number", ""}
	}
	now, err := v.api.RaiseLevel(ctx, to)
	return outcome{Next: "/level", Notes: []said{{"web.did-level", []any{"level", plain(now.Level)}}}}, err
}
