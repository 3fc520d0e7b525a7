package web

import (
	"context"
	"errors"
	"strings"

	"holdfast/api/wire"
)

func showBatches(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "batch")
	v.live = v.query.Get("after") == ""
	out := &listed[wire.Batch]{}
	v.ask(ctx, "web.batches", soon, func(ctx context.Context) error {
		return out.set(v.api.Batches().Page(ctx, "", v.at()))
	})
	v.wait()
	return out, nil
}

// showBatch shows a batch. What is not known of it is said, and nothing is shown in its place.
func showBatch(ctx context.Context, v *visit) (any, error) {
	id := v.given["id"]
	v.about = id
	var out *wire.Batch
	var missing error
	v.ask(ctx, "web.batch", soon, func(ctx context.Context) error {
		found, err := v.api.Batches().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			out = &found
		}
		return err
	})
	v.wait()
	if v.live = out == nil || !out.State.Ended(); out != nil && v.live {
		if out.State == wire.BatchRunning {
			v.offer("batches", id, "pause")
		}
		if out.State == wire.BatchPaused {
			v.offer("batches", id, "resume")
		}
		v.offer("batches", id, "stop")
	}
	return out, missing
}

// BatchState marks how far a batch is. Only one in whose result every selected file is, is good.
func (l terms) BatchState(b wire.Batch) mark {
	switch b.State {
	case wire.BatchOpening, wire.BatchRunning:
		return mark{"work", l.Text("web.batch-running")}
	case wire.BatchPaused:
		return mark{"look", l.Text("web.batch-paused")}
	case wire.BatchStopped:
		return mark{"look", l.Text("web.batch-stopped")}
	case wire.BatchIncomplete:
		return mark{"bad", l.Text("web.batch-incomplete")}
	case wire.BatchDone:
		return mark{"good", l.Text("web.batch-done")}
	}
	return mark{"quiet", string(b.State)}
}

func askBatch(ctx context.Context, v *visit) (*form, error) {
	programs, err := v.api.Batches().Programs(ctx)
	if err != nil {
		return nil, err
	}
	collections, err := collectionsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	replicas, err := v.api.Replicas().List(ctx)
	var names []option
	for _, p := range programs {
		names = append(names, option{Value: p.Name})
	}
	f := &form{Help: "web.batch-help"}
	return f.add(field{Name: "program", Label: "web.program", Kind: choose, Options: names, Need: true},
		field{Name: "parameters", Label: "web.batch-parameters", Kind: area, Help: "web.batch-parameters-help"},
		field{Name: "collection", Label: "web.collection", Kind: choose, Wire: "collections",
			Options: namedOptions("web.all-collections", collections)},
		field{Name: "replica", Label: "web.replica", Kind: choose, Options: namedOptions("web.all-replicas",
			namesOf(replicas, func(r wire.Replica) string { return r.Name }))},
		field{Name: "files", Label: "web.batch-expression", Kind: code, Help: "web.batch-expression-help"},
		field{Name: "job", Label: "web.job", Kind: number},
		field{Name: "names", Label: "web.batch-names", Kind: code, Help: "web.batch-names-help"}), err
}

func runBatch(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.BatchRequest{Program: f.text("program"), Replica: f.text("replica"), Files: f.text("files"),
		Names: f.lines("names")}
	if one := f.text("collection"); one != "" {
		in.Collections = []string{one}
	}
	if job := f.number("job"); job != nil {
		in.Job = uint64(max(0, *job))
	}
	for _, line := range f.lines("parameters") {
		name, value, _ := strings.Cut(line, "=")
		if in.Parameters == nil {
			in.Parameters = map[string]string{}
		}
		in.Parameters[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	begun, err := v.api.Batches().Run(ctx, in)
	return outcome{Next: way("batches", begun.ID), Notes: []said{{Key: "web.did-batch"}}}, err
}

func askOfBatch(help string) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		v.about = v.given["id"]
		b, err := v.api.Batches().Show(ctx, v.given["id"])
		f := &form{Help: help}
		if p := b.Progress; p != nil {
			f.Effects = []said{{"web.effect-batch", []any{"count", p.Files, "all", p.Selected}}}
		}
		return f.add(reason(false)), err
	}
}

func wishBatch(wish wire.Wish) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		_, err := v.api.Batches().Wish(ctx, v.given["id"], wish, f.text("reason"))
		return outcome{Next: way("batches", v.given["id"])}, err
	}
}
