package raft

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"

	"holdfast/internal/disk"
)

// How much of the log's end is kept in memory.
const (
	recentEntries = 512
	recentBytes   = 16 << 10 // of the largest entry kept
)

// entryOverhead is roughly what the log adds to an entry's own bytes.
const entryOverhead = 48

// logStore is the Raft log and stable store. It keeps count of the entries' size, and the latest entries in memory:
// each is soon read again, to be sent and to be applied.
type logStore struct {
	*wal.WAL
	recent         recent
	meta           *metadb.BoltMetaDB
	unlock         func() error
	entries, bytes atomic.Uint64
	checked        bool // all that belongs together fits

	changing sync.Mutex // held while entries are stored or deleted
	cut      bool       // entries were taken off the end, and none was stored since
	fail     func(error)
	spares   *spares
	ledger   *ledger
	room     *room
	state    func() marker // up to where the state has it all; nil: there is none yet
}

// openLog opens the log in dir, kept in files of segment bytes, and takes the size of its latest entries as a sample.
// It calls fail when what Raft believes of the log is no longer true.
func openLog(
	dir string, segment int, ledger *ledger, room *room, log *slog.Logger, fail func(error),
) (*logStore, error) {
	unlock, err := disk.Lock(filepath.Join(dir, "lock")) // the log's own lock would wait for ever
	if errors.Is(err, disk.ErrLocked) {
		err = errors.New("another process has it open")
	}
	if err != nil {
		return nil, fmt.Errorf("open the raft log in %s: %w", dir, err)
	}
	meta := &metadb.BoltMetaDB{}
	files := newSpares(dir, segment, ledger.disk, ledger)
	if err := errors.Join(ledger.checkFiles(dir), files.drop()); err != nil {
		return nil, errors.Join(fmt.Errorf("open the raft log in %s: %w", dir, err), unlock())
	}
	w, err := wal.Open(dir, wal.WithLogger(libraryLog{log: log}), wal.WithMetaStore(meta), wal.WithSegmentSize(segment),
		wal.WithSegmentFiler(newSegments(dir, files)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the raft log in %s: %w", dir, err), meta.Close(), unlock())
	}
	s := &logStore{WAL: w, meta: meta, unlock: unlock, fail: fail, spares: files, ledger: ledger, room: room}
	if err := s.sample(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the raft log in %s: %w", dir, err), s.Close())
	}
	return s, nil
}

// Close closes the log, and notes how far it is. The library leaves its own metadata open.
func (s *logStore) Close() error {
	if last, err := s.LastIndex(); err == nil && s.checked {
		s.ledger.note(func(h *held) { h.Last = last })
	}
	return errors.Join(s.WAL.Close(), s.meta.Close(), s.unlock())
}

// begin notes that the log fits all that belongs to it, and is in use from here on.
func (s *logStore) begin() error {
	term, err := s.number(termKey)
	if err != nil {
		return err
	}
	voted, err := s.number(voteTermKey)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(s.spares.dir, "*.wal"))
	if err != nil {
		return err
	}
	err = s.ledger.change(func(h *held) {
		h.Term, h.VoteTerm, h.Last, h.Files = term, voted, 0, nil
		for _, name := range names {
			h.Files = append(h.Files, filepath.Base(name))
		}
	})
	s.checked = err == nil
	return err
}

// number reads one of the numbers beside the log, 0 when it was never set.
func (s *logStore) number(key string) (uint64, error) {
	n, err := s.GetUint64([]byte(key))
	if err != nil {
		return 0, fmt.Errorf("read the raft log's metadata: %w", err)
	}
	return n, nil
}

// SetUint64 keeps a number beside the log, and notes it where the log's folder is not.
func (s *logStore) SetUint64(key []byte, n uint64) error {
	if err := s.WAL.SetUint64(key, n); err != nil {
		return err
	}
	switch string(key) {
	case termKey:
		s.ledger.note(func(h *held) { h.Term = n })
	case voteTermKey:
		s.ledger.note(func(h *held) { h.VoteTerm = n })
	}
	return nil
}

func (s *logStore) sample() error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	for i := max(first, last-min(last, 255)); last > 0 && i <= last; i++ {
		var entry hraft.Log
		if err := s.GetLog(i, &entry); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		s.count(&entry)
	}
	return nil
}

func (s *logStore) count(l *hraft.Log) {
	s.entries.Add(1)
	s.bytes.Add(uint64(len(l.Data)+len(l.Extensions)) + entryOverhead)
}

// StoreLog appends one entry.
func (s *logStore) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs appends entries. If a follower's entries could not be replaced by its leader's, Raft continues as if it
// still had the entries that it deleted; in that case the node must stop.
func (s *logStore) StoreLogs(logs []*hraft.Log) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.WAL.StoreLogs(logs); err != nil {
		if s.cut {
			s.fail(fmt.Errorf("replace entries of the raft log: %w", err))
		}
		return err
	}
	s.cut = false
	for _, l := range logs {
		s.count(l)
	}
	s.recent.keep(logs)
	return nil
}

