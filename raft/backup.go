package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Pinned is this node's state at one Raft index. It stays as it is while the node goes on, until Close. A node stops
// only when all are closed.
type Pinned struct {
	store *store
	Index uint64
	Term  uint64
}

// Pin returns the state as it is now.
func (n *Node) Pin() (*Pinned, error) {
	st, version, err := n.storage.state.pin()
	if err != nil {
		return nil, fmt.Errorf("pin the state: %w", err)
	}
	pos, err := st.positionAt(version)
	if err == nil && version == 0 {
		err = errors.New("this node has no agreed state yet")
	}
	if err != nil {
		st.unpin(version)
		return nil, fmt.Errorf("pin the state: %w", err)
	}
	return &Pinned{store: st, Index: version, Term: pos.Term}, nil
}

// Close lets the state go.
func (p *Pinned) Close() { p.store.unpin(p.Index) }

// View calls fn with the state.
func (p *Pinned) View(fn func(catalog.View) error) error {
	return p.store.viewAt(p.Index, func(r reader) error { return fn(catalog.NewView(reader{txn: r.txn})) })
}

// Write writes the state in the form of a streamed Raft snapshot. It writes the same bytes each time.
func (p *Pinned) Write(w io.Writer) error {
	return writeStream(w, p.store, streamHead{Index: p.Index, Term: p.Term})
}

// CheckBackup reads what Write wrote and returns its index and number of keys, or what is wrong with it.
func CheckBackup(r io.Reader) (index, keys uint64, err error) {
	s, err := newStreamReader(r)
	if err != nil {
		return 0, 0, err
	}
	for {
		_, _, err := s.next()
		if errors.Is(err, io.EOF) {
			return s.head.Index, s.count, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// Aside puts a state that Pinned.Write wrote into the folder dir, which is to be empty or new, reads it back there, and
// calls see with its index. The folder is the caller's to remove.
func Aside(dir string, d disk.Disk, r io.Reader, log *slog.Logger, see func(index uint64, v catalog.View) error) (
	err error) {
	s, err := openState(dir, d, Config{}.withDefaults().MemoryMiB, true, func(string) error { return nil }, log)
	if err != nil {
		return fmt.Errorf("put a state aside: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.receive(r); err != nil {
		return fmt.Errorf("put a state aside: %w", err)
	}
	index := s.store().applied.Load()
	return s.view(func(rd reader) error { return see(index, catalog.NewView(reader{txn: rd.txn})) })
}

// receive makes a streamed state this one, which must have been empty.
func (s *state) receive(r io.Reader) error {
	if s.store().applied.Load() > 0 {
		return ErrFounded
	}
	next, err := s.install(r, func(streamHead) error { return nil })
	if err != nil {
		return err
	}
	s.adopt(next)
	return nil
}

// Restore makes a node of a state that Pinned.Write wrote: in cfg.Dir, which has neither log nor state, as the only
// voter. It then carries out the commands that next names, one after the other, each with what it left in view, until
// next returns false. After an error, or a crash, what is in cfg.Dir must not be run.
func Restore(cfg Config, d disk.Disk, r io.Reader, log *slog.Logger,
	next func(catalog.View) (catalog.Command, bool, error)) error {
	return grow(cfg, d, log, func(s *state) error { return s.receive(r) }, next)
}

// Make is Restore from an empty state: the first command has to be one that founds a cluster.
func Make(cfg Config, d disk.Disk, log *slog.Logger, next func(catalog.View) (catalog.Command, bool, error)) error {
	return grow(cfg, d, log, func(s *state) error {
		if s.store().applied.Load() > 0 {
			return ErrFounded
		}
		return nil
	}, next)
}

// grow makes a state of what first leaves, and of commands.
func grow(cfg Config, d disk.Disk, log *slog.Logger, first func(*state) error,
	next func(catalog.View) (catalog.Command, bool, error)) (err error) {
	cfg, p, err := parts{}.with(cfg, d)
	if err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	s, err := openStorage(cfg, d, p, log, func(error) {})
	if err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	used, err := s.wal.LastIndex()
	if err == nil && used > 0 {
		err = ErrFounded
	}
	if err == nil {
		err = first(s.state)
	}
	if err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	for term := s.state.store().markerTerm() + 1; ; term++ {
		var command catalog.Command
		var more bool
		err := s.state.view(func(r reader) (err error) {
			command, more, err = next(catalog.NewView(r))
			return err
		})
		if err == nil && more {
			err = s.impose(command, term)
		}
		if err != nil {
			return fmt.Errorf("restore the state: %w", err)
		}
		if !more {
			return s.agree()
		}
	}
}

// Check reads the whole state of this node and compares it with its checksums. The error says what is damaged. A
// running node continues meanwhile.
func (n *Node) Check() error {
	st, version, err := n.storage.state.pin()
	if err != nil {
		return fmt.Errorf("check the state: %w", err)
	}
	defer st.unpin(version)
	if err := st.db.VerifyChecksum(); err != nil {
		return fmt.Errorf("check the state in %s: %w: %w", st.dir, ErrDamaged, err)
	}
	var size counter
	return writeStream(&size, st, streamHead{Index: version})
}

// Boundaries pins the state after each of the batches that are committed within the window, at most most of them, and
// as it is now. Nodes that commit batches of their own sizes find an index that they have in common among these. All
// are the caller's to close.
func (n *Node) Boundaries(ctx context.Context, window time.Duration, most int) (all []*Pinned, err error) {
	ctx, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	for len(all) < most {
		next := n.storage.state.changed.next()
		p, err := n.Pin()
		if err != nil {
			for _, p := range all {
				p.Close()
			}
			return nil, err
		}
		if len(all) > 0 && all[len(all)-1].Index == p.Index {
			p.Close()
		} else {
			all = append(all, p)
		}
		select {
		case <-next:
		case <-ctx.Done():
			return all, nil
		}
	}
	return all, nil
}
