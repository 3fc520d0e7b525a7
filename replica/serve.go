package replica

import (
	"context"
	"errors"
	"fmt"
	"io"

	"holdfast/catalog"
)

// Serve writes the file's bytes from offset to the end to w, for the node from that makes a copy. It admits a
// few at a time and answers ErrBusy beyond, ErrNotHere without the bytes, ErrRange for an offset outside.
func (r *server) Serve(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64,
	w io.Writer) error {
	release, ok := r.bulk.take()
	if !ok {
		return ErrBusy
	}
	defer release()
	return r.serve(ctx, from, name, offset, w)
}

// ServeRange writes length bytes of the file from offset to w, for a reader who waits; it admits more of them
// than Serve does copies. Each block is verified before it is written: an error after the first byte means that no more
// of this copy is right.
func (r *server) ServeRange(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset, length int64,
	w io.Writer) error {
	release, ok := r.reads.take()
	if !ok {
		return ErrBusy
	}
	defer release()
	f, err := r.entry(name)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return ErrNotHere
	case err != nil:
		return err
	case offset < 0 || length < 0 || length > f.Size-offset:
		return fmt.Errorf("serve %s to %s: %w: %d bytes from %d of %d", name, from, ErrRange, length, offset, f.Size)
	}
	in, err := r.store.openSound(ctx, heldAs(f), offset, length, r.doubted(f), f.Size <= listAtOnce)
	if err == nil {
		defer in.Close()
		_, err = io.Copy(w, in)
	}
	switch {
	case err == nil || ctx.Err() != nil || in != nil && !in.broken:
	case errors.Is(err, errNoList):
		r.checks.owe(r.cfg.Self, heldAs(f), forList) // makes the list; another node is asked meanwhile
		return ErrBusy
	case !errors.Is(err, ErrNotHere):
		r.log.Error("the copy here cannot be read", "file", name, "err", err)
		r.checks.owe(r.cfg.Self, heldAs(f), forDamage)
	}
	if err != nil {
		return fmt.Errorf("serve %s to %s: %w", name, from, err)
	}
	return nil
}

// listAtOnce is up to which size a file's block digests are made while another node waits for an answer.
const listAtOnce = 64 << 20

// doubted reports whether the copy in the shard here is known to be wrong, or is thought to be until a verdict.
func (r *server) doubted(f catalog.File) bool {
	c := f.Copy(r.cfg.Replica)
	return c != nil && (c.Disputed || c.Checksum == catalog.ChecksumCorrupt)
}

// serve writes the file's bytes as they lie on the disk: a node that makes a copy verifies the whole. Bytes known to be
// wrong are not served.
func (r *server) serve(ctx context.Context, to catalog.NodeID, name catalog.FileName, offset int64, w io.Writer) error {
	f, err := r.entry(name)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	b, err := r.store.openKnown(name, r.doubted(f))
	if err != nil {
		return err
	}
	defer b.Close()
	part, err := b.part(offset, -1)
	if err != nil {
		return fmt.Errorf("serve %s to %s: %w", name, to, err)
	}
	block := r.store.blocks.Get().(*[]byte)
	defer r.store.blocks.Put(block)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := part.Read(*block)
		if n > 0 {
			if err := r.giving.wait(ctx, n); err != nil {
				return err
			}
			if _, err := w.Write((*block)[:n]); err != nil {
				return fmt.Errorf("serve %s to %s: %w", name, to, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve %s to %s: %w", name, to, err)
		}
	}
}

// part returns length bytes from offset, or all from there when length is negative.
func (b *Bytes) part(offset, length int64) (*io.SectionReader, error) {
	if offset < 0 || offset > b.Size || length > b.Size-offset {
		return nil, fmt.Errorf("%w: %d bytes from %d of %d", ErrRange, length, offset, b.Size)
	}
	if length < 0 {
		length = b.Size - offset
	}
	return io.NewSectionReader(b, offset, length), nil
}

// Checksum reads this node's bytes of the file at rest, for the node from, and returns their size and digest: those of
// its copy, or else those in its outbox, as whoever asks needs any that are right. Bytes that turn out wrong are
// reported to the catalog besides, and so is a copy that is gone. A few at a time, else ErrBusy.
func (r *server) Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error) {
	release, ok := r.hashes.take()
	if !ok {
		return Held{}, ErrBusy
	}
	defer release()
	h := Held{Name: name}
	path, inOutbox := r.store.outboxPath(name), !r.store.Has(name)
	if inOutbox {
		r.denyGone(ctx, name) // the bytes in the outbox are no word on the copy
		if checkName(name) != nil || !isFile(path) {
			return h, ErrNotHere
		}
	}
	f, good, err := r.mine(name)
	known := err == nil
	switch {
	case known && inOutbox:
		h.Size, h.SHA256, err = r.store.measure(ctx, path, heldAs(f), nil, true)
	case known:
		h.Size, h.SHA256, err = r.store.measurePlaced(ctx, heldAs(f), nil, true)
	case inOutbox:
		h.Size, h.SHA256, err = r.store.hashFile(ctx, path, nil)
	default:
		err = r.store.shards.inPlace(r.store.Path, name, func(path string) (err error) {
			h.Size, h.SHA256, err = r.store.hashFile(ctx, path, nil)
			return err
		})
	}
	if !inOutbox && (err != nil || known && h != heldAs(f)) {
		r.proved.drop(name) // a move here counts on it no more
	}
	if err != nil {
		switch {
		case inOutbox && errors.Is(err, errUnreadable):
			r.entries.denounceSoon(ctx, name)
		case r.store.lost(name, err):
			r.doubtful(ctx, corruptFinding(name, catalog.Digest{}))
		}
		return h, fmt.Errorf("checksum of %s for %s: %w", name, from, err)
	}
	switch {
	case !known || h == heldAs(f):
	case inOutbox:
		r.entries.denounceSoon(ctx, name)
	case good:
		r.doubtful(ctx, corruptFinding(name, h.SHA256))
	}
	return h, nil
}

// denyGone reports a copy that the catalog counts on here and that is not in its place, while its disk is there.
func (r *server) denyGone(ctx context.Context, name catalog.FileName) {
	if r.sums != nil || checkName(name) != nil {
		return
	}
	if _, good, err := r.mine(name); err != nil || !good || r.store.shards.present(name) {
		return
	}
	if r.store.reachable(name) != nil {
		return
	}
	r.store.noteMissing(name)
	r.doubtful(ctx, missingFinding(name))
}

// doubtful reports a finding on this node's copy as well as that can be done now.
func (r *findings) doubtful(ctx context.Context, finding catalog.Finding) {
	if _, err := r.doubt(ctx, finding.Name, finding); err != nil {
		r.log.Warn("bad copy could not be reported", "file", finding.Name, "err", err)
	}
}
