package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"holdfast/internal/disk"
)

// ErrStateLost reports that a part of the node's log or state is gone, or older than the rest. Such a node has
// forgotten what it agreed to, or for whom it voted, and could undo decisions.
var ErrStateLost = errors.New("a part of the raft log or of the agreed state is missing, or is older than the rest")

// heldName is the file in the state's folder that records what the log's folder must contain.
const heldName = "log.json"

// held is what is known of the log outside its own folder. It is a lower bound: the log may be longer.
type held struct {
	Version  int      `json:"v"`
	Log      uint64   `json:"log"` // a number by which this log is told from others
	Term     uint64   `json:"term"`
	VoteTerm uint64   `json:"voteTerm,omitempty"`
	Files    []string `json:"files,omitempty"`
	Cut      uint64   `json:"cut,omitempty"`  // up to this index the log was emptied: the state has it all
	Last     uint64   `json:"last,omitempty"` // index of the last entry, after a stop in order; 0 while the log is open

	Boot uint64 `json:"boot,omitempty"` // of the node's last start

	// The furthest entry that was ever taken off the log's end, to be replaced by a leader's.
	TakenTerm uint64 `json:"takenTerm,omitempty"`
	Taken     uint64 `json:"taken,omitempty"`
}

// take notes the last entry of a log whose end is cut off.
func (h *held) take(term, index uint64) {
	if (Standing{LastTerm: h.TakenTerm, LastIndex: h.Taken}).entryBefore(Standing{LastTerm: term, LastIndex: index}) {
		h.TakenTerm, h.Taken = term, index
	}
}

// ledger keeps held on disk.
type ledger struct {
	path string
	disk disk.Disk
	log  *slog.Logger

	mu    sync.Mutex
	held  held
	found bool // there was one on disk
}

func openLedger(dir string, d disk.Disk, log *slog.Logger) (*ledger, error) {
	l := &ledger{path: filepath.Join(dir, heldName), disk: d, log: log}
	if err := d.MkdirAll(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		l.held = held{Version: 1, Log: rand.Uint64()>>1 | 1}
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record about the raft log: %w", err)
	}
	if err := json.Unmarshal(text, &l.held); err != nil || l.held.Version < 1 {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, l.path, err)
	}
	l.found = true
	return l, nil
}

// change changes the record and writes it. If there is no room, the old record remains as a lower bound, which does
// no harm.
func (l *ledger) change(f func(*held)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.held
	next.Files = slices.Clone(next.Files)
	f(&next)
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := l.disk.WriteFile(l.path, writeBytes(append(text, '\n'))); err != nil {
		return fmt.Errorf("write the record about the raft log: %w", err)
	}
	l.held = next
	return nil
}

// note is change where a failure does no harm.
func (l *ledger) note(f func(*held)) {
	if err := l.change(f); err != nil {
		l.log.Warn("the record about the raft log could not be written", "error", err)
	}
}

func (l *ledger) now() held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// checkFiles answers ErrStateLost if a file of the log is gone. Call it before the log is opened: opening removes
// files that the log's metadata does not name, and makes new metadata if there is none.
func (l *ledger) checkFiles(dir string) error {
	h := l.now()
	files := h.Files
	if h.Term > 0 || len(files) > 0 {
		files = append([]string{"wal-meta.db"}, files...)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is missing", ErrStateLost, path)
		} else if err != nil {
			return fmt.Errorf("look for the raft log: %w", err)
		}
	}
	return nil
}
