package index

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// sorter puts any number of digest entries in order: runs that fit in memory
// are sorted and written to nameless temporary files, which are then merged.
// These files need not survive anything.
type sorter struct {
	dir   string
	room  int // bytes that a run may take in memory
	arena []byte
	ends  []uint32 // of each entry in the arena
	runs  []*os.File
}

// digestEntry is one entry: its key has a fixed length, its value is a URL key.
type digestEntry struct{ key, value []byte }

const digestKeyLen = 1 + hashLen + tailLen

func newSorter(dir string, room int) *sorter { return &sorter{dir: dir, room: room} }

func (s *sorter) add(key []byte, value string) error {
	if len(s.arena)+len(key)+len(value) > s.room {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if s.arena == nil {
		s.arena = make([]byte, 0, s.room)
	}
	s.arena = append(append(s.arena, key...), value...)
	s.ends = append(s.ends, uint32(len(s.arena)))
	return nil
}

// inMemory yields the entries that lie in the arena, in order.
func (s *sorter) inMemory() iter.Seq[digestEntry] {
	type span struct {
		head       uint64 // the first bytes of the hash, which nearly always decide
		start, end uint32
	}
	spans := make([]span, len(s.ends))
	start := uint32(0)
	for i, end := range s.ends {
		spans[i] = span{binary.BigEndian.Uint64(s.arena[start+1:]), start, end}
		start = end
	}
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.head < b.head:
			return -1
		case a.head > b.head:
			return 1
		}
		return bytes.Compare(s.arena[a.start:a.start+digestKeyLen], s.arena[b.start:b.start+digestKeyLen])
	})
	return func(yield func(digestEntry) bool) {
		for _, at := range spans {
			if !yield(digestEntry{s.arena[at.start : at.start+digestKeyLen], s.arena[at.start+digestKeyLen : at.end]}) {
				return
			}
		}
	}
}

// spill writes the arena's entries, sorted, to a new run.
func (s *sorter) spill() error {
	f, err := os.CreateTemp(s.dir, "load-*.tmp")
	if err != nil {
		return fmt.Errorf("make sorting file: %w", err)
	}
	s.runs = append(s.runs, f)
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("unname sorting file: %w", err)
	}
	out := bufio.NewWriterSize(f, 1<<18)
	var size [4]byte
	for e := range s.inMemory() {
		binary.BigEndian.PutUint32(size[:], uint32(len(e.value)))
		out.Write(size[:])
		out.Write(e.key)
		out.Write(e.value)
	}
	if err := out.Flush(); err != nil { // keeps the first error of the writes before
		return fmt.Errorf("write sorting file: %w", err)
	}
	s.arena, s.ends = s.arena[:0], s.ends[:0]
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// sorted yields all entries in order. They are valid until the next one.
func (s *sorter) sorted() iter.Seq2[digestEntry, error] {
	return func(yield func(digestEntry, error) bool) {
		if len(s.runs) == 0 {
			for e := range s.inMemory() {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		if err := s.spill(); err != nil {
			yield(digestEntry{}, err)
			return
		}
		s.arena, s.ends = nil, nil
		var heads runHeap
		for _, f := range s.runs {
			r := &run{in: bufio.NewReaderSize(f, 1<<16)}
			if err := heads.advance(r); err != nil {
				yield(digestEntry{}, err)
				return
			}
		}
		for len(heads) > 0 {
			r := heap.Pop(&heads).(*run)
			if !yield(r.head, nil) {
				return
			}
			if err := heads.advance(r); err != nil {
				yield(digestEntry{}, err)
				return
			}
		}
	}
}

func (s *sorter) close() {
	for _, f := range s.runs {
		f.Close()
	}
}

// run is one sorted file being read.
type run struct {
	in   *bufio.Reader
	buf  []byte
	head digestEntry
}

// runHeap has the run with the first entry on top.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].head.key, h[j].head.key) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// advance reads the run's next entry and puts the run on the heap, unless it has ended.
func (h *runHeap) advance(r *run) error {
	var size [4]byte
	if _, err := io.ReadFull(r.in, size[:]); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read sorting file: %w", err)
	}
	n := digestKeyLen + int(binary.BigEndian.Uint32(size[:]))
	r.buf = slices.Grow(r.buf[:0], n)[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return fmt.Errorf("read sorting file: %w", err)
	}
	r.head = digestEntry{r.buf[:digestKeyLen], r.buf[digestKeyLen:]}
	heap.Push(h, r)
	return nil
}
