package web

import (
	"context"
	"slices"

	"holdfast/api/wire"
)

// indexRow is the state of a node's index.
type indexRow struct {
	wire.IndexStatus
	Checksums bool `json:"checksumsOnly"` // its replica keeps no bytes: there is nothing to index
}

// indexPage is what the page of the indexes shows.
type indexPage struct{ listed[indexRow] }

func showIndex(ctx context.Context, v *visit) (any, error) {
	v.live = true
	v.offer("index", "rebuild")
	p := &indexPage{}
	v.ask(ctx, "web.index", later, func(ctx context.Context) error {
		all, err := v.api.Index().Status(ctx)
		if err != nil {
			return err
		}
		p.Asked, p.Items = true, make([]indexRow, len(all))
		for i := range all {
			p.Items[i].IndexStatus = all[i]
		}
		return nil
	})
	if st := v.known(); st != nil {
		for i := range p.Items {
			p.Items[i].Checksums = onlyChecksums(st, p.Items[i].Node)
		}
	}
	return p, nil
}

// onlyChecksums reports whether the node, by its name or id, is known to keep no bytes: it has no index.
func onlyChecksums(st *wire.Status, node string) bool {
	for i := range st.Nodes {
		if n := &st.Nodes[i]; n.ID == node || n.Name == node {
			return slices.ContainsFunc(st.Replicas, func(r wire.Replica) bool {
				return r.Name == n.Replica && r.Kind == wire.Checksum
			})
		}
	}
	return false
}

// Index marks the state of a node's index: good only if the node answered, and nothing waits or is wrong.
func (l ofCopies) Index(r indexRow) mark {
	switch {
	case r.Silent:
		return mark{"look", l.in.Text("web.not-known")}
	case r.Checksums:
		return mark{"quiet", l.in.Text("web.index-none")}
	case r.Rebuilding:
		return mark{"work", l.in.Text("web.index-rebuilding")}
	case r.Detail != "":
		return mark{"look", l.in.Text("web.index-faulty")}
	case r.Pending > 0:
		return mark{"work", l.in.Text("web.index-behind")}
	}
	return mark{"good", l.in.Text("web.index-whole")}
}

// askRebuild is about the index of the node that the path names, or of all. A node that keeps no bytes would say that
// it rebuilds, and has nothing to.
func askRebuild(ctx context.Context, v *visit) (*form, error) {
	name := v.given["name"]
	v.about = name
	all, err := v.api.Index().Status(ctx)
	if err != nil {
		return nil, err
	}
	st, err := v.api.Status(ctx)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.index-rebuild-help"}
	found := name == ""
	for _, x := range all {
		of := called(x.Name, x.Node)
		if name != "" && name != of && name != x.Node {
			continue
		}
		found = true
		if onlyChecksums(&st, x.Node) {
			if name != "" {
				f.Faults = append(f.Faults, formFault{Message: "web.index-not-here"})
			}
			continue
		}
		if x.Silent {
			f.Effects = append(f.Effects, said{"web.silent", []any{"node", of}})
			continue
		}
		f.Effects = append(f.Effects, said{"web.effect-index", []any{"node", of, "count", x.Files}})
	}
	if !found {
		return nil, wire.ErrNotFound
	}
	return f.add(field{Name: "reason", Label: "web.reason", Help: "web.reason-log-help", Need: true, Most: 500}), nil
}

func rebuildIndex(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/index", Notes: []said{{Key: "web.did-rebuild"}}},
		v.api.Index().Rebuild(ctx, v.given["name"], f.text("reason"))
}
