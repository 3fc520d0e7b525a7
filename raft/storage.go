package raft

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// storage is what this node keeps on its disk: the Raft log, the agreed state, and how far it has seen the others.
// Once opened they fit each other, or openStorage has said what is lost.
type storage struct {
	self catalog.NodeID
	dir  string // of the log
	disk disk.Disk
	step func(name string) error
	log  *slog.Logger

	room    *room
	wal     *logStore
	state   *state
	agreed  agreed
	witness *Witness
	boot    uint64 // the number of this start
}

// openStorage opens log and state. It calls fail when the log can no longer be trusted or written.
func openStorage(cfg Config, d disk.Disk, p parts, log *slog.Logger, fail func(error)) (_ *storage, err error) {
	s := &storage{self: cfg.Self, dir: filepath.Join(cfg.Dir, "raft"), disk: d, step: p.step, log: log}
	s.room = newRoom(p.free, log)
	if err := d.MkdirAll(s.dir); err != nil {
		return nil, err
	}
	stateDir := filepath.Join(cfg.Dir, "catalog")
	ledger, err := openLedger(stateDir, d, log)
	if err != nil {
		return nil, err
	}
	if s.witness, err = openWitness(s.dir, d, log); err != nil {
		return nil, err
	}
	if s.wal, err = openLog(s.dir, p.timing.segment, ledger, s.room, log, fail); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.wal.Close())
		}
	}()
	used, err := hraft.HasExistingState(s.wal, s.wal, hraft.NewDiscardSnapshotStore())
	if err != nil {
		return nil, fmt.Errorf("open the raft log in %s: %w", s.dir, err)
	}
	if err := s.step("log opened"); err != nil {
		return nil, err
	}
	if s.state, err = openState(stateDir, d, cfg.MemoryMiB, !used, s.step, log); err != nil {
		return nil, err
	}
	s.agreed = agreed{state: s.state, machine: p.machine}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.state.close())
	}
	s.wal.state = func() marker { return s.state.store().markerNow() }
	return s, nil
}

// begin makes log and state fit each other, and counts the start.
func (s *storage) begin() error {
	if err := errors.Join(s.checkLog(), s.checkStart()); err != nil {
		return err
	}
	if err := s.agree(); err != nil {
		return err
	}
	if err := s.wal.begin(); err != nil {
		return err
	}
	var err error
	if s.boot, err = s.countStart(); err != nil {
		return err
	}
	return s.step("boot")
}

// close closes log and state.
func (s *storage) close() error {
	return errors.Join(s.state.close(), s.wal.Close(), s.witness.close())
}

// hasRoom answers ErrNoRoom, with the free space, if the disk has too little room for callers' commands.
func (s *storage) hasRoom() error { return s.room.atLeast(RoomToDecide) }

// agree removes a log that an install has made obsolete: one that ends before the state, or that holds
// another entry at the state's place.
func (s *storage) agree() error {
	st := s.state.store()
	first, err := s.wal.FirstIndex()
	if err != nil {
		return fmt.Errorf("open the raft log: %w", err)
	}
	last, err := s.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("open the raft log: %w", err)
	}
	m := st.marker
	if last == 0 {
		return nil
	}
	if first > m.Index+1 {
		return fmt.Errorf("%w: the raft log begins at index %d, but the state ends at %d", ErrDamaged, first, m.Index)
	}
	obsolete := last < m.Index
	if !obsolete && first <= m.Index {
		var entry hraft.Log
		if err := s.wal.GetLog(m.Index, &entry); err != nil {
			return fmt.Errorf("read the raft log at index %d: %w", m.Index, err)
		}
		obsolete = entry.Term != m.Term
	}
	if !obsolete {
		return nil
	}
	if err := s.step("log obsolete"); err != nil {
		return err
	}
	s.log.Info("the raft log is older than the installed state and is removed",
		"from", first, "to", last, "state", m.Index)
	if err := s.wal.DeleteRange(first, last); err != nil {
		return fmt.Errorf("remove the raft log: %w", err)
	}
	return nil
}

// checkLog answers ErrStateLost if the opened log is shorter than recorded, or behind the state.
func (s *storage) checkLog() error {
	h, st := s.wal.ledger.now(), s.state.store()
	last, err := s.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("open the raft log: %w", err)
	}
	term, err := s.wal.number(termKey)
	if err != nil {
		return err
	}
	voted, err := s.wal.number(voteTermKey)
	if err != nil {
		return err
	}
	at := max(st.position.Index, st.marker.Index)
	switch {
	case term < h.Term:
		return fmt.Errorf("%w: the raft log's metadata is at term %d, but the node has been in term %d",
			ErrStateLost, term, h.Term)
	case voted < h.VoteTerm:
		return fmt.Errorf("%w: by the raft log's metadata the node voted in term %d last, but it has voted in term %d",
			ErrStateLost, voted, h.VoteTerm)
	case term < max(st.position.Term, st.marker.Term):
		return fmt.Errorf("%w: the raft log's metadata is at term %d, but the state is of term %d",
			ErrStateLost, term, max(st.position.Term, st.marker.Term))
	case last < h.Last:
		return fmt.Errorf("%w: the raft log ends at index %d, but it ended at %d when the node stopped",
			ErrStateLost, last, h.Last)
	case last < at && st.marker.Whole != nil && at > max(*st.marker.Whole, h.Cut):
		return fmt.Errorf("%w: the raft log ends at index %d, but the state ends at %d", ErrStateLost, last, at)
	}
	return nil
}

