package raft

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// reader reads the catalog's keys at one version. It is a catalog.Reader.
type reader struct {
	txn     *badger.Txn
	memory  *remembered // nil: of none
	version uint64      // that the memory knows the transaction by
}

// own returns the value of one of the state's own keys, nil when it is not there.
func (r reader) own(key string) ([]byte, error) { return r.get([]byte(key)) }

func (r reader) get(key []byte) ([]byte, error) {
	item, err := r.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	value, err := item.ValueCopy(nil)
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}

// Get returns the value of key, or nil if there is none.
func (r reader) Get(key []byte) ([]byte, error) {
	if reserved(key) {
		return nil, nil
	}
	return r.get(key)
}

// Scan calls visit for the keys with the prefix from the given key on, in order, until it returns false.
func (r reader) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	it := r.iterate(prefix, from)
	defer it.Close()
	for ; it.Valid(); it.Next() {
		more := false
		err := it.Item().Value(func(value []byte) error {
			more = visit(it.Item().Key(), value)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the state: %w", err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// iterate returns an iterator at the first catalog key of the prefix at or after from.
func (r reader) iterate(prefix, from []byte) *badger.Iterator {
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false // values lie beside their keys
	opts.Prefix = prefix
	it := r.txn.NewIterator(opts)
	it.Seek(start(prefix, from))
	return it
}

// start returns where a scan of the prefix begins.
func start(prefix, from []byte) []byte {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	if len(from) == 0 || from[0] == 0 {
		from = []byte{1} // past the state's own keys
	}
	return from
}

// reserved reports whether a key cannot be the catalog's.
func reserved(key []byte) bool { return len(key) == 0 || key[0] == 0 }

// overlay is a catalog.Tx: the state at one version with changes on top of it that are not yet written.
type overlay struct {
	reader
	cache   *cache         // of the state below; nil: none
	changes []change       // in the order in which their keys were first changed
	places  map[string]int // of the changes
	order   []int          // places in the order of the keys; not of the latest changes
	kinds   map[string]struct{}
	bytes   int // of the changed keys and values

	puts, putBytes int // keys set or deleted, and bytes of them and their values, since the log entry began
}

type change struct {
	key, value []byte
	deleted    bool
}

func newOverlay(txn *badger.Txn) *overlay {
	return &overlay{reader: reader{txn: txn}, places: make(map[string]int), kinds: make(map[string]struct{})}
}

// reuse returns an overlay without changes that takes over the old one's memory, unless that is much.
func (o *overlay) reuse(txn *badger.Txn) *overlay {
	if o == nil || cap(o.changes) > 4096 {
		return newOverlay(txn)
	}
	clear(o.changes)
	clear(o.places)
	clear(o.kinds)
	return &overlay{reader: reader{txn: txn}, changes: o.changes[:0], places: o.places, kinds: o.kinds}
}

// kindOf returns the key's first part with its slash, or nothing when there is no slash.
func kindOf(key []byte) []byte { return key[:bytes.IndexByte(key, '/')+1] }

// Get returns the value of key, or nil if there is none.
func (o *overlay) Get(key []byte) ([]byte, error) {
	if i, ok := o.places[string(key)]; ok {
		return o.changes[i].value, nil
	}
	if o.cache == nil {
		return o.reader.Get(key)
	}
	if value, ok := o.cache.values[string(key)]; ok {
		return value, nil
	}
	value, err := o.reader.Get(key)
	if err == nil {
		o.cache.keep(key, value)
	}
	return value, err
}

// Set makes value the value of key. The overlay keeps both.
func (o *overlay) Set(key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return o.put(change{key: key, value: value})
}

// Delete removes key.
func (o *overlay) Delete(key []byte) error { return o.put(change{key: key, deleted: true}) }

func (o *overlay) put(c change) error {
	if reserved(c.key) {
		return fmt.Errorf("write the state: key %q is reserved", c.key)
	}
	o.bytes += len(c.key) + len(c.value)
	o.puts++
	o.putBytes += len(c.key) + len(c.value)
	if i, ok := o.places[string(c.key)]; ok {
		o.bytes -= len(c.key) + len(o.changes[i].value)
		o.changes[i] = c
		return nil
	}
	o.places[string(c.key)] = len(o.changes)
	o.changes = append(o.changes, c)
	if kind := kindOf(c.key); len(kind) > 0 {
		if _, known := o.kinds[string(kind)]; !known {
			o.kinds[string(kind)] = struct{}{}
		}
	}
	return nil
}

// touches reports whether a changed key has the prefix.
func (o *overlay) touches(prefix []byte) bool {
	if kind := kindOf(prefix); len(kind) > 0 {
		if _, known := o.kinds[string(kind)]; !known {
			return false
		}
	}
	c, ok := o.next(prefix)
	return ok && bytes.HasPrefix(c.key, prefix)
}

// eachUnder calls visit for the changed keys with the prefix, in order, until it returns false.
func (o *overlay) eachUnder(prefix []byte, visit func(key []byte) bool) {
	o.sort()
	i, _ := slices.BinarySearchFunc(o.order, prefix, func(place int, key []byte) int {
		return bytes.Compare(o.changes[place].key, key)
	})
	for ; i < len(o.order); i++ {
		key := o.changes[o.order[i]].key
		if !bytes.HasPrefix(key, prefix) || !visit(key) {
			return
		}
	}
}

// next returns the first change at or after key.
func (o *overlay) next(key []byte) (found change, ok bool) {
	o.sort()
	i, _ := slices.BinarySearchFunc(o.order, key, func(place int, key []byte) int {
		return bytes.Compare(o.changes[place].key, key)
	})
	if i == len(o.order) {
		return change{}, false
	}
	return o.changes[o.order[i]], true
}

// sort brings the order up to date: it sorts the latest changes and merges them with those sorted before.
func (o *overlay) sort() {
	old := o.order
	if len(old) == len(o.changes) {
		return
	}
	latest := make([]int, 0, len(o.changes)-len(old))
	for i := len(old); i < len(o.changes); i++ {
		latest = append(latest, i)
	}
	compare := func(a, b int) int { return bytes.Compare(o.changes[a].key, o.changes[b].key) }
	slices.SortFunc(latest, compare)
	o.order = make([]int, 0, len(o.changes))
	for len(old) > 0 && len(latest) > 0 {
		from := &old
		if compare(latest[0], old[0]) < 0 {
			from = &latest
		}
		o.order = append(o.order, (*from)[0])
		*from = (*from)[1:]
	}
	o.order = append(append(o.order, old...), latest...)
}

// Scan calls visit for the keys with the prefix from the given key on, in order, until it returns false. A
// visit may change the overlay; changes behind the scan's place are not seen.
func (o *overlay) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	whole := bytes.Compare(from, prefix) <= 0
	if o.cache != nil && len(prefix) > 0 && whole && !reserved(prefix) && !o.touches(prefix) {
		return o.cache.scan(o.reader, prefix, visit)
	}
	it := o.iterate(prefix, from)
	defer it.Close()
	at := start(prefix, from)
	for {
		c, changed := o.next(at)
		changed = changed && bytes.HasPrefix(c.key, prefix)
		order := -1 // the written state's key comes first
		switch {
		case !it.Valid() && !changed:
			return nil
		case !it.Valid():
			order = 1
		case changed:
			order = bytes.Compare(it.Item().Key(), c.key)
		}
		more := true
		if order < 0 {
			c.key = it.Item().KeyCopy(nil)
			value, err := it.Item().ValueCopy(nil)
			if err != nil {
				return fmt.Errorf("read the state: %w", err)
			}
			more = visit(c.key, value)
		} else if !c.deleted {
			more = visit(c.key, c.value)
		}
		if !more {
			return nil
		}
		at = append(bytes.Clone(c.key), 0)
		if order <= 0 {
			it.Next()
		}
	}
}
