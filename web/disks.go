package web

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
	if p.Disks != nil {
		offerDisks(v, p.Disks)
	}
	return p, nil
}

// offerDisks names what can be done with the disks of the node that answers.
func offerDisks(v *visit, all *wire.Disks) {
	v.offer("disks", "add")
	for _, d := range all.Disks {
		v.offer("disks", d.Path, "replace")
	}
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

// askAddDisk wants a folder on a new disk.
func askAddDisk(ctx context.Context, v *visit) (*form, error) {
	f, err := askDisks("web.disk-add-help", false)(ctx, v)
	if err == nil {
		f.add(field{Name: "path", Label: "web.path", Need: true, Most: 1000})
	}
	return f, err
}

func addDisk(ctx context.Context, v *visit, f *form) (outcome, error) {
	if node := f.field("node"); node.Value != node.Present {
		return outcome{}, &formError{"", "web.other-node", ""}
	}
	path := f.text("path")
	now, err := v.api.Disks().Wish(ctx, wire.DiskWish{Wish: "add", Path: path})
	return newDisk(now, "", path), err
}

// askReplaceDisk wants a folder on the new disk, and the path of the old one typed.
func askReplaceDisk(ctx context.Context, v *visit) (*form, error) {
	f, err := askDisks("web.disk-replace-help", true)(ctx, v)
	if err != nil {
		return nil, err
	}
	f.Grave, f.Confirm = true, v.given["path"]
	return f.add(field{Name: "shown", Kind: hidden}, field{Name: "by", Label: "web.disk-by", Need: true, Most: 1000,
		Help: "web.disk-by-help"}), nil
}

// replaceDisk gives a disk up, after the archive has said what that does.
func replaceDisk(ctx context.Context, v *visit, f *form) (outcome, error) {
	if node := f.field("node"); node.Value != node.Present {
		return outcome{}, &formError{"", "web.other-node", ""}
	}
	old, path := v.given["path"], f.text("by")
	wish := wire.DiskWish{Wish: "replace", Path: old, By: path}
	wish.Confirm = f.text("shown")
	now, err := v.api.Disks().Wish(ctx, wish)
	f.again(err)
	return newDisk(now, old, path), err
}

// newDisk says what makes the node use a new disk, in place of an old one or beside all.
func newDisk(now wire.Disks, old, path string) outcome {
	out := outcome{Next: "/disks", Notes: []said{{"web.did-new-disk", []any{"path", path}}}}
	if old == path {
		out.Notes[0].Key = "web.did-same-disk"
		return out
	}
	var files []string
	for _, d := range now.Disks {
		if d.Path != old && d.Path != path {
			files = append(files, strconv.Quote(d.Path))
		}
	}
	out.Lines = []string{"files = [" + strings.Join(slices.Concat(files, []string{strconv.Quote(path)}), ", ") + "]"}
	return out
}
