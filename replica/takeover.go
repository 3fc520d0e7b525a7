package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"holdfast/catalog"
)

// takeLevel is the level of a cluster in which a source that cannot give a file's bytes gives way to a node that can.
const takeLevel = 3

const (
	// askSource is how long a source has to give one byte.
	askSource = 10 * time.Second
	// silentFor is how long an unreachable node counts as unreachable for other files too, so that they do not all
	// wait for it in turn.
	silentFor = time.Minute
	// takePause is how long this node leaves a file alone of which it became the source: two that do not reach one
	// another must not take it from each other all the time.
	takePause = 10 * time.Minute
)

// takeover has this node become the source of files whose bytes it has, while the source that the catalog counts on
// cannot give its own. It is used by one goroutine.
type takeover struct {
	silent map[catalog.NodeID]silence
	took   map[catalog.FileName]time.Time
}

type silence struct {
	since time.Time
	why   error
}

func newTakeover() *takeover {
	return &takeover{silent: make(map[catalog.NodeID]silence), took: make(map[catalog.FileName]time.Time)}
}

// rests reports whether the file is left alone at the moment, and forgets pauses that are over.
func (t *takeover) rests(name catalog.FileName, now time.Time) bool {
	maps.DeleteFunc(t.took, func(_ catalog.FileName, at time.Time) bool { return now.Sub(at) >= takePause })
	_, rests := t.took[name]
	return rests
}

// takeSource asks the file's source for a byte. If it cannot give one, and the bytes in the outbox here are the
// file's, this node becomes the source in its place. The old source keeps its bytes, if it has any, until the file is
// complete. The caller locks the name; done means that the outbox no longer has the file.
func (r *entries) takeSource(ctx context.Context, f catalog.File) (done bool, err error) {
	level := 0
	err = r.catalog.View(func(v catalog.View) error {
		c, err := v.Cluster()
		level = c.Level
		return err
	})
	if err != nil || level < takeLevel || r.takeover.rests(f.Name, time.Now()) {
		return false, err
	}
	why := r.askSource(ctx, f)
	if why == nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	if set, err := r.setWrongAside(ctx, f); set || err != nil {
		return set, err
	}
	body := catalog.Takeovers{Node: r.cfg.Self, Files: []catalog.Takeover{{Name: f.Name, SHA256: f.SHA256,
		From: f.Source, Why: why.Error()}}}
	results, err := r.proposeItems(ctx, catalog.TakeSources, body, 1)
	if err != nil {
		return false, err
	}
	if refusal := results[0].Refusal; refusal != nil {
		r.log.Info("the file's source stays as it is", "file", f.Name, "err", refusal)
		return false, nil
	}
	r.takeover.took[f.Name] = time.Now()
	r.log.Warn("the file's source cannot give its bytes; this node is the source now", "file", f.Name, "source",
		f.Source, "err", why)
	return false, nil
}

// askSource returns why the source cannot give the file's bytes now, or nil when it can.
func (r *entries) askSource(ctx context.Context, f catalog.File) error {
	if s, silent := r.takeover.silent[f.Source]; silent && time.Since(s.since) < silentFor {
		return s.why
	}
	delete(r.takeover.silent, f.Source)
	ctx, cancel := context.WithTimeout(ctx, askSource)
	defer cancel()
	want := min(1, f.Size)
	in, err := r.peers.Read(ctx, f.Source, f.Name, 0, want)
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, in)
		_ = in.Close()
		if err == nil && n != want {
			err = fmt.Errorf("read %s at its source: %w", f.Name, io.ErrUnexpectedEOF)
		}
	}
	switch {
	case err == nil, errors.Is(err, ErrBusy):
		return nil
	case errors.Is(err, ErrNotHere), errors.Is(err, ErrDamaged), errors.Is(err, io.ErrUnexpectedEOF):
	default:
		r.takeover.silent[f.Source] = silence{time.Now(), err}
	}
	return err
}
