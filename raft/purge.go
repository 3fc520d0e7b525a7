package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
)

// purgedName is the file in the log's folder that records up to which index replaced and deleted values are gone.
const purgedName = "purged"

// ErrNotPurged reports that the log or the state may still hold replaced or deleted values. Ask again after a further
// decision.
var ErrNotPurged = errors.New("replaced or deleted values are still on this node's disk")

// errNewEntries is ErrNotPurged where another try may succeed at once.
var errNewEntries = fmt.Errorf("%w: entries were appended meanwhile", ErrNotPurged)

// errReplaced is ErrNotPurged where another try makes the state again.
var errReplaced = fmt.Errorf("%w: another state was installed meanwhile", ErrNotPurged)

// cutTries is how often Purge tries to cut the log before it gives up for now.
const cutTries = 10

// Purge removes from this node's disk what was decided up to the index and then replaced or deleted: it rewrites the
// state without older versions, and cuts the log after the index. The node continues meanwhile. Members that were
// away for longer then get the whole state. When Purge returns nil, no such value is left in raft/ and catalog/.
func (n *Node) Purge(ctx context.Context, index uint64) error { return n.purger.purge(ctx, index) }

// purger removes from the disk what was replaced or deleted.
type purger struct {
	storage   *storage
	fsm       *fsm
	raft      *consensus
	trail     *trail
	rewritten atomic.Uint64 // the state was rewritten when this index was applied, or later
}

// purge does it up to the index, unless it was done.
func (p *purger) purge(ctx context.Context, index uint64) error {
	path := filepath.Join(p.storage.dir, purgedName)
	done, err := readPurged(path)
	if err != nil || done >= index {
		return err
	}
	if applied := p.storage.state.store().applied.Load(); applied < index {
		return fmt.Errorf("%w: the state must reach index %d first and is at %d", ErrNotPurged, index, applied)
	}
	if err := p.storage.hasRoom(); err != nil {
		return err
	}
	if p.rewritten.Load() < index {
		if err := p.rewrite(ctx); err != nil {
			return fmt.Errorf("rewrite the state: %w", err)
		}
		p.rewritten.Store(index)
	}
	// The last file of the log goes only when nothing was appended since the state's place was taken.
	err = p.cutLog(index)
	for tries := 1; tries < cutTries && errors.Is(err, errNewEntries) && ctx.Err() == nil; tries++ {
		err = p.cutLog(index)
	}
	if err != nil {
		return err
	}
	return p.storage.disk.WriteFile(path, writeBytes([]byte(strconv.FormatUint(index, 10)+"\n")))
}

func readPurged(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read how far the raft log was purged: %w", err)
	}
	index, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s should hold a number, not %.20q", ErrDamaged, path, text)
	}
	return index, nil
}

// cutLog cuts the log at the state's place, and reports ErrNotPurged when a file of it still begins at or before the
// index.
func (p *purger) cutLog(index uint64) error {
	r := p.raft.now()
	if r == nil {
		return ErrStopped
	}
	defer p.trail.cut()()
	old := p.storage.state.store()
	if err := r.Snapshot().Error(); errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("%w: the raft log can be cut after the next decision", ErrNotPurged)
	} else if err != nil && p.storage.state.store() != old {
		return fmt.Errorf("%w: another state was installed: %w", errNewEntries, err)
	} else if err != nil {
		return fmt.Errorf("cut the raft log: %w", err)
	}
	first, err := firstFile(p.storage.dir)
	if err != nil {
		return err
	}
	if first <= index {
		return fmt.Errorf("%w: a file of the raft log still begins at index %d", errNewEntries, first)
	}
	return nil
}

// firstFile returns the index at which the first file of the log begins: it is in the file's name.
func firstFile(dir string) (uint64, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(paths) == 0 {
		return 0, errors.Join(fmt.Errorf("%w: there is no file of the raft log in %s", ErrDamaged, dir), err)
	}
	first := ^uint64(0)
	for _, path := range paths {
		text, _, _ := strings.Cut(filepath.Base(path), "-")
		index, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: the name of %s does not begin with an index", ErrDamaged, path)
		}
		first = min(first, index)
	}
	return first, nil
}

