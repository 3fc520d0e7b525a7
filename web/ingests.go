package web

import (
	"context"
	"errors"
	"strings"

	"holdfast/api/wire"
)

func showIngests(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "ingest")
	out := &listed[wire.Ingest]{}
	v.ask(ctx, "web.ingests", soon, func(ctx context.Context) error {
		all, err := v.api.Ingests().List(ctx)
		return out.set(wire.Page[wire.Ingest]{Items: all}, err)
	})
	v.wait()
	for _, one := range out.Items {
		v.live = v.live || one.State == wire.IngestRunning
	}
	return out, nil
}

// ingestPage is what the page of a list of domains shows that is brought in.
type ingestPage struct {
	Ingest *wire.Ingest         `json:"ingest"`
	Bad    listed[wire.BadLine] `json:"bad"`
}

func (p *ingestPage) lines() (items any, next string, read bool) { return p.Bad.lines() }

func showIngest(ctx context.Context, v *visit) (any, error) {
	id := v.given["id"]
	v.about = id
	p := &ingestPage{}
	var missing error
	v.ask(ctx, "web.ingest", soon, func(ctx context.Context) error {
		found, err := v.api.Ingests().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Ingest = &found
		}
		return err
	})
	v.ask(ctx, "web.bad-lines", soon, func(ctx context.Context) error {
		return here(p.Bad.set(v.api.Ingests().BadPage(ctx, id, v.at())))
	})
	v.wait()
	if v.live = p.Ingest == nil || p.Ingest.State == wire.IngestRunning; p.Ingest != nil && v.live {
		v.offer("ingests", id, "stop")
	}
	return p, missing
}

// IngestState marks how far a list of domains is brought in.
func (l terms) IngestState(i wire.Ingest) mark {
	switch i.State {
	case wire.IngestRunning:
		return mark{"work", l.Text("web.ingest-running")}
	case wire.IngestStopped:
		return mark{"look", l.Text("web.ingest-stopped")}
	case wire.IngestFailed:
		return mark{"bad", l.Text("web.ingest-failed")}
	case wire.IngestDone:
		if i.Bad > 0 {
			return mark{"look", l.Text("web.ingest-done-bad")}
		}
		return mark{"good", l.Text("web.ingest-done")}
	}
	return mark{"quiet", string(i.State)}
}

func askIngest(ctx context.Context, v *visit) (*form, error) {
	collections, err := collectionsOf(ctx, v)
	f := &form{Help: "web.ingest-help"}
	return f.add(field{Name: "domains", Label: "web.domains", Kind: code, Need: true, Help: "web.ingest-list-help"},
		field{Name: "collection", Label: "web.collection", Kind: choose, Help: "web.ingest-collection-help",
			Options: namedOptions("web.first-collection", collections)}), err
}

func beginIngest(ctx context.Context, v *visit, f *form) (outcome, error) {
	begun, err := v.api.Ingests().Begin(ctx, f.text("collection"), strings.NewReader(f.whole("domains")))
	return outcome{Next: way("ingests", begun.ID), Notes: []said{{Key: "web.did-ingest"}}}, err
}

func askStopIngest(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["id"]
	i, err := v.api.Ingests().Show(ctx, v.given["id"])
	f := &form{Help: "web.ingest-stop-help", Effects: []said{{"web.effect-ingest-made", []any{"count", i.Made}},
		{"web.effect-ingest-left", []any{"size", size(i.Size - i.Read), "all", size(i.Size)}}}}
	return f.add(reason(false)), err
}

func stopIngest(ctx context.Context, v *visit, f *form) (outcome, error) {
	i, err := v.api.Ingests().Stop(ctx, v.given["id"], f.text("reason"))
	out := outcome{Next: way("ingests", v.given["id"])}
	if i.State == wire.IngestDone { // it had come to its end before
		out.Notes = []said{{Key: "web.ingest-was-done"}}
	}
	return out, err
}
