package web

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
)

// layoutPage is what the page of the staged layout shows.
type layoutPage struct {
	Layout *wire.Layout `json:"layout"` // nil: not known
}

func (p *layoutPage) lines() (items any, next string, read bool) {
	if p.Layout == nil {
		return []wire.LayoutChange{}, "", false
	}
	return p.Layout.Changes, "", true
}

func showLayout(ctx context.Context, v *visit) (any, error) {
	p := &layoutPage{}
	v.ask(ctx, "web.layout", later, func(ctx context.Context) error {
		found, err := v.api.Replicas().Layout().Show(ctx)
		if err == nil {
			p.Layout = &found
		}
		return err
	})
	v.wait()
	if p.Layout == nil {
		return p, nil
	}
	if len(p.Layout.Changes) > 0 {
		v.offer("layout", "apply")
		v.offer("layout", "revert")
		for _, c := range p.Layout.Changes {
			v.offer("layout", "changes", c.ID, "revert")
		}
	}
	v.offer("layout", "setting")
	return p, nil
}

// Step says what a staged change does.
func (v *view) Step(c wire.LayoutChange) said { return stepOf(c) }

func stepOf(c wire.LayoutChange) said {
	node := []any{"node", called(c.NodeName, c.Node)}
	switch c.Step {
	case "drain":
		return said{"web.step-drain", node}
	case "undrain":
		if c.Joined {
			return said{"web.step-joined", node}
		}
		return said{"web.step-undrain", node}
	case "weight":
		return said{"web.step-weight", append(node, "weight", plain(c.Weight))}
	case "remove":
		return said{"web.step-remove", node}
	case "collections":
		if len(c.Collections) == 0 {
			return said{"web.step-all", []any{"replica", c.Replica}}
		}
		return said{"web.step-collections", []any{"replica", c.Replica, "names", strings.Join(c.Collections, ", ")}}
	}
	return said{"web.step-other", []any{"step", c.Step}}
}

// Takes is how long a link of the plan takes at least; empty: not known.
func (v *view) Takes(k wire.LayoutLink) string {
	if k.Bytes == 0 || k.Seconds == 0 {
		return ""
	}
	return (time.Duration(k.Seconds) * time.Second).String()
}

// Consequences are what would follow from an apply, beside what is copied. That files keep their copies is only said if
// all files were looked at.
func (p *layoutPage) Consequences() []said { return consequences(p.Layout.Plan) }

func consequences(p *wire.LayoutPlan) (out []said) {
	if p == nil {
		return nil
	}
	for _, r := range p.Refused {
		out = append(out, said{"web.layout-refused", []any{"change", plain(r.Change), "reason", r.Why}})
	}
	for _, s := range p.Short {
		key := "web.layout-short"
		if p.Partly {
			key = "web.layout-short-least"
		}
		out = append(out, said{key, []any{"replica", s.Replica, "files", plain(s.Fewer), "place", plain(s.OnePlace),
			"none", plain(s.None)}})
	}
	switch {
	case p.Partly:
		out = append(out, said{Key: "web.layout-partly"})
	case len(p.Short) == 0:
		out = append(out, said{Key: "web.layout-not-short"})
	}
	for _, n := range p.Full {
		out = append(out, said{"web.layout-full", []any{"node", n.NodeName, "size", size(n.Bytes),
			"room", size(n.Free)}})
	}
	for _, n := range p.Stuck {
		out = append(out, said{"web.layout-stuck", []any{"node", n.NodeName, "shards", plain(n.Shards)}})
	}
	for _, name := range p.Unsettled {
		out = append(out, said{"web.layout-unsettled", []any{"replica", name}})
	}
	for _, text := range p.Effects {
		out = append(out, said{"web.layout-effect", []any{"effect", text}})
	}
	return out
}

// askOfLayout reads what is staged, and makes a form of its version: what was staged since it was shown is not applied
// or discarded by it.
func askOfLayout(ctx context.Context, v *visit, help string) (*form, wire.Layout, error) {
	l, err := v.api.Replicas().Layout().Show(ctx)
	if err == nil && len(l.Changes) == 0 {
		err = wire.ErrNotFound
	}
	f := &form{Help: help, Effects: []said{{"web.effect-layout", []any{"changes", plain(len(l.Changes))}}}}
	return f.add(field{Name: "version", Kind: hidden, Value: plain(l.Version)}, reason(false)), l, err
}

