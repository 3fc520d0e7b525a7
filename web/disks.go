package web

import (
	"context"

	"holdfast/api/wire"
)

// disksPage is what the page of a node's disks shows: of the node that answers, and of no other.
type disksPage struct {
	Node  string      `json:"node"`
	Disks *wire.Disks `json:"disks"`
}

func (p *disksPage) lines() (items any, next string, read bool) {
	if p.Disks == nil {
		return []wire.DiskState{}, "", false
	}
	return p.Disks.Disks, "", true
}

func showDisks(ctx context.Context, v *visit) (any, error) {
	v.live = true
	p := &disksPage{}
	v.ask(ctx, "web.disks", soon, func(ctx context.Context) error {
		found, err := v.api.Disks().Show(ctx)
		if err == nil {
			p.Disks = &found
		}
		return err
	})
	v.wait()
	if v.status != nil {
		p.Node = v.status.Node.Name
	}
	if p.Disks != nil && p.Disks.Paused {
		v.offer("disks", "resume")
	} else if p.Disks != nil {
		v.offer("disks", "pause")
	}
	return p, nil
}

// DiskState marks the state of a disk: well only if nothing is wrong with it.
func (l terms) DiskState(d wire.DiskState) mark {
	switch d.State {
	case "in use":
		if d.Why != "" {
			return mark{"bad", l.Text("web.disk-in-use")}
		}
		return mark{"good", l.Text("web.disk-in-use")}
	case "draining":
		return mark{"work", l.Text("web.disk-draining")}
	case "emptied":
		return mark{"quiet", l.Text("web.disk-emptied")}
	case "not mounted":
		return mark{"bad", l.Text("web.disk-not-mounted")}
	case "read-only":
		return mark{"bad", l.Text("web.disk-read-only")}
	}
	return mark{"look", d.State}
}

// Emptied reports whether a disk is to be empty, or is.
func (l terms) Emptied(s string) bool { return s == "draining" || s == "emptied" }

// askDisks is the form of a wish about the disks of the node that serves it. It says which node that is: where several
// are reached by one name, another one may get the form.
func askDisks(help string, path bool) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		st, err := v.api.Status(ctx)
		if err != nil {
			return nil, err
		}
		disks, err := v.api.Disks().Show(ctx)
		if err != nil {
			return nil, err
		}
		v.about = st.Node.Name
		f := &form{Help: help}
		f.add(field{Name: "node", Kind: hidden, Value: st.Node.Name})
		if !path {
			return f, nil
		}
		given := v.given["path"]
		var elsewhere int64
		var disk *wire.DiskState
		for i, d := range disks.Disks {
			if d.Path == given {
				disk = &disks.Disks[i]
			} else if d.State == "in use" && d.Why == "" {
				elsewhere += d.Room
			}
		}
		if disk == nil {
			return nil, wire.ErrNotFound
		}
		f.Effects = []said{
			{"web.effect-disk", []any{"count", disk.Shards, "size", size(disk.Bytes), "path", disk.Path}},
			{"web.effect-disk-room", []any{"size", size(elsewhere)}}}
		return f, nil
	}
}

// askDrainDisk wants the disk's path typed.
func askDrainDisk(ctx context.Context, v *visit) (*form, error) {
	f, err := askDisks("web.disk-drain-help", true)(ctx, v)
	if err == nil {
		f.Grave, f.Confirm = true, v.given["path"]
	}
	return f, err
}

// wishDisks carries out a wish, if the node is that of the form.
func wishDisks(wish, note string) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		if node := f.field("node"); node.Value != node.Present {
			return outcome{}, &formError{"", "web.other-node", ""}
		}
		_, err := v.api.Disks().Wish(ctx, wire.DiskWish{Wish: wish, Path: v.given["path"]})
		return outcome{Next: "/disks", Notes: []said{{Key: note}}}, err
	}
}
