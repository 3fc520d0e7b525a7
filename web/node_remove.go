package web

import (
	"context"
	"errors"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// How long the files that only one node has may be counted: for a page, and for a form. Every entry of the node's
// shards is read.
const (
	soleTime     = 14 * time.Second
	soleFormTime = time.Minute
	soleNamed    = 5 // of them that a form names
)

// solePage is what the page of the files shows that only one node has.
type solePage struct{ listed[wire.File] }

func showSole(ctx context.Context, v *visit) (any, error) {
	name := v.given["name"]
	v.about = name
	p := &solePage{}
	var missing error
	v.ask(ctx, "web.sole-files", soleTime, func(ctx context.Context) error {
		err := p.set(v.api.Nodes().SoleFilesPage(ctx, name, v.at()))
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		}
		return err
	})
	v.wait()
	v.offer("nodes", name, "remove-lost")
	return p, missing
}

// SoleCommand is how the files are listed when counting them takes longer than a page may.
func (v *view) SoleCommand() string { return soleCommand(v.About) }

func soleCommand(node string) string { return "holdfast node remove " + node + " --list" }

func askRemoveNode(ctx context.Context, v *visit) (*form, error) {
	n, err := askOfNode(ctx, v)
	f := &form{Help: "web.node-remove-help", Confirm: n.Name, Grave: true,
		Effects: []said{{"web.effect-weight", []any{"count", n.Shards, "replica", n.Replica}}}}
	return f.add(field{Name: "shown", Kind: hidden}, reason(true), stage()), err
}

// removeNode removes a node that holds nothing any more, after the archive has said what that does.
func removeNode(ctx context.Context, v *visit, f *form) (outcome, error) {
	removal := wire.Removal{Reason: f.text("reason")}
	removal.Confirm = f.text("shown")
	done := outcome{Next: "/nodes", Notes: []said{{"web.did-remove-node", []any{"node", v.given["name"]}}}}
	return stageOr(f, done, func() error {
		err := v.api.Nodes().Remove(ctx, v.given["name"], removal)
		f.again(err)
		return err
	}, func() (wire.LayoutChange, error) {
		return v.api.Nodes().StageRemoval(ctx, v.given["name"], removal.Reason)
	})
}

// askRemoveLost says which files are lost with a node, and wants their number typed. A form that is sent is not counted
// for: the archive counts, and refuses another number.
func askRemoveLost(ctx context.Context, v *visit) (*form, error) {
	n, err := askOfNode(ctx, v)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.node-lost-help", Confirm: n.Name, Grave: true}
	if n.Presence.State == "alive" {
		f.Effects = append(f.Effects, said{Key: "web.effect-node-alive"})
	}
	f.Effects = append(f.Effects, said{"web.effect-weight", []any{"count", n.Shards, "replica", n.Replica}})
	if !v.query.Has("key") {
		effects, err := effectsOfSole(ctx, v, n)
		if err != nil {
			return nil, err
		}
		f.Effects = append(f.Effects, effects...)
	}
	return f.add(field{Name: "shown", Kind: hidden}, field{Name: "files", Label: "web.sole-count", Kind: number,
		Need: true, Help: "web.sole-count-help"}, reason(true)), nil
}

// effectsOfSole count the files that are lost with the node, and name the first. That they were not counted in time is
// said, and none is called safe for it.
func effectsOfSole(ctx context.Context, v *visit, n wire.Node) ([]said, error) {
	ctx, cancel := context.WithTimeout(ctx, soleFormTime)
	defer cancel()
	found, err := v.api.Nodes().SoleFilesPage(ctx, v.given["name"], client.Place{Limit: soleNamed})
	var answered *wire.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &answered) && answered.Code == wire.CodeTimeout
	if late || err == nil && found.Total == nil {
		return []said{{"web.effect-sole-unknown", []any{"command", soleCommand(n.Name)}}}, nil
	}
	if err != nil {
		return nil, err
	}
	out := []said{{"web.effect-sole", []any{"count", *found.Total}}}
	for i := range found.Items {
		out = append(out, said{"web.effect-sole-file", []any{"file", found.Items[i].Name}})
	}
	return out, nil
}

// removeLost removes a node whose bytes are gone. The number of files that are lost with it is what was typed.
func removeLost(ctx context.Context, v *visit, f *form) (outcome, error) {
	removal := wire.Removal{Lost: true, Reason: f.text("reason")}
	removal.Confirm = f.text("shown")
	if n := f.number("files"); n != nil {
		removal.Files = *n
	}
	err := v.api.Nodes().Remove(ctx, v.given["name"], removal)
	f.again(err)
	return outcome{Next: "/nodes", Notes: []said{{"web.did-remove-node", []any{"node", v.given["name"]}}}}, err
}
