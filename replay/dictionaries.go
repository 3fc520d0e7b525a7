package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdfast/warc"
)

// dictionaries keeps those of the .warc.zst files that were read last, so that a page of such a file costs one read of
// the file's beginning, not one for each of its pictures.
type dictionaries struct {
	mu   sync.Mutex
	last []dictionaryOf // the newest at the end
	size int
}

type dictionaryOf struct {
	file string
	d    *warc.Dictionary // nil: the file has none
}

const (
	keptDictionaries = 64
	keptOfThem       = 32 << 20 // bytes
)

// get returns the dictionary of a file, nil if it has none; false if it is not known.
func (k *dictionaries) get(file string) (*warc.Dictionary, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.last, func(d dictionaryOf) bool { return d.file == file })
	if i < 0 {
		return nil, false
	}
	found := k.last[i]
	k.last = append(slices.Delete(k.last, i, i+1), found)
	return found.d, true
}

// put keeps the dictionary of a file in place of those that were not used for longest.
func (k *dictionaries) put(file string, d *warc.Dictionary) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = slices.DeleteFunc(k.last, func(other dictionaryOf) bool {
		if other.file == file {
			k.size -= other.d.Size()
		}
		return other.file == file
	})
	k.last, k.size = append(k.last, dictionaryOf{file, d}), k.size+d.Size()
	for len(k.last) > keptDictionaries || k.size > keptOfThem && len(k.last) > 1 {
		k.size -= k.last[0].d.Size()
		k.last = slices.Delete(k.last, 0, 1)
	}
}

// dictionary returns what the records of a file are compressed with; nil if its name is not that of a file that may
// have a dictionary, or it has none. A file's first record needs none: the dictionary stands before it.
func (h *Handler) dictionary(ctx context.Context, file string, offset int64) (*warc.Dictionary, error) {
	if offset == 0 || !strings.HasSuffix(file, ".zst") {
		return nil, nil
	}
	if d, ok := h.dictionaries.get(file); ok {
		return d, nil
	}
	in, err := h.records.Open(ctx, file, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("read the dictionary of %s: %w", file, err)
	}
	defer in.Close()
	d, err := warc.ReadDictionary(in, file)
	if err != nil {
		return nil, err
	}
	h.dictionaries.put(file, d)
	return d, nil
}
