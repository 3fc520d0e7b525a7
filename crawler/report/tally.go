package report

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"holdfast/internal/sorter"
)

// errCount reports an entry of a sorting file that is no key with a count.
var errCount = errors.New("read sorted counts: not a key and a count")

// tally adds up counts, below 2^56, by key in bounded memory. Where one key begins with another, the next byte is not
// zero.
type tally struct {
	room   int // keys held in memory
	memory map[string]int64
	sorted *sorter.Sorter // entries: the key, and in eight bytes a part of its count
}

// sortingBytes is the memory in which keys are sorted that do not fit into the map.
const sortingBytes = 16 << 20

func newTally(dir string, room int) *tally {
	return &tally{room: room, memory: map[string]int64{}, sorted: sorter.New(dir, sortingBytes)}
}

const countSize = 8

// add adds n to the key's count.
func (t *tally) add(key string, n int64) error {
	t.memory[key] += n
	if len(t.memory) < t.room {
		return nil
	}
	return t.sort()
}

// sort hands what is in memory to the sorter.
func (t *tally) sort() error {
	var b []byte
	for key, n := range t.memory {
		b = binary.BigEndian.AppendUint64(append(b[:0], key...), uint64(n))
		if err := t.sorted.Add(b, ""); err != nil {
			return err
		}
	}
	clear(t.memory)
	return nil
}

// each gives every key once with its count, in the order of keys.
func (t *tally) each(ctx context.Context, give func(string, int64) error) error {
	if err := t.sort(); err != nil {
		return err
	}
	var key []byte
	sum, n := int64(0), 0
	for entry, err := range t.sorted.Sorted() {
		if err != nil {
			return err
		}
		if n++; n%often == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		end := len(entry) - countSize
		if end < 0 {
			return fmt.Errorf("%w: %x", errCount, entry)
		}
		if n > 1 && !bytes.Equal(entry[:end], key) {
			if err := give(string(key), sum); err != nil {
				return err
			}
			sum = 0
		}
		key, sum = append(key[:0], entry[:end]...), sum+int64(binary.BigEndian.Uint64(entry[end:]))
	}
	if n == 0 {
		return nil
	}
	return give(string(key), sum)
}

func (t *tally) close() error { return t.sorted.Close() }
