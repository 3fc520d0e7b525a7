package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"holdfast/catalog"
)

// OpenRange returns length bytes of the file from offset (to the end when length is negative), from the copy
// here or else from the nearest good one. Errors are ErrUnknown, ErrRange, or those of the last node asked.
func (r *Replica) OpenRange(ctx context.Context, name catalog.FileName, offset, length int64) (io.ReadCloser, error) {
	f, err := r.entry(name)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && f.Removed != 0 {
		return nil, fmt.Errorf("open %s: %w", name, ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = f.Size - offset
	}
	if offset < 0 || length < 0 || length > f.Size-offset {
		return nil, fmt.Errorf("open %s: %w: %d bytes from %d of %d", name, ErrRange, length, offset, f.Size)
	}
	in, err := r.openHere(f, offset, length)
	if err == nil {
		return in, nil
	}
	if !errors.Is(err, ErrNotHere) {
		r.log.Error("the copy here cannot be read; another is", "file", name, "err", err)
	}
	return r.openThere(ctx, f, offset, length)
}

// openHere opens the copy of this node, unless it is not to be trusted.
func (r *Replica) openHere(f catalog.File, offset, length int64) (io.ReadCloser, error) {
	if c := f.Copy(r.cfg.Replica); c != nil && c.Disputed {
		return nil, ErrNotHere
	}
	b, err := r.store.Open(f.Name)
	if err != nil {
		return nil, err
	}
	if b.Size != f.Size {
		b.Close()
		return nil, ErrNotHere
	}
	part, err := b.part(offset, length)
	if err != nil {
		b.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{part, b}, nil
}

func (r *Replica) openThere(ctx context.Context, f catalog.File, offset, length int64) (io.ReadCloser, error) {
	from, err := r.peers.Sources(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name, err)
	}
	failed := fmt.Errorf("open %s: %w anywhere now", f.Name, ErrNotHere)
	ready, _ := r.sources.order(from)
	for _, nodes := range [][]catalog.NodeID{ready, from} { // those at rest are asked only when nobody else is left
		for _, n := range nodes {
			in, err := r.peers.Read(ctx, n, f.Name, offset, length)
			if err == nil {
				return in, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			failed = fmt.Errorf("open %s at %s: %w", f.Name, n, err)
		}
	}
	return nil, failed
}

// Get writes length bytes of the file from offset to w, as OpenRange does. A whole file is verified on the way:
// ErrDamaged after the last byte means that what was written is not the file.
func (r *Replica) Get(ctx context.Context, name catalog.FileName, offset, length int64, w io.Writer) error {
	in, err := r.OpenRange(ctx, name, offset, length)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := r.entry(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	counted := &counter{w: w}
	if err := r.store.pump(ctx, pipe{in: in, out: counted, sum: sum}); err != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	want := length
	if length < 0 {
		want = f.Size - offset
	}
	if counted.n != want {
		return fmt.Errorf("get %s: %w after %d of %d bytes", name, io.ErrUnexpectedEOF, counted.n, want)
	}
	if want == f.Size && catalog.Digest(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("get %s: %w", name, ErrDamaged)
	}
	return nil
}

// counter counts what is written through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
