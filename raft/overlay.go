package raft

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/btree"
)

// reader reads the catalog's keys at one version. It is a catalog.Reader.
type reader struct {
	txn *badger.Txn
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

// Get returns the value of key, or nil when there is none.
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
	cache   *cache // of the state below; nil: none
	changes *btree.BTreeG[change]
	bytes   int // of the changed keys and values
}

type change struct {
	key, value []byte
	deleted    bool
}

func newOverlay(txn *badger.Txn) *overlay {
	return &overlay{
		reader:  reader{txn: txn},
		changes: btree.NewG(32, func(a, b change) bool { return bytes.Compare(a.key, b.key) < 0 }),
	}
}

// Get returns the value of key, or nil when there is none.
func (o *overlay) Get(key []byte) ([]byte, error) {
	if c, ok := o.changes.Get(change{key: key}); ok {
		if c.deleted {
			return nil, nil
		}
		return append([]byte{}, c.value...), nil
	}
	if o.cache == nil {
		return o.reader.Get(key)
	}
	if value, ok := o.cache.values[string(key)]; ok {
		return append([]byte{}, value...), nil
	}
	value, err := o.reader.Get(key)
	if err == nil {
		o.cache.keep(key, value)
	}
	return value, err
}

// Set makes value the value of key. The overlay keeps copies.
func (o *overlay) Set(key, value []byte) error {
	return o.put(change{key: bytes.Clone(key), value: bytes.Clone(value)})
}

// Delete removes key.
func (o *overlay) Delete(key []byte) error {
	return o.put(change{key: bytes.Clone(key), deleted: true})
}

func (o *overlay) put(c change) error {
	if reserved(c.key) {
		return fmt.Errorf("write the state: key %q is reserved", c.key)
	}
	old, replaced := o.changes.ReplaceOrInsert(c)
	o.bytes += len(c.key) + len(c.value)
	if replaced {
		o.bytes -= len(old.key) + len(old.value)
	}
	return nil
}

// each calls fn for every change in the order of the keys.
func (o *overlay) each(fn func(key, value []byte, deleted bool) error) (err error) {
	o.changes.Ascend(func(c change) bool {
		err = fn(c.key, c.value, c.deleted)
		return err == nil
	})
	return err
}

// touches reports whether a changed key has the prefix.
func (o *overlay) touches(prefix []byte) bool {
	c, ok := o.next(prefix)
	return ok && bytes.HasPrefix(c.key, prefix)
}

// next returns the first change at or after key.
func (o *overlay) next(key []byte) (found change, ok bool) {
	o.changes.AscendGreaterOrEqual(change{key: key}, func(c change) bool {
		found, ok = c, true
		return false
	})
	return found, ok
}

// Scan calls visit for the keys with the prefix from the given key on, in order, until it returns false. A
// visit may change the overlay; changes behind the scan's place are not seen.
func (o *overlay) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	if o.cache != nil && len(prefix) > 0 && bytes.Compare(from, prefix) <= 0 && !reserved(prefix) && !o.touches(prefix) {
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
