package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"holdfast/catalog"
)

// OpenRange returns length bytes of the file from offset (to the end when length is negative), from the copy
// here or else from the nearest good one. Errors are ErrUnknown, ErrRange, or those of the last node asked. A whole file
// is verified on the way: ErrDamaged instead of the last bytes says that this copy is not the file; its node has been
// made to read it again then, so that the next reader is given another.
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
	in, from, err := r.openAny(ctx, f, offset, length)
	if err != nil || length != f.Size || length == 0 {
		return in, err
	}
	return &verified{ReadCloser: in, want: heldAs(f), sum: sha256.New(), damaged: func() { r.blame(ctx, from, heldAs(f)) }}, nil
}

// openAny opens the copy here, or else the nearest good one, and tells whose it is.
func (r *Replica) openAny(ctx context.Context, f catalog.File, offset, length int64) (io.ReadCloser, catalog.NodeID, error) {
	in, err := r.openHere(f, offset, length)
	if err == nil {
		return in, r.cfg.Self, nil
	}
	if !errors.Is(err, ErrNotHere) {
		r.log.Error("the copy here cannot be read; another is", "file", f.Name, "err", err)
	}
	return r.openThere(ctx, f, offset, length)
}

// verified reads a whole file and compares it with what it has to be. Of one that is not, the last bytes read are not
// given, and damaged is called.
type verified struct {
	io.ReadCloser
	want    Held
	sum     hash.Hash
	n       int64
	damaged func()
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	if v.n += int64(n); v.n < v.want.Size || n == 0 {
		return n, err
	}
	if got := catalog.Digest(v.sum.Sum(nil)); got != v.want.SHA256 || v.n > v.want.Size {
		v.damaged()
		return 0, fmt.Errorf("read %s: %w: SHA-256 %s", v.want.Name, ErrDamaged, got)
	}
	return n, err
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

func (r *Replica) openThere(ctx context.Context, f catalog.File, offset, length int64) (io.ReadCloser, catalog.NodeID, error) {
	from, err := r.peers.Sources(f)
	if err != nil {
		return nil, "", fmt.Errorf("open %s: %w", f.Name, err)
	}
	failed := fmt.Errorf("open %s: %w anywhere now", f.Name, ErrNotHere)
	ready, _ := r.sources.order(from)
	for _, nodes := range [][]catalog.NodeID{ready, from} { // those at rest are asked only when nobody else is left
		for _, n := range nodes {
			in, err := r.peers.Read(ctx, n, f.Name, offset, length)
			if err == nil {
				return in, n, nil
			}
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			}
			failed = fmt.Errorf("open %s at %s: %w", f.Name, n, err)
		}
	}
	return nil, "", failed
}
