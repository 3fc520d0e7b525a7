package sorter

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

const (
	bufferSize = 256 << 10
	minBuffer  = 4 << 10
)

// run is sorted entries being read, from a file or from an arena.
type run struct {
	file   *bufio.Reader
	memory *arena
	spans  []span
	taken  int    // bytes of the head that are still in the reader's buffer
	large  []byte // a head that its buffer cannot hold
	head   []byte
	ended  bool
}

// runsOf reads files from their beginnings, with that many bytes of memory for each.
func runsOf(files []*os.File, buffer int) []*run {
	all := make([]*run, len(files))
	for i, f := range files {
		all[i] = &run{file: bufio.NewReaderSize(f, min(buffer, bufferSize))}
	}
	return all
}

// merge yields the entries of all runs in order. They are valid until the next one.
func merge(all runs) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, r := range all {
			if err := r.next(); err != nil {
				yield(nil, err)
				return
			}
		}
		all = slices.DeleteFunc(all, func(r *run) bool { return r.ended })
		heap.Init(&all)
		for len(all) > 0 {
			first := all[0]
			if !yield(first.head, nil) {
				return
			}
			if err := first.next(); err != nil {
				yield(nil, err)
				return
			}
			if first.ended {
				heap.Pop(&all)
			} else if len(all) > 1 {
				heap.Fix(&all, 0)
			}
		}
	}
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
	if errors.Is(err, io.EOF) && len(b) > 0 {
		return io.ErrUnexpectedEOF
	}
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
		r.head = b[4:]
		return nil
	}
	r.large = slices.Grow(r.large[:0], n)[:n]
	if _, err := r.file.Discard(4); err != nil {
		return err
	}
	if _, err := io.ReadFull(r.file, r.large); err != nil {
		return noEOF(err)
	}
	r.head = r.large
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
func (h runs) Less(i, j int) bool { return bytes.Compare(h[i].head, h[j].head) < 0 }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
