package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// heldAs returns the size and digest that a copy of the file must have.
func heldAs(f catalog.File) Held { return Held{Name: f.Name, Size: f.Size, SHA256: f.SHA256} }

// copyFile makes a verified copy of an owed file in its place: from bytes that are there already, from this node's
// own outbox, or from other nodes. Bytes that turn out bad are set aside first, and so are bytes that cannot be read,
// if another source has the file.
func (r *puller) copyFile(ctx context.Context, t task) error {
	want := heldAs(t.file)
	err := r.store.Vouch(ctx, want)
	switch {
	case err == nil:
		t.done.Store(want.Size)
		return nil
	case errors.Is(err, ErrDamaged), r.store.lost(want.Name, err) && len(t.sources) > 0:
		if err := r.store.Quarantine(want.Name, err.Error()); err != nil {
			return err
		}
	case !errors.Is(err, ErrNotHere):
		return err
	}
	err = r.store.ownCopy(ctx, want)
	if errors.Is(err, errSource) {
		_, _, err = r.entries.checkSource(ctx, want.Name) // which reports it
		if err == nil {
			err = ErrNotHere
		}
	}
	if !errors.Is(err, ErrNotHere) {
		return err
	}
	return r.fetch(ctx, t, want)
}

// ownCopy places bytes that this node's outbox has, read again from the disk: under a second name, or copied
// to another disk. Without them the answer is ErrNotHere, and errSource when they are not the wanted ones or cannot be
// read.
func (s *Store) ownCopy(ctx context.Context, want Held) error {
	path := s.outboxPath(want.Name)
	if !isFile(path) {
		return ErrNotHere
	}
	size, digest, err := s.measure(ctx, path, want, nil, false)
	if errors.Is(err, errUnreadable) {
		return fmt.Errorf("%w: %w", errSource, err)
	}
	if err != nil {
		return fmt.Errorf("copy %s from the outbox: %w", want.Name, err)
	}
	if size != want.Size || digest != want.SHA256 {
		return fmt.Errorf("%w: SHA-256 %s", errSource, digest)
	}
	_, release, err := s.claim(want.Name.Shard(), 0)
	if err != nil {
		return fmt.Errorf("copy %s from the outbox: %w", want.Name, err)
	}
	release()
	if err := s.placeLink(want, path); !cannotLink(err) {
		if err == nil {
			s.shareList(path, s.Path(want.Name))
		}
		return err
	}
	b, err := s.open(path)
	if err != nil {
		return err
	}
	defer b.Close()
	p, err := s.receive(ctx, want)
	if err != nil {
		return err
	}
	if err := p.restart(); err != nil {
		return errors.Join(err, p.close())
	}
	if err := p.take(ctx, b, nil, nil); err != nil {
		return errors.Join(err, p.discard())
	}
	if ok, err := p.complete(); err != nil || !ok {
		return errors.Join(ErrNotHere, err, p.discard())
	}
	return p.finish()
}

// fetch receives the file from its sources, one after the other until one has given all of it.
func (r *puller) fetch(ctx context.Context, t task, want Held) (err error) {
	noted := r.cfg.way(ctx, "copy", want.Name)
	defer func() { noted(err) }()
	p, err := r.store.receive(ctx, want)
	if err != nil {
		return fmt.Errorf("copy %s: %w", want.Name, err)
	}
	t.done.Store(p.file.Size())
	if ok, err := p.complete(); err != nil {
		// What was left here does not match the archive's file: no other node is to blame.
		if err := p.restart(); err != nil {
			return errors.Join(err, p.close())
		}
	} else if ok {
		return p.finish()
	}
	failed := ErrNotHere
	for _, from := range t.sources {
		if from == r.cfg.Self {
			continue
		}
		ok, err := r.fetchFrom(ctx, t, p, from)
		if ok {
			return p.finish()
		}
		if errors.Is(err, errWrite) {
			return fmt.Errorf("copy %s from %s: %w", want.Name, from, errors.Join(err, p.spoiled(err)))
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), p.close())
		}
		failed = worse(failed, fmt.Errorf("copy %s from %s: %w", want.Name, from, err))
	}
	return errors.Join(failed, p.close())
}

// worse returns what tells more about a round of tries: a failure before "busy" before "not here".
func worse(a, b error) error {
	rank := func(err error) int {
		switch {
		case errors.Is(err, ErrNotHere):
			return 0
		case errors.Is(err, ErrBusy):
			return 1
		}
		return 2
	}
	if rank(b) >= rank(a) {
		return b
	}
	return a
}

// spoiled ends a part after its disk refused a write. If no room is left, it frees what it has, so that the rest of
// the node can continue.
func (p *part) spoiled(err error) error {
	if errors.Is(err, disk.ErrFull) {
		return p.discard()
	}
	return p.close()
}

// fetchFrom receives the missing bytes from one source and reports whether the part is complete and right. Wrong
// bytes that came from several tries are fetched once more from this source alone.
func (r *puller) fetchFrom(ctx context.Context, t task, p *part, from catalog.NodeID) (bool, error) {
	t.from.Store(&from)
	for {
		mended := p.file.Size() > 0
		if err := r.read(ctx, t, p, from); err != nil {
			return false, err
		}
		ok, err := p.complete()
		switch {
		case ok:
			r.sources.good(from)
			return true, nil
		case err == nil:
			r.sources.failed(from)
			return false, fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, p.file.Size(), p.want.Size)
		}
		t.done.Store(0)
		if err := p.restart(); err != nil {
			return false, fmt.Errorf("%w: %w", errWrite, err)
		}
		if !mended {
			r.blame(ctx, from, p.want)
			return false, err
		}
	}
}

// read appends what the source sends. After a read error, the part can be continued from the next source.
func (r *puller) read(ctx context.Context, t task, p *part, from catalog.NodeID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := r.peers.Fetch(ctx, from, p.want.Name, p.file.Size())
	switch {
	case errors.Is(err, ErrBusy):
		r.sources.busy(from)
		return err
	case errors.Is(err, ErrNotHere):
		return err
	case err != nil:
		r.sources.failed(from)
		return err
	}
	closeIn := sync.OnceValue(in.Close)
	stop := context.AfterFunc(ctx, func() { closeIn() })
	defer closeIn()
	defer stop()
	err = p.take(ctx, watchStall(in, cancel), r.bandwidth, &t.done)
	if err != nil && !errors.Is(err, errWrite) {
		r.sources.failed(from)
	}
	return err
}

// blame makes a source that gave wrong bytes read its copy again: it finds out itself, and reports, whether
// the copy is bad. Until then it is asked last.
func (r *puller) blame(ctx context.Context, from catalog.NodeID, want Held) {
	r.log.Warn("source gave wrong bytes", "file", want.Name, "from", from)
	r.sources.failed(from)
	got, err := r.checksumFrom(ctx, from, want)
	if err != nil {
		r.log.Warn("source could not read its copy again", "file", want.Name, "from", from, "err", err)
		return
	}
	r.log.Warn("source read its copy again", "file", want.Name, "from", from, "good", got == want)
}