// ready answers disk.ErrFull if the log has no room to grow. Entries that replace others wait for room, because Raft
// believes that they are stored.
func (s *logStore) ready() error {
	err := s.spares.ready()
	if err == nil || !s.cut {
		return err
	}
	return s.room.wait(s.spares.ready)
}

// GetLog reads the entry at the index into l.
func (s *logStore) GetLog(index uint64, l *hraft.Log) error {
	if s.recent.get(index, l) {
		return nil
	}
	return s.WAL.GetLog(index, l)
}

// DeleteRange removes the entries from first to last.
func (s *logStore) DeleteRange(first, last uint64) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.recent.clear()
	begin, err := s.FirstIndex()
	if err != nil {
		return err
	}
	end, err := s.LastIndex()
	if err != nil {
		return err
	}
	if last, err = s.upToState(first, last, begin, end); err != nil || last < begin {
		return err
	}
	if last >= end {
		if err := s.noteCut(first <= begin, end); err != nil {
			return err
		}
	}
	if end > 0 {
		s.settle()
	}
	if err := s.WAL.DeleteRange(first, last); err != nil {
		return err
	}
	s.cut = s.cut || last >= end
	return nil
}

// errUnlikeState reports a log that goes on beyond an installed state with entries that do not follow it.
var errUnlikeState = errors.New("the raft log does not continue the state that was installed: start the node again")

// upToState returns up to where the log from begin to end is deleted when Raft asks for first to last.
//
// When a state was installed, Raft (v1.8.0) removes the whole log, but goes on as if it still had the entries beyond
// the state, and ends the process when it reads them (hashicorp/raft, issue 697). Entries beyond the state stay if they
// follow it, as the paper has it ("In Search of an Understandable Consensus Algorithm", extended version, figure 13,
// steps 6 and 7). Otherwise none is deleted, and the node must stop: the start removes such a log (storage.agree).
func (s *logStore) upToState(first, last, begin, end uint64) (uint64, error) {
	if s.state == nil || first > begin || last < end {
		return last, nil // not the whole log
	}
	at := s.state()
	if at.Index == 0 || end <= at.Index {
		return last, nil
	}
	if begin == at.Index+1 {
		return at.Index, nil // what was before it was deleted because the state had it
	}
	var entry hraft.Log
	if begin <= at.Index {
		if err := s.WAL.GetLog(at.Index, &entry); err != nil {
			return 0, fmt.Errorf("read the raft log at index %d: %w", at.Index, err)
		}
	}
	if entry.Term != at.Term {
		s.fail(errUnlikeState)
		return 0, errUnlikeState
	}
	return at.Index, nil
}

// noteCut records, before it happens, that entries are removed from the end of the log, or all of them. Other members
// may have seen these entries; the record shows that a node that stops before it has the replacing entries was not
// set back.
func (s *logStore) noteCut(all bool, end uint64) error {
	var entry hraft.Log
	if end > 0 {
		if err := s.WAL.GetLog(end, &entry); err != nil {
			return fmt.Errorf("read the last entry of the raft log: %w", err)
		}
	}
	return s.ledger.change(func(h *held) {
		if all {
			h.Cut = end
		}
		h.take(entry.Term, entry.Index)
	})
}

// settle waits until the library has begun its next file, which it does in the background once one is full. If
// entries were taken off the end before that, the library would begin the wrong file and drop the content of the
// first. An append that can only be refused waits for it.
func (s *logStore) settle() { _ = s.WAL.StoreLogs([]*hraft.Log{{}}) }

// recent holds stored entries by their index modulo their number.
type recent struct {
	mu      sync.RWMutex
	entries [recentEntries]hraft.Log // Index 0: none
}

func (r *recent) keep(logs []*hraft.Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range logs {
		place := &r.entries[l.Index%recentEntries]
		*place = hraft.Log{}
		if len(l.Data)+len(l.Extensions) <= recentBytes {
			*place = *l
		}
	}
}

func (r *recent) get(index uint64, l *hraft.Log) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	place := &r.entries[index%recentEntries]
	if index == 0 || place.Index != index {
		return false
	}
	*l = *place
	return true
}

func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = [recentEntries]hraft.Log{}
}

// mean returns the mean size of an entry, or a guess before there are enough of them.
func (s *logStore) mean() uint64 {
	if n := s.entries.Load(); n >= 64 {
		return max(64, s.bytes.Load()/n)
	}
	return 512
}

// size returns about how many bytes the log holds.
func (s *logStore) size() (int64, error) {
	first, err := s.FirstIndex()
	if err != nil {
		return 0, err
	}
	last, err := s.LastIndex()
	if err != nil || last == 0 {
		return 0, err
	}
	return int64((last - first + 1) * s.mean()), nil
}
