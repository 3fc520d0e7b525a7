// Package sorter puts any number of byte strings in order, in bounded memory.
package sorter

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// ErrTooLong reports an entry that is too long to be sorted.
var ErrTooLong = errors.New("entry too long to be sorted")

const (
	// maxRuns is how many sorted files are merged at a time.
	maxRuns = 64
	// longest is how long an entry may be.
	longest = 1 << 30
	// mostRoom keeps places in an arena within 32 bits, with the longest entry at its end.
	mostRoom = 2 << 30
)

// Sorter puts entries in the order of their bytes. It has two arenas in memory: while one is filled, the other
// is sorted and written to a nameless temporary file, a run; what is in memory at the end stays there. Then all
// are merged. When there are many runs, they are merged into longer ones. The files need not survive anything.
// It is not safe for concurrent use, and must be closed.
type Sorter struct {
	dir     string
	room    int // bytes of memory for both arenas
	filling *arena
	spare   *arena     // being written while writing is not nil
	writing chan error // says how that went
	levels  [][]*os.File
}

// New begins to sort, with temporary files in a folder, and about that many bytes of memory.
func New(dir string, room int) *Sorter {
	half := min(room/2, mostRoom)
	return &Sorter{dir: dir, room: room, filling: &arena{room: half}, spare: &arena{room: half}}
}

// Add takes an entry, which is given in two parts. It is copied.
func (s *Sorter) Add(head []byte, tail string) error {
	n := len(head) + len(tail)
	if n > longest {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	if len(s.filling.spans) > 0 && s.filling.size()+n+spanSize > s.filling.room {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.filling.add(head, tail)
	return nil
}

// Spilled reports whether there is more than fits into memory.
func (s *Sorter) Spilled() bool { return len(s.levels) > 0 }

// spill begins to write the full arena to a new run, once the one before is written.
func (s *Sorter) spill() error {
	if err := s.wait(); err != nil {
		return err
	}
	f, err := s.newRun(0)
	if err != nil {
		return err
	}
	full := s.filling
	s.filling, s.spare = s.spare, full
	written := make(chan error, 1)
	s.writing = written
	go func() { written <- full.writeRun(f) }()
	return nil
}

// newRun makes a file for a run of a level. If the level is full, its runs become one of the next level.
func (s *Sorter) newRun(level int) (*os.File, error) {
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	if len(s.levels[level]) == maxRuns {
		if err := s.compact(level); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(s.dir, "sort-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("make sorting file: %w", err)
	}
	s.levels[level] = append(s.levels[level], f)
	if err := os.Remove(f.Name()); err != nil { // it lives as long as it is open
		return nil, fmt.Errorf("unname sorting file: %w", err)
	}
	return f, nil
}

// compact merges the runs of a level into one of the next.
func (s *Sorter) compact(level int) error {
	into, err := s.newRun(level + 1)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(into, bufferSize)
	for entry, err := range merge(runsOf(s.levels[level], minBuffer)) {
		if err != nil {
			return err
		}
		writeEntry(out, entry)
	}
	if err := finish(into, out); err != nil {
		return err
	}
	old := s.levels[level]
	s.levels[level] = nil
	for _, f := range old {
		err = errors.Join(err, f.Close())
	}
	return err
}

// wait waits until no arena is being written.
func (s *Sorter) wait() error {
	if s.writing == nil {
		return nil
	}
	err := <-s.writing
	s.writing = nil
	return err
}

// Sorted yields all entries in order, once. An entry is valid until the next one. Nothing can be added any more.
func (s *Sorter) Sorted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := s.wait(); err != nil {
			yield(nil, err)
			return
		}
		s.spare = nil
		files := slices.Concat(s.levels...)
		all := runsOf(files, max(s.room/2/max(len(files), 1), minBuffer))
		for entry, err := range merge(append(all, &run{memory: s.filling, spans: s.filling.sorted()})) {
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

// Close gives up the temporary files.
func (s *Sorter) Close() error {
	err := s.wait()
	for _, f := range slices.Concat(s.levels...) {
		err = errors.Join(err, f.Close())
	}
	s.levels = nil
	return err
}

// arena holds entries in memory.
type arena struct {
	room  int // bytes that it may take
	bytes []byte
	spans []span
}

// span is where an entry lies in an arena.
type span struct {
	head       uint64 // its first bytes, which nearly always decide
	start, end uint32
}

const spanSize = 16

func (a *arena) size() int { return len(a.bytes) + len(a.spans)*spanSize }

func (a *arena) add(head []byte, tail string) {
	if a.bytes == nil {
		a.bytes = make([]byte, 0, a.room)
	}
	start := len(a.bytes)
	a.bytes = append(append(a.bytes, head...), tail...)
	var first [8]byte
	copy(first[:], a.bytes[start:])
	a.spans = append(a.spans, span{binary.BigEndian.Uint64(first[:]), uint32(start), uint32(len(a.bytes))})
}

func (a *arena) entry(at span) []byte { return a.bytes[at.start:at.end] }

// sorted puts the spans in order of the entries.
func (a *arena) sorted() []span {
	slices.SortFunc(a.spans, func(x, y span) int {
		switch {
		case x.head < y.head:
			return -1
		case x.head > y.head:
			return 1
		}
		return bytes.Compare(a.entry(x), a.entry(y))
	})
	return a.spans
}

// writeRun writes the entries in order, and empties the arena.
func (a *arena) writeRun(f *os.File) error {
	out := bufio.NewWriterSize(f, bufferSize)
	for _, at := range a.sorted() {
		writeEntry(out, a.entry(at))
	}
	a.bytes, a.spans = a.bytes[:0], a.spans[:0]
	return finish(f, out)
}

// writeEntry writes an entry after its length. The writer keeps the first error, for finish.
func writeEntry(out *bufio.Writer, entry []byte) {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(entry)))
	_, _ = out.Write(size[:])
	_, _ = out.Write(entry)
}

// finish writes what is left and goes back to the beginning of the file.
func finish(f *os.File, out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write sorting file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("write sorting file: %w", err)
	}
	return nil
}
