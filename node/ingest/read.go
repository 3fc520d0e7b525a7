package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/harvest/domain"
)

// How much one command brings in.
const (
	chunkNames = 500
	chunkBad   = 200
)

// errMoved reports that the ingest is elsewhere than this node thinks, so that it is looked at again.
var errMoved = errors.New("the ingest has moved on")

// read brings in the list of an ingest, to its end or until ctx ends.
func (r *Runner) read(ctx context.Context, id string) {
	log := r.cfg.Log.With("ingest", id)
	for ctx.Err() == nil {
		i, err := r.find(ctx, id)
		if errors.Is(err, catalog.ErrNotFound) {
			return
		}
		if err == nil && i.State != domains.IngestRunning {
			log.Info("list of domains ended", "state", i.State, "lines", i.Line, "made", i.Made, "bad", i.Bad)
			if err := r.cfg.Disk.Remove(r.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
				log.Warn("list of domains not removed", "error", err)
			}
			return
		}
		if err == nil {
			err = r.bring(ctx, &i)
		}
		if err == nil || errors.Is(err, errMoved) {
			continue
		}
		log.Warn("list of domains waits", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(r.cfg.Pause):
		}
	}
}

// find returns the ingest as it is agreed.
func (r *Runner) find(ctx context.Context, id string) (i domains.Ingest, err error) {
	if err := r.cfg.Agree.Linear(ctx); err != nil {
		return i, err
	}
	err = r.cfg.Agree.View(func(v catalog.View) (err error) { i, err = catalog.DomainsIn(v).Ingest(id); return err })
	return i, err
}

// bring reads the list from where the ingest is. A list that cannot be read ends it.
func (r *Runner) bring(ctx context.Context, i *domains.Ingest) error {
	f, err := os.Open(r.path(i.ID))
	if err != nil {
		return r.fail(ctx, i, fmt.Errorf("the list cannot be read on its node: %w", err))
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil || catalog.Digest(sum.Sum(nil)) != i.SHA256 {
		return r.fail(ctx, i, errors.Join(errors.New("the list on its node is not the one that was uploaded"), err))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return r.fail(ctx, i, err)
	}
	lines := domain.NewLines(f)
	for {
		chunk, last, err := next(lines, i)
		if err != nil {
			return r.fail(ctx, i, err)
		}
		if len(chunk.Names)+len(chunk.Bad) > 0 {
			if err := r.decide(ctx, domains.AddIngested, chunk, i); err != nil || i.State != domains.IngestRunning {
				return err
			}
		}
		if last {
			return r.decide(ctx, domains.EndIngest,
				domains.IngestEnding{ID: i.ID, Node: r.cfg.Self, Seq: i.Seq}, i)
		}
	}
}

// next reads the next lines behind those that were read, and reports whether the list ends with them.
func next(lines *domain.Lines, i *domains.Ingest) (chunk domains.IngestChunk, last bool, err error) {
	chunk = domains.IngestChunk{ID: i.ID, Node: i.Node, Seq: i.Seq + 1, Line: i.Line, At: i.At}
	for len(chunk.Names) < chunkNames && len(chunk.Bad) < chunkBad {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return chunk, true, nil
		}
		if err != nil {
			return chunk, false, err
		}
		if line.Number <= i.Line {
			continue
		}
		chunk.Line, chunk.At = line.Number, line.End
		name, bad := "", line.Bad
		if bad == nil {
			name, bad = domain.Parse(line.Text)
		}
		if bad != nil {
			chunk.Bad = append(chunk.Bad, domains.BadLine{Line: line.Number, Reason: bad.Error()})
		} else {
			chunk.Names = append(chunk.Names, domains.Name(name))
		}
	}
	return chunk, false, nil
}

// fail ends an ingest that cannot go on.
func (r *Runner) fail(ctx context.Context, i *domains.Ingest, why error) error {
	r.cfg.Log.Error("list of domains cannot be read", "ingest", i.ID, "error", why)
	return r.decide(ctx, domains.EndIngest, domains.IngestEnding{ID: i.ID, Node: r.cfg.Self, Seq: i.Seq, Failed: true,
		Reason: why.Error()}, i)
}

// decide proposes, and reads the ingest as it is then. A refusal that does not come of another state than this node
// knew ends the ingest.
func (r *Runner) decide(ctx context.Context, kind catalog.Kind, body any, i *domains.Ingest) error {
	result, err := r.cfg.Agree.Propose(ctx, kind, body, string(r.cfg.Self))
	if err != nil {
		return err
	}
	switch refusal := result.Refusal; {
	case refusal == nil:
		return json.Unmarshal(result.Value, i)
	case refusal.Code == catalog.Conflict || refusal.Code == catalog.OutcomeUnknown || kind == domains.EndIngest:
		return errMoved
	default:
		return r.fail(ctx, i, refusal)
	}
}