// countStart returns the number of this start, higher than that of every earlier one. Requests carry it; a request
// with the numbers of an earlier one would get that one's answer. The file with the count may come from an older copy
// of the folder, and so may the state. The number is therefore also higher than the last one that the state
// remembers, and not below the clock.
func (s *storage) countStart() (boot uint64, err error) {
	if boot, err = s.agreed.boot(s.self); err != nil {
		return 0, fmt.Errorf("number this start of the node: %w", err)
	}
	boot, err = nextBoot(s.disk, s.dir, max(boot, uint64(max(catalog.At(time.Now()), 0))))
	if err == nil {
		s.wal.ledger.note(func(h *held) { h.Boot = boot })
	}
	return boot, err
}

// checkStart answers ErrStateLost if the folder of the log is older than the node's last start. Without the file with
// the count, the state's number counts.
func (s *storage) checkStart() error {
	last, err := lastBoot(s.dir)
	if err != nil {
		return err
	}
	if h := s.wal.ledger.now(); last > 0 && last < h.Boot {
		return fmt.Errorf("%w: %s is an older copy, from before the node's last start", ErrStateLost, s.dir)
	}
	return nil
}

// impose applies a command in the next entry, without asking anyone, in a new term and with this node as
// the only voter, all in one transaction, and syncs it.
func (s *storage) impose(c catalog.Command, term uint64) error {
	data, err := command(c)
	if err != nil {
		return err
	}
	if err := s.wal.SetUint64([]byte(termKey), term); err != nil {
		return fmt.Errorf("write the term: %w", err)
	}
	if err := s.state.step("term written"); err != nil {
		return err
	}
	st := s.state.store()
	at := st.applied.Load()
	index := max(at, st.marked()) + 1
	txn := st.db.NewTransactionAt(at, false)
	defer txn.Discard()
	w := newOverlay(txn)
	result, err := s.agreed.machine.Apply(w, index, data)
	if err != nil {
		return err
	}
	if result.Refusal != nil {
		return result.Refusal
	}
	conf := configuration{Version: 1, Index: index, Servers: []server{{ID: s.self, Voter: true}}}
	if err := st.commit(w, position{Index: index, Term: term, Previous: at}, &conf); err != nil {
		return err
	}
	if err := s.state.step("imposed"); err != nil {
		return err
	}
	return st.markWhole(index, term)
}

// replay applies everything in the log that the state lacks.
func (s *storage) replay() error {
	last, err := s.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("read the raft log: %w", err)
	}
	st := s.state.store()
	apply := &fsm{state: s.state, machine: s.agreed.machine, room: s.room, fail: func(error) {}}
	for next := max(st.applied.Load(), st.marked()) + 1; next <= last; {
		var batch []*hraft.Log
		top := min(last, next+maxEntries-1)
		term := uint64(0)
		for ; next <= top; next++ {
			entry := new(hraft.Log)
			if err := s.wal.GetLog(next, entry); err != nil {
				return fmt.Errorf("read the raft log at index %d: %w", next, err)
			}
			if entry.Type == hraft.LogCommand || entry.Type == hraft.LogConfiguration {
				batch = append(batch, entry)
			}
			term = entry.Term
		}
		if len(batch) > 0 {
			apply.ApplyBatch(batch)
		}
		if err := apply.failure(); err != nil {
			return err
		}
		if err := st.mark(top, term); err != nil {
			return err
		}
	}
	return nil
}

// standing returns how far this node's log is.
func (s *storage) standing() (Standing, error) {
	term, err := s.wal.number(termKey)
	if err != nil {
		return Standing{}, err
	}
	h := s.wal.ledger.now()
	at := Standing{Log: h.Log, Boot: s.boot, Term: term}
	last, err := s.wal.LastIndex()
	if err != nil {
		return Standing{}, fmt.Errorf("read the raft log: %w", err)
	}
	var entry hraft.Log
	if last > 0 && s.wal.GetLog(last, &entry) == nil { // else it was cut off just now
		at.LastTerm, at.LastIndex = entry.Term, entry.Index
	}
	st := s.state.store()
	st.mu.Lock()
	defer st.mu.Unlock()
	at = at.with(Standing{Log: at.Log, LastTerm: h.TakenTerm, LastIndex: h.Taken})
	return at.with(Standing{Log: at.Log, LastTerm: st.marker.Term, LastIndex: st.marker.Index}), nil
}
