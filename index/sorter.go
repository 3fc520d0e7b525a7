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

// sorter puts any number of digest entries in order. It has two arenas in
// memory: while one is filled, the other is sorted and written to a nameless
// temporary file, a run; the last one stays in memory. Then all are merged.
// The files need not survive anything.
type sorter struct {
	dir     string
	room    int // bytes of memory for all of it
	filling *arena
	spare   *arena     // being written while writing is not nil
	writing chan error // tells how that went
	runs    []*os.File
}

// digestEntry is one entry: its key has a fixed length, its value is a URL key.
type digestEntry struct{ key, value []byte }

const digestKeyLen = 1 + hashLen + tailLen

func newSorter(dir string, room int) *sorter {
	return &sorter{dir: dir, room: room, filling: &arena{room: room / 2}, spare: &arena{room: room / 2}}
}

func (s *sorter) add(key []byte, value string) error {
	if s.filling.size()+len(key)+len(value)+spanSize > s.filling.room {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.filling.add(key, value)
	return nil
}

// spill begins to write the full arena to a new run, once the one before is written.
func (s *sorter) spill() error {
	if err := s.wait(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, "load-*.tmp")
	if err != nil {
		return fmt.Errorf("make sorting file: %w", err)
	}
	s.runs = append(s.runs, f)
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("unname sorting file: %w", err)
	}
	full := s.filling
	s.filling, s.spare = s.spare, full
	written := make(chan error, 1)
	s.writing = written
	go func() { written <- full.writeRun(f) }()
	return nil
}

// wait waits until no arena is being written.
func (s *sorter) wait() error {
	if s.writing == nil {
		return nil
	}
	err := <-s.writing
	s.writing = nil
	return err
}

// sorted yields all entries in order. They are valid until the next one.
func (s *sorter) sorted() iter.Seq2[digestEntry, error] {
	return func(yield func(digestEntry, error) bool) {
		if err := s.wait(); err != nil {
			yield(digestEntry{}, err)
			return
		}
		s.spare = nil
		last := &run{memory: s.filling, spans: s.filling.sorted()}
		merge := runs{last}
		for _, f := range s.runs {
			size := min(max(s.room/2/len(s.runs), 4<<10), 256<<10)
			merge = append(merge, &run{file: bufio.NewReaderSize(f, size)})
		}
		for _, r := range merge {
			if err := r.next(); err != nil {
				yield(digestEntry{}, err)
				return
			}
		}
		merge = slices.DeleteFunc(merge, func(r *run) bool { return r.ended })
		heap.Init(&merge)
		for len(merge) > 0 {
			first := merge[0]
			if !yield(first.head, nil) {
				return
			}
			if err := first.next(); err != nil {
				yield(digestEntry{}, err)
				return
			}
			if first.ended {
				heap.Pop(&merge)
			} else if len(merge) > 1 {
				heap.Fix(&merge, 0)
			}
		}
	}
}

func (s *sorter) close() {
	s.wait() // an error has no one left to hear it
	for _, f := range s.runs {
		f.Close()
	}
}

// arena holds entries in memory.
type arena struct {
	room  int // bytes that it may take
	bytes []byte
	spans []span
}

// span is where an entry lies in an arena.
type span struct {
	head       uint64 // the first bytes of the hash, which nearly always decide
	start, end uint32
}

const spanSize = 16

func (a *arena) size() int { return len(a.bytes) + len(a.spans)*spanSize }

func (a *arena) add(key []byte, value string) {
	if a.bytes == nil {
		a.bytes = make([]byte, 0, a.room)
	}
	start := uint32(len(a.bytes))
	a.bytes = append(append(a.bytes, key...), value...)
	a.spans = append(a.spans, span{binary.BigEndian.Uint64(key[1:]), start, uint32(len(a.bytes))})
}

func (a *arena) entry(at span) digestEntry {
	return digestEntry{a.bytes[at.start : at.start+digestKeyLen], a.bytes[at.start+digestKeyLen : at.end]}
}

// sorted puts the spans in order of the entries' keys.
func (a *arena) sorted() []span {
	slices.SortFunc(a.spans, func(x, y span) int {
		switch {
		case x.head < y.head:
			return -1
		case x.head > y.head:
			return 1
		}
		return bytes.Compare(a.entry(x).key, a.entry(y).key)
	})
	return a.spans
}

// writeRun writes the entries in order, empties the arena and goes back to the beginning of the file.
func (a *arena) writeRun(f *os.File) error {
	out := bufio.NewWriterSize(f, 1<<18)
	var size [4]byte
	for _, at := range a.sorted() {
		binary.BigEndian.PutUint32(size[:], at.end-at.start)
		out.Write(size[:])
		out.Write(a.bytes[at.start:at.end])
	}
	if err := out.Flush(); err != nil { // keeps the first error of the writes before
		return fmt.Errorf("write sorting file: %w", err)
	}
	a.bytes, a.spans = a.bytes[:0], a.spans[:0]
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// run is sorted entries being read, from a file or from an arena.
type run struct {
	file   *bufio.Reader
	memory *arena
	spans  []span
	taken  int    // bytes of the head that are still in the reader's buffer
	large  []byte // a head that its buffer cannot hold
	head   digestEntry
	ended  bool
}

// next makes the next entry the head, or the run ended.
func (r *run) next() error {
	if r.memory != nil {
		if r.ended = len(r.spans) == 0; !r.ended {
			r.head, r.spans = r.memory.entry(r.spans[0]), r.spans[1:]
		}
		return nil
	}
	if err := r.read(); errors.Is(err, io.EOF) {
		r.ended = true
	} else if err != nil {
		return fmt.Errorf("read sorting file: %w", err)
	}
	return nil
}

func (r *run) read() error {
	if _, err := r.file.Discard(r.taken); err != nil {
		return err
	}
	r.taken = 0
	b, err := r.file.Peek(4)
	if err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(b))
	if 4+n <= r.file.Size() {
		r.taken = 4 + n
		b, err = r.file.Peek(r.taken)
		if err != nil {
			return noEOF(err)
		}
		b = b[4:]
	} else {
		r.large = slices.Grow(r.large[:0], n)[:n]
		b = r.large
		if _, err := r.file.Discard(4); err != nil {
			return err
		}
		if _, err := io.ReadFull(r.file, b); err != nil {
			return noEOF(err)
		}
	}
	r.head = digestEntry{b[:digestKeyLen], b[digestKeyLen:]}
	return nil
}

// noEOF makes an end in the middle of an entry the error that it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// runs is a heap with the run with the first entry on top.
type runs []*run

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return bytes.Compare(h[i].head.key, h[j].head.key) < 0 }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
