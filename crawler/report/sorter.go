package report

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxRuns is how many sorted files are merged at a time.
const maxRuns = 64

// sorter adds up counts by key in bounded memory: sorted runs go to unnamed files, which are merged in the end.
type sorter struct {
	dir    string
	room   int // keys held in memory
	counts map[string]int64
	runs   []*os.File
}

func newSorter(dir string, room int) *sorter {
	return &sorter{dir: dir, room: room, counts: map[string]int64{}}
}

// add adds n to the key's count.
func (s *sorter) add(key string, n int64) error {
	s.counts[key] += n
	if len(s.counts) < s.room {
		return nil
	}
	return s.spill(s.memory)
}

// memory yields what is held in memory, in the order of keys.
func (s *sorter) memory(give func(string, int64) error) error {
	for _, key := range slices.Sorted(maps.Keys(s.counts)) {
		if err := give(key, s.counts[key]); err != nil {
			return err
		}
	}
	return nil
}

// spill writes what from yields, which is then what is in memory, to a new run.
func (s *sorter) spill(from func(func(string, int64) error) error) error {
	f, err := os.CreateTemp(s.dir, "sort-")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil { // it lives as long as it is open
		return errors.Join(err, f.Close())
	}
	out := bufio.NewWriter(f)
	var b []byte
	err = from(func(key string, n int64) error {
		b = binary.AppendUvarint(b[:0], uint64(len(key)))
		b = binary.AppendVarint(append(b, key...), n)
		_, err := out.Write(b)
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.runs = append(s.runs, f)
	s.counts = map[string]int64{}
	if len(s.runs) < maxRuns {
		return nil
	}
	return s.compact()
}

// compact merges all runs into one.
func (s *sorter) compact() error {
	old := s.runs
	s.runs = nil
	err := s.spill(func(give func(string, int64) error) error { return merge(context.Background(), old, give) })
	for _, f := range old {
		err = errors.Join(err, f.Close())
	}
	return err
}

// each gives every key once with its count, in the order of keys.
func (s *sorter) each(ctx context.Context, give func(string, int64) error) error {
	if len(s.runs) == 0 {
		return s.memory(give)
	}
	if len(s.counts) > 0 {
		if err := s.spill(s.memory); err != nil {
			return err
		}
	}
	return merge(ctx, s.runs, give)
}

func (s *sorter) close() {
	for _, f := range s.runs {
		_ = f.Close()
	}
}

// run is a run that is read.
type run struct {
	in    *bufio.Reader
	key   string
	count int64
}

// next reads the run's next key, or io.EOF.
func (r *run) next() error {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	var key strings.Builder
	if _, err := io.CopyN(&key, r.in, int64(n)); err != nil {
		return fmt.Errorf("read sorted run: %w", cut(err))
	}
	r.key = key.String()
	if r.count, err = binary.ReadVarint(r.in); err != nil {
		return fmt.Errorf("read sorted run: %w", cut(err))
	}
	return nil
}

// merge gives every key of the runs once, with the sum of its counts, in the order of keys.
func merge(ctx context.Context, files []*os.File, give func(string, int64) error) error {
	runs := make([]*run, 0, len(files))
	for _, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r := &run{in: bufio.NewReaderSize(f, 16<<10)}
		if err := r.next(); err == nil {
			runs = append(runs, r)
		} else if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	for n := 0; len(runs) > 0; n++ {
		if n%often == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key := slices.MinFunc(runs, func(a, b *run) int { return strings.Compare(a.key, b.key) }).key
		sum := int64(0)
		for i := 0; i < len(runs); {
			r := runs[i]
			if r.key != key {
				i++
				continue
			}
			sum += r.count
			if err := r.next(); errors.Is(err, io.EOF) {
				runs = slices.Delete(runs, i, i+1)
			} else if err != nil {
				return err
			} else {
				i++
			}
		}
		if err := give(key, sum); err != nil {
			return err
		}
	}
	return nil
}
