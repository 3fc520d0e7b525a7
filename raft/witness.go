package raft

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// ErrSetBack reports that this node's folder is an older copy of itself: other members have seen it further. It has
// forgotten what it agreed to since then, and could undo decisions.
var ErrSetBack = errors.New("this node was set back to an older copy of itself")

// Standing is how far a node's log is, or was before its end was replaced. It is on stable storage, and only ever grows
// as long as Log stays the same.
type Standing struct {
	Log       uint64 `json:"log"`  // tells this log from others of the same node
	Boot      uint64 `json:"boot"` // the node's start
	Term      uint64 `json:"term"`
	LastTerm  uint64 `json:"lastTerm"`  // of the last entry
	LastIndex uint64 `json:"lastIndex"` // of the last entry
}

// behind reports whether a node with this standing was further when it was seen.
func (s Standing) behind(seen Standing) bool {
	return s.Log == seen.Log && (s.Term < seen.Term || s.entryBefore(seen))
}

func (s Standing) entryBefore(o Standing) bool {
	return s.LastTerm < o.LastTerm || s.LastTerm == o.LastTerm && s.LastIndex < o.LastIndex
}

// place says in words how far that is.
func (s Standing) place() string {
	return fmt.Sprintf("term %d with a log that ends at entry %d of term %d", s.Term, s.LastIndex, s.LastTerm)
}

// with returns the higher of both. A log that began in a later start takes the place of the one before.
func (s Standing) with(o Standing) Standing {
	if s.Log != o.Log {
		if o.Boot > s.Boot {
			return o
		}
		return s
	}
	if s.entryBefore(o) {
		s.LastTerm, s.LastIndex = o.LastTerm, o.LastIndex
	}
	s.Boot, s.Term = max(s.Boot, o.Boot), max(s.Term, o.Term)
	return s
}

// sighting is how far a member was seen, in its present start and before.
type sighting struct {
	Standing
	Earlier Standing `json:"earlier,omitzero"` // when the last start began from which it was seen
}

// with returns the sighting after the member was seen once more.
func (s sighting) with(o Standing) sighting {
	if o.Boot > s.Boot {
		s.Earlier = s.Standing
	}
	s.Standing = s.Standing.with(o)
	return s
}

// before returns how far the member was seen before a start with that boot number. What it did after that start does
// not show that it was set back: it may be a leader by the time it hears of it.
func (s sighting) before(boot uint64) Standing {
	if s.Boot == boot {
		return s.Earlier
	}
	return s.Standing
}

// witnessEvery is how often, at most, what was seen of the others is written while only their logs grow.
const witnessEvery = 10 * time.Second

// Witness remembers how far the other members were. So one that is set back to an older copy of itself is found out.
type Witness struct {
	path string
	disk disk.Disk

	mu      sync.Mutex
	seen    map[catalog.NodeID]sighting
	written time.Time
	dirty   bool
}

// openWitness reads what was seen of the others. A file that cannot be read is forgotten, and logged: it is about
// other nodes, and prevents no voter from its work.
func openWitness(dir string, d disk.Disk, log *slog.Logger) (*Witness, error) {
	w := &Witness{path: filepath.Join(dir, "seen.json"), disk: d, seen: map[catalog.NodeID]sighting{}}
	text, err := os.ReadFile(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of how far the other members were: %w", err)
	}
	if err := json.Unmarshal(text, &w.seen); err != nil || w.seen == nil {
		log.Error("the record of how far the other members were cannot be read: "+
			"this node does not notice if one of them was set back to an older copy", "file", w.path, "error", err)
		w.seen = map[catalog.NodeID]sighting{}
	}
	return w, nil
}

// Saw notes how far a member is.
func (w *Witness) Saw(id catalog.NodeID, s Standing) error {
	if s.Log == 0 {
		return nil // of an earlier version
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.seen[id]
	after := before.with(s)
	if after == before {
		return nil
	}
	w.seen[id] = after
	w.dirty = true
	if after.Log == before.Log && after.Term == before.Term && time.Since(w.written) < witnessEvery {
		return nil
	}
	return w.write()
}

func (w *Witness) write() error {
	text, err := json.Marshal(w.seen)
	if err != nil {
		return err
	}
	if err := w.disk.WriteFile(w.path, writeBytes(append(text, '\n'))); err != nil {
		return fmt.Errorf("write the record of how far the other members are: %w", err)
	}
	w.written, w.dirty = time.Now(), false
	return nil
}

// close writes what is not written yet.
func (w *Witness) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.dirty {
		return nil
	}
	return w.write()
}

// of returns how far the member was.
func (w *Witness) of(id catalog.NodeID) sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[id]
}

// encodeSeen answers a node that asks how far it was seen: whether it votes, as far as is known here, and the
// standings.
func encodeSeen(votes bool, seen sighting) []byte {
	b := []byte{saidYes, 0}
	if votes {
		b[1] = 1
	}
	for _, s := range []Standing{seen.Standing, seen.Earlier} {
		for _, v := range []uint64{s.Log, s.Boot, s.Term, s.LastTerm, s.LastIndex} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

func decodeSeen(b []byte) (votes bool, seen sighting, err error) {
	if b, err = cutVerdict(b); err != nil {
		return false, seen, err
	}
	if len(b) == 0 {
		return false, seen, fmt.Errorf("%w: it does not say how far the node was seen", errWire)
	}
	votes, b = b[0] == 1, b[1:]
	for _, s := range []*Standing{&seen.Standing, &seen.Earlier} {
		for _, to := range []*uint64{&s.Log, &s.Boot, &s.Term, &s.LastTerm, &s.LastIndex} {
			if *to, b, err = cutNumber(b, ^uint64(0)); err != nil {
				return false, seen, err
			}
		}
	}
	return votes, seen, nil
}
