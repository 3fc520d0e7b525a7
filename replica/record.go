package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
)

// checksumTime is how long a node may take to read that many bytes at rest.
func checksumTime(size int64) time.Duration {
	return time.Minute + time.Duration(size>>20)*200*time.Millisecond
}

// record asks a node that has the bytes to read them at rest, and records the result if it matches the catalog.
func (r *puller) record(ctx context.Context, t task) error {
	want := heldAs(t.file)
	failed := ErrNotHere
	for _, from := range t.sources {
		t.from.Store(&from)
		got, err := r.checksumFrom(ctx, from, want)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrBusy):
			r.sources.busy(from)
		case err == nil && got == want:
			r.sources.good(from)
			t.done.Store(want.Size)
			return r.sums.Record(want)
		case err == nil:
			// The node compares with the catalog itself and reports its copy; ask another.
			err = fmt.Errorf("%w: %d bytes with SHA-256 %s", ErrDamaged, got.Size, got.SHA256)
			r.sources.failed(from)
		case !errors.Is(err, ErrNotHere):
			r.sources.failed(from)
		}
		failed = worse(failed, fmt.Errorf("checksum of %s from %s: %w", want.Name, from, err))
	}
	return failed
}

func (r *puller) checksumFrom(ctx context.Context, from catalog.NodeID, want Held) (Held, error) {
	ctx, cancel := context.WithTimeout(ctx, checksumTime(want.Size))
	defer cancel()
	if from == r.cfg.Self {
		return r.own(ctx, from, want.Name)
	}
	return r.peers.Checksum(ctx, from, want.Name)
}
