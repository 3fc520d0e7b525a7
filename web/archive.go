package web

import (
	"context"
	"errors"
	"slices"

	"holdfast/api/wire"
	"holdfast/client"
)

func showFiles(ctx context.Context, v *visit) (any, error) {
	out := &listed[wire.File]{}
	job, ok := v.number("job", "web.files")
	if !ok {
		return out, nil
	}
	q := client.FileQuery{Prefix: v.query.Get("prefix"), Collection: v.query.Get("collection"), Job: job,
		State: v.query.Get("state"), Replica: v.query.Get("replica")}
	v.ask(ctx, "web.files", soon, func(ctx context.Context) error {
		return out.set(v.api.Files().Page(ctx, q, v.at()))
	})
	v.wait()
	return out, nil
}

func showFile(ctx context.Context, v *visit) (any, error) {
	v.about = v.given["name"]
	var out *wire.File
	var missing error
	v.ask(ctx, "web.file", soon, func(ctx context.Context) error {
		f, err := v.api.Files().Show(ctx, v.given["name"])
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			out = &f
		}
		return err
	})
	v.wait()
	if out != nil && !out.Until.IsZero() {
		v.offer("files", v.given["name"], "restore")
	}
	if out != nil && out.Removed.IsZero() {
		v.offer("files", v.given["name"], "verify")
		if out.Lost.IsZero() {
			v.offer("files", v.given["name"], "lost")
		} else {
			v.offer("files", v.given["name"], "found")
		}
		v.offer("files", v.given["name"], "remove")
		if slices.ContainsFunc(out.Copies, func(c wire.Copy) bool { return c.Found != "" }) {
			v.offer("files", v.given["name"], "replace")
			v.offer("files", v.given["name"], "checksum")
		}
		if len(out.Copies) > 0 {
			v.offer("files", v.given["name"], "state")
		}
	}
	return out, missing
}

// showReplicas shows what is known of the replicas, which the state of the cluster has.
func showReplicas(_ context.Context, v *visit) (any, error) {
	v.offer("new", "replica")
	if st := v.known(); st != nil {
		return st.Replicas, nil
	}
	return []wire.Replica{}, nil
}

func showCopies(ctx context.Context, v *visit) (any, error) {
	out := &listed[wire.FileCopy]{}
	state := v.query.Get("state")
	if !slices.Contains(copyStates(), state) {
		state = copyStates()[0]
	}
	v.ask(ctx, "web.copies", soon, func(ctx context.Context) error {
		return out.set(v.api.Files().CopiesPage(ctx, state, v.query.Get("replica"), v.at()))
	})
	v.wait()
	return out, nil
}

func showAudits(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "audit")
	v.live = v.query.Get("after") == ""
	out := &listed[wire.Audit]{}
	v.ask(ctx, "web.audits", later, func(ctx context.Context) error {
		return out.set(v.api.Audits().Page(ctx, "", v.query.Get("replica"), v.at()))
	})
	v.wait()
	return out, nil
}

func showStrays(ctx context.Context, v *visit) (any, error) {
	var out []wire.NodeStrays
	v.ask(ctx, "web.strays", later, func(ctx context.Context) (err error) {
		out, err = v.api.Files().Strays(ctx)
		return err
	})
	v.wait()
	return out, nil
}

func showTrail(ctx context.Context, v *visit) (any, error) {
	out := &listed[wire.Event]{}
	q := client.EventQuery{Newest: true, Actor: v.query.Get("actor"), Act: v.query.Get("act"),
		Subject: v.query.Get("subject")}
	v.ask(ctx, "web.trail", soon, func(ctx context.Context) error {
		return out.set(v.api.Trail().Page(ctx, q, v.at()))
	})
	v.wait()
	return out, nil
}
