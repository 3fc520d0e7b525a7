package batch

import (
	"bufio"
	"container/heap"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"holdfast/catalog"
)

// index reads the index of a shard, some entries at a time: between two reads it holds nothing open, so that all 4096
// can be read side by side.
type index struct {
	path, out string
	at        int64 // in the file
	left      int   // entries that were not read yet
	ready     []entry
}

// readAhead is how many entries are read at a time.
const readAhead = 16

// openIndex opens the index of a shard; nil if there is none.
func openIndex(dir string, s catalog.Shard) (*index, error) {
	x := &index{path: indexPath(dir, s), out: filepath.Join(dir, s.String()+".out")}
	file, err := os.Open(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var head indexHead
	line, err := readLine(bufio.NewReader(file))
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", x.path, err)
	}
	x.at, x.left = int64(len(line))+1, head.Files
	return x, nil
}

// next returns the next entry, nil at the end.
func (x *index) next() (*entry, error) {
	if len(x.ready) == 0 && x.left > 0 {
		if err := x.fill(); err != nil {
			return nil, fmt.Errorf("read %s: %w", x.path, err)
		}
	}
	if len(x.ready) == 0 {
		return nil, nil
	}
	e := x.ready[0]
	x.ready = x.ready[1:]
	return &e, nil
}

// each gives the rest of the entries.
func (x *index) each(take func(*entry)) error {
	for {
		e, err := x.next()
		if e == nil || err != nil {
			return err
		}
		take(e)
	}
}

func (x *index) fill() error {
	file, err := os.Open(x.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(x.at, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(file, 8<<10)
	for len(x.ready) < readAhead && x.left > 0 {
		line, err := readLine(in)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		x.at += int64(len(line)) + 1
		x.left--
		x.ready = append(x.ready, e)
	}
	return nil
}

// give gives the output of an entry, and an error if it is not what was kept.
func (x *index) give(e *entry, emit func(outcome, io.Reader) error) error {
	if e.Length == 0 {
		return emit(outcome{File: e.Name}, strings.NewReader(""))
	}
	file, err := os.Open(x.out)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	body := io.TeeReader(io.NewSectionReader(file, e.Offset, e.Length), sum)
	if err := emit(outcome{File: e.Name, Bytes: e.Length}, body); err != nil {
		return err
	}
	if catalog.Digest(sum.Sum(nil)) != e.SHA256 {
		return fmt.Errorf("what was made of %s is damaged on this node's disk", e.Name)
	}
	return nil
}

// indexes are those of all shards of a batch.
type indexes struct {
	all   []*index
	heads []*entry
	err   error
}

func openIndexes(dir string) (*indexes, error) {
	there, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	x := &indexes{}
	for _, e := range there {
		name, ok := strings.CutSuffix(e.Name(), ".index")
		if !ok {
			continue
		}
		s, err := catalog.ParseShard(name)
		if err != nil {
			continue // a temporary name, after a crash
		}
		one, err := openIndex(dir, s)
		if err != nil {
			return nil, err
		}
		first, err := one.next()
		if err != nil {
			return nil, err
		}
		if first != nil {
			x.all, x.heads = append(x.all, one), append(x.heads, first)
		}
	}
	heap.Init(x)
	return x, err
}

// sorted yields the entries of all shards by name, each with its index. After an error it ends.
func (x *indexes) sorted() iter.Seq2[*entry, *index] {
	return func(yield func(*entry, *index) bool) {
		for len(x.all) > 0 {
			if !yield(x.heads[0], x.all[0]) {
				return
			}
			next, err := x.all[0].next()
			if err != nil {
				x.err = err
				return
			}
			if next == nil {
				heap.Pop(x)
				continue
			}
			x.heads[0] = next
			heap.Fix(x, 0)
		}
	}
}

// Len, Less, Swap, Push and Pop are for package heap.
func (x *indexes) Len() int { return len(x.all) }

// Less implements heap.Interface.
func (x *indexes) Less(i, j int) bool { return x.heads[i].Name < x.heads[j].Name }

// Swap implements heap.Interface.
func (x *indexes) Swap(i, j int) {
	x.all[i], x.all[j] = x.all[j], x.all[i]
	x.heads[i], x.heads[j] = x.heads[j], x.heads[i]
}

// Push implements heap.Interface; nothing is pushed.
func (x *indexes) Push(any) {}

// Pop implements heap.Interface.
func (x *indexes) Pop() any {
	n := len(x.all) - 1
	last := x.all[n]
	x.all, x.heads = x.all[:n], x.heads[:n]
	return last
}