// shownVersion is the version of what was shown with the form that was sent. Without one, nobody knows what was shown.
func shownVersion(v *visit, f *form) (uint64, error) {
	n := f.version()
	if n == nil || *n == 0 || !v.query.Has("version") {
		return 0, &formError{"", "web.form-again", ""}
	}
	return *n, nil
}

func askApply(ctx context.Context, v *visit) (*form, error) {
	f, l, err := askOfLayout(ctx, v, "web.apply-help")
	if err != nil {
		return nil, err
	}
	st, err := v.api.Status(ctx)
	if err != nil {
		return nil, err
	}
	f.Confirm, f.Grave = st.Cluster.Name, true
	if l.Plan == nil {
		return f, nil
	}
	var files, bytes int64
	for _, k := range l.Plan.Links {
		files, bytes = files+k.Files, bytes+k.Bytes
	}
	f.Effects = append(f.Effects, said{"web.effect-layout-copies", []any{"files", plain(files), "size", size(bytes)}})
	f.Effects = append(f.Effects, consequences(l.Plan)...)
	return f, nil
}

func applyLayout(ctx context.Context, v *visit, f *form) (outcome, error) {
	version, err := shownVersion(v, f)
	if err == nil {
		_, err = v.api.Replicas().Layout().Apply(ctx, wire.LayoutApply{Version: version, Reason: f.text("reason")})
	}
	return outcome{Next: "/layout", Notes: []said{{Key: "web.did-apply"}}}, err
}

func askRevert(ctx context.Context, v *visit) (*form, error) {
	f, _, err := askOfLayout(ctx, v, "web.revert-help")
	return f, err
}

func revertLayout(ctx context.Context, v *visit, f *form) (outcome, error) {
	version, err := shownVersion(v, f)
	if err == nil {
		_, err = v.api.Replicas().Layout().Revert(ctx, wire.LayoutRevert{Version: version, Reason: f.text("reason")})
	}
	return outcome{Next: "/layout", Notes: []said{{Key: "web.did-revert"}}}, err
}

// askRevertOne is about one change, whatever else is staged.
func askRevertOne(ctx context.Context, v *visit) (*form, error) {
	id, err := v.id("id")
	if err != nil {
		return nil, err
	}
	v.about = plain(id)
	l, err := v.api.Replicas().Layout().Show(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range l.Changes {
		if c.ID == id {
			f := &form{Help: "web.revert-help", Effects: []said{stepOf(c)}}
			return f.add(reason(false)), nil
		}
	}
	return nil, wire.ErrNotFound
}

func revertOne(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("id")
	if err == nil {
		_, err = v.api.Replicas().Layout().Revert(ctx, wire.LayoutRevert{Change: id, Reason: f.text("reason")})
	}
	return outcome{Next: "/layout", Notes: []said{{Key: "web.did-revert"}}}, err
}

func askStaging(ctx context.Context, v *visit) (*form, error) {
	l, err := v.api.Replicas().Layout().Show(ctx)
	f := &form{Help: "web.layout-setting-help", Send: "web.save"}
	return f.add(field{Name: "always", Label: "web.stage-always", Kind: check, Value: ticked(l.Always)},
		reason(false)), err
}

func setStaging(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Replicas().Layout().Set(ctx, wire.LayoutSetting{Always: f.ticked("always"),
		Reason: f.text("reason")})
	return outcome{Next: "/layout"}, err
}

// stage is the field by which a change of a node waits for the next apply of the layout.
func stage() field {
	return field{Name: "stage", Label: "web.only-stage", Kind: check, Help: "web.only-stage-help"}
}

// stageOr makes a change, or stages it: if that is wanted, or if the cluster makes no such changes at once.
func stageOr(f *form, done outcome, now func() error, later func() (wire.LayoutChange, error)) (outcome, error) {
	if !f.ticked("stage") {
		err := now()
		var answered *wire.Error
		if !errors.As(err, &answered) || answered.Code != wire.CodeOnlyStaged {
			return done, err
		}
	}
	c, err := later()
	return outcome{Next: "/layout", Notes: []said{{"web.did-stage",
		[]any{"change", strconv.FormatUint(c.ID, 10)}}}}, err
}
