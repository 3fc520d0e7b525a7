// Package memory is an in-memory key-value transaction for the agreed state, for tests of rooms that know the catalog
// but not its database. Contract tests what it and the transaction over Badger have in common.
package memory

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Tx is a transaction over sorted keys; the zero value is an empty one. It is not for several goroutines at once.
type Tx struct {
	keys   []string
	values map[string][]byte
	made   map[string]any // of the keys with a prefix; see Remember
}

// reserved reports whether a key is one of the database's own, which a transaction neither shows nor writes.
func reserved(key []byte) bool { return len(key) == 0 || key[0] == 0 }

// Get returns the value of key, or nil when there is none.
func (m *Tx) Get(key []byte) ([]byte, error) { return bytes.Clone(m.values[string(key)]), nil }

// Scan calls visit for the keys with the prefix, from the given key on, in order, until it returns false. A visit may
// change the transaction; changes behind the scan's position are not seen. The slices given to visit are overwritten
// after it returns.
func (m *Tx) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	var key, value []byte
	for at := max(string(prefix), string(from)); ; at = string(key) + "\x00" {
		i := sort.SearchStrings(m.keys, at)
		if i == len(m.keys) || !strings.HasPrefix(m.keys[i], string(prefix)) {
			return nil
		}
		next := m.keys[i]
		clear(key)
		clear(value)
		key, value = append(key[:0], next...), append(value[:0], m.values[next]...)
		if value == nil {
			value = []byte{}
		}
		if !visit(key, value) {
			return nil
		}
		key = append(key[:0], next...)
	}
}

// Remember returns what make returned the last time if no key with the prefix was written since, else what it returns
// now.
func (m *Tx) Remember(prefix string, make func() (any, error)) (any, error) {
	if value, there := m.made[prefix]; there {
		return value, nil
	}
	value, err := make()
	if err == nil {
		if m.made == nil {
			m.made = map[string]any{}
		}
		m.made[prefix] = value
	}
	return value, err
}

// forget forgets what was made of a key.
func (m *Tx) forget(key []byte) {
	for prefix := range m.made {
		if strings.HasPrefix(string(key), prefix) {
			delete(m.made, prefix)
		}
	}
}

// Set makes value the value of key.
func (m *Tx) Set(key, value []byte) error {
	if reserved(key) {
		return fmt.Errorf("write the state: key %q is reserved", key)
	}
	m.forget(key)
	if i, there := slices.BinarySearch(m.keys, string(key)); !there {
		m.keys = slices.Insert(m.keys, i, string(key))
	}
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[string(key)] = append([]byte{}, value...)
	return nil
}

// Delete removes key.
func (m *Tx) Delete(key []byte) error {
	if reserved(key) {
		return fmt.Errorf("write the state: key %q is reserved", key)
	}
	m.forget(key)
	if i, there := slices.BinarySearch(m.keys, string(key)); there {
		m.keys = slices.Delete(m.keys, i, i+1)
		delete(m.values, string(key))
	}
	return nil
}

// All returns the keys in order, each with its value, which must not be changed.
func (m *Tx) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, key := range m.keys {
			if !yield(key, m.values[key]) {
				return
			}
		}
	}
}

// Clone returns a transaction of the same keys and values that knows nothing of later changes.
func (m *Tx) Clone() *Tx { return &Tx{keys: slices.Clone(m.keys), values: maps.Clone(m.values)} }
