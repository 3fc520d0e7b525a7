package raft

import (
	"errors"
	"fmt"
	"io"
	"sync"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// Machine is the state machine that consensus carries commands to: the catalog.
type Machine interface {
	// Apply carries out one command and answers with a result or a refusal; an error is the transaction's.
	Apply(tx catalog.Tx, index uint64, data []byte) (catalog.Result, error)
	// Grouped reports whether one log entry may hold several commands.
	Grouped(r catalog.Reader) (bool, error)
	// Members returns the nodes that the state trusts, with the facts needed to choose voters.
	Members(r catalog.Reader) ([]Candidate, error)
	// Epoch returns the cluster's epoch.
	Epoch(r catalog.Reader) (uint64, error)
	// Boot returns the last of the node's boots that a request was numbered by, 0 when none is known.
	Boot(r catalog.Reader, node catalog.NodeID) (uint64, error)
}

// outcome is what applying one command gave. That of an entry with several commands is a list of them.
type outcome struct {
	result catalog.Result
	err    error // the node's state failed, or the command was left out
}

// errBefore is the outcome of an entry that the state has already: its result is no longer known. A caller that asks
// again is answered from the state.
var errBefore = fmt.Errorf("%w: the entry was applied before", errAgain)

// fsm applies log entries to the state. Raft calls it from one goroutine.
type fsm struct {
	state     *state
	snapshots *snapshots
	machine   Machine
	room      *room
	cache     cache
	last      *overlay    // of the latest batch, for its memory
	fail      func(error) // called once when the state can no longer be written

	applying sync.Mutex // of who writes the state, or puts another in its place

	mu     sync.Mutex
	failed error
	count  uint64 // entries applied since start
}

// Apply applies one entry.
func (f *fsm) Apply(l *hraft.Log) any { return f.ApplyBatch([]*hraft.Log{l})[0] }

// StoreConfiguration keeps a committed configuration.
func (f *fsm) StoreConfiguration(index uint64, c hraft.Configuration) {
	f.ApplyBatch([]*hraft.Log{{Index: index, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(c)}})
}

// ApplyBatch applies entries in one transaction, or in several when one would be too big. Entries at or
// below the state's own index were applied before and are left out.
func (f *fsm) ApplyBatch(logs []*hraft.Log) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	out := make([]any, len(logs))
	if err := f.failure(); err != nil {
		for i := range out {
			out[i] = outcome{err: err}
		}
		return out
	}
	st := f.state.store()
	for done := 0; done < len(logs); {
		n, err := f.applySome(st, logs[done:], out[done:])
		if err != nil {
			f.stop(err)
			for i := done; i < len(out); i++ {
				out[i] = outcome{err: err}
			}
			return out
		}
		done += n
	}
	return out
}

// applySome applies as many entries as fit one transaction and commits them.
func (f *fsm) applySome(st *store, logs []*hraft.Log, out []any) (n int, err error) {
	at := st.applied.Load()
	txn := st.db.NewTransactionAt(at, false)
	defer txn.Discard()
	f.cache.of(st)
	w := f.last.reuse(txn)
	w.cache, f.last = &f.cache, w
	pos := position{Index: at, Previous: at}
	var conf *configuration
	var applied uint64
	for ; n < len(logs) && w.fits(st); n++ {
		l := logs[n]
		if l.Index <= at {
			out[n] = outcome{err: errBefore}
			continue
		}
		switch l.Type {
		case hraft.LogConfiguration:
			c := configurationOf(l.Index, hraft.DecodeConfiguration(l.Data))
			conf = &c
			out[n] = outcome{}
		case hraft.LogCommand:
			if out[n], err = f.applyEntry(w, l.Index, l.Data); err != nil {
				return n, fmt.Errorf("apply the entry at index %d: %w", l.Index, err)
			}
		}
		pos.Index, pos.Term = l.Index, l.Term
		applied++
	}
	if pos.Index == at {
		return n, nil
	}
	if err := f.room.wait(func() error { return f.ready(st, w) }); err != nil {
		return n, err
	}
	if err := st.commit(w, pos, conf); err != nil {
		return n, err
	}
	f.cache.committed(w)
	f.mu.Lock()
	f.count += applied
	f.mu.Unlock()
	f.state.changed.announce()
	f.state.watches.written(w)
	return n, nil
}

// ready answers an error while the disk has no room for the changes.
func (f *fsm) ready(st *store, w *overlay) error {
	if err := f.room.atLeast(roomToWrite); err != nil {
		return err
	}
	return st.ready(w.bytes)
}

// fits reports whether one more command of the largest size fits the transaction.
func (o *overlay) fits(st *store) bool {
	return int64(len(o.changes)) < st.db.MaxBatchCount()/2 && int64(o.bytes) < st.db.MaxBatchSize()/2
}

// Snapshot returns a marker at the state's present place.
func (f *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	return markerSnapshot{}, nil
}

// markerSnapshot is a Raft snapshot without content.
type markerSnapshot struct{}

// Persist syncs the state and writes the marker.
func (markerSnapshot) Persist(to hraft.SnapshotSink) error {
	k, ok := to.(*sink)
	if !ok {
		return fmt.Errorf("a marker needs the state's own snapshot store, not %T", to)
	}
	return k.mark()
}

// Release has nothing to let go.
func (markerSnapshot) Release() {}

// Restore adopts the store that was installed under the id that r holds.
func (f *fsm) Restore(r io.ReadCloser) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	id, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("adopt an installed state: %w", err)
	}
	next := f.snapshots.take(string(id))
	if next == nil {
		return fmt.Errorf("adopt an installed state: %q has not arrived", id)
	}
	f.state.adopt(next)
	return f.state.step("install adopted")
}

// entries returns how many entries were applied since start.
func (f *fsm) entries() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *fsm) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// stop makes every later application fail and tells the node, unless it stops already.
func (f *fsm) stop(err error) {
	f.mu.Lock()
	f.failed = err
	f.mu.Unlock()
	if !errors.Is(err, ErrStopped) {
		f.fail(err)
	}
}