// rewrite makes a store with only the latest version of each key, and adopts it. The node continues meanwhile, but
// takes no marker: entries applied after the copy began are applied to the copy from the log.
func (p *purger) rewrite(ctx context.Context) error {
	s := p.storage.state
	s.marking.Lock()
	defer s.marking.Unlock()
	old, version, err := s.pin()
	if err != nil {
		return err
	}
	next, number, err := s.copyAt(ctx, old, version)
	old.unpin(version)
	if err != nil {
		return err
	}
	drop := func(err error) error {
		if s.store() != old { // the log that it misses may be gone
			err = fmt.Errorf("%w: %w", errReplaced, err)
		}
		return errors.Join(err, next.close(), s.disk.RemoveAll(next.dir))
	}
	apply := &fsm{state: s, machine: p.storage.agreed.machine, room: p.storage.room, fail: func(error) {}}
	for behind := uint64(maxEntries); behind >= maxEntries; behind = old.applied.Load() - next.applied.Load() {
		if err := p.catchUp(ctx, apply, next, old.applied.Load()); err != nil {
			return drop(err)
		}
	}
	p.fsm.applying.Lock()
	defer p.fsm.applying.Unlock()
	if s.store() != old {
		return drop(errReplaced)
	}
	if err := p.catchUp(ctx, apply, next, old.applied.Load()); err != nil {
		return drop(err)
	}
	m := old.markerNow()
	if next.position.Index > m.Index {
		m = marker{Index: next.position.Index, Term: next.position.Term}
	}
	if err := next.mark(m.Index, m.Term); err != nil {
		return drop(err)
	}
	if err := s.replace(old, next, number); err != nil {
		return drop(err)
	}
	return nil
}

// copyAt makes a store with the state as it was at the version. Nothing points to it yet.
func (s *state) copyAt(ctx context.Context, old *store, version uint64) (next *store, number int, err error) {
	pos, err := old.positionAt(version)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	s.number++
	number = s.number
	s.mu.Unlock()
	dir := s.folder(number)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.disk.RemoveAll(dir))
		}
	}()
	out, in := io.Pipe()
	defer context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })()
	var copying sync.WaitGroup
	copying.Go(func() { in.CloseWithError(writeStream(in, old, streamHead{Index: version, Term: pos.Term})) })
	defer func() {
		out.CloseWithError(io.ErrClosedPipe)
		copying.Wait()
	}()
	stream, err := newStreamReader(out)
	if err != nil {
		return nil, 0, err
	}
	if err := s.fill(dir, stream); err != nil {
		return nil, 0, err
	}
	if next, err = openStore(dir, s.disk, s.cacheMiB, s.log); err != nil {
		return nil, 0, err
	}
	sum := &lastBytes{}
	if err = writeStream(sum, next, stream.head); err == nil && string(sum.tail) != string(stream.total) {
		err = fmt.Errorf("%w: the state written in %s differs from the one it was copied from", ErrDamaged, dir)
	}
	if err != nil {
		return nil, 0, errors.Join(err, next.close())
	}
	return next, number, nil
}

// catchUp applies the log's entries to the store up to the index.
func (p *purger) catchUp(ctx context.Context, apply *fsm, next *store, to uint64) error {
	for at := next.applied.Load(); at < to; at = next.applied.Load() {
		if err := ctx.Err(); err != nil {
			return err
		}
		logs := make([]*hraft.Log, 0, maxEntries)
		for i := at + 1; i <= to && len(logs) < maxEntries; i++ {
			entry := &hraft.Log{}
			if err := p.storage.wal.GetLog(i, entry); err != nil {
				return fmt.Errorf("read the raft log at index %d: %w", i, err)
			}
			logs = append(logs, entry)
		}
		out := make([]any, len(logs))
		for done := 0; done < len(logs); {
			some, err := apply.applySome(next, logs[done:], out[done:])
			if err != nil {
				return err
			}
			if some == 0 {
				return fmt.Errorf("%w: entry %d cannot be applied", ErrDamaged, logs[done].Index)
			}
			done += some
		}
	}
	return nil
}
