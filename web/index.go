package web

import (
	"context"

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
	st := v.known()
	if st == nil {
		return p, nil
	}
	kinds := map[string]wire.ReplicaKind{}
	for _, r := range st.Replicas {
		kinds[r.Name] = r.Kind
	}
	for i := range p.Items {
		for _, n := range st.Nodes {
			if n.ID == p.Items[i].Node {
				p.Items[i].Checksums = kinds[n.Replica] == wire.Checksum
			}
		}
	}
	return p, nil
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

// askRebuild is about the index of the node that the path names, or of all.
func askRebuild(ctx context.Context, v *visit) (*form, error) {
	name := v.given["name"]
	v.about = name
	all, err := v.api.Index().Status(ctx)
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
