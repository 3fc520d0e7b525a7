package raft

import "bytes"

// Limits of what a cache keeps.
const (
	cacheBytes  = 4 << 20
	cachedValue = 4 << 10 // the largest value kept
	cachedScan  = 32      // the most keys of a scan that is kept
	cachedExtra = 64      // about what keeping a value takes beside key and value
)

// cache keeps values and short scans of a store that the next commands are likely to read again: the cluster's
// record, a node's window, a replica's totals. Only the goroutine that applies commands uses it, and it
// follows every commit, so that it always shows the store's latest version.
type cache struct {
	store  *store // whose content it shows
	bytes  int
	values map[string][]byte
	scans  map[string][]change // by prefix, from the prefix's start
}

// of makes the cache show the store, empty if it showed another.
func (c *cache) of(s *store) {
	if c.store != s || c.bytes > cacheBytes {
		*c = cache{store: s, values: make(map[string][]byte), scans: make(map[string][]change)}
	}
}

// keep remembers a value that was read.
func (c *cache) keep(key, value []byte) {
	if value != nil && len(value) <= cachedValue {
		c.values[string(key)] = bytes.Clone(value)
		c.bytes += len(key) + len(value) + cachedExtra
	}
}

// committed follows a commit.
func (c *cache) committed(o *overlay) {
	for _, w := range o.changes {
		if old, known := c.values[string(w.key)]; known {
			delete(c.values, string(w.key))
			c.bytes -= len(w.key) + len(old) + cachedExtra
			if !w.deleted {
				c.keep(w.key, w.value)
			}
		}
	}
	for prefix, seen := range c.scans {
		if o.touches([]byte(prefix)) {
			delete(c.scans, prefix)
			c.bytes -= sizeOfScan(prefix, seen)
		}
	}
}

// sizeOfScan returns how many bytes a kept scan counts.
func sizeOfScan(prefix string, seen []change) int {
	size := len(prefix) + cachedExtra
	for _, k := range seen {
		size += len(k.key) + len(k.value) + cachedExtra
	}
	return size
}

// scan scans a whole prefix of the written state, from memory if it was scanned before.
func (c *cache) scan(r reader, prefix []byte, visit func(key, value []byte) bool) error {
	known, ok := c.scans[string(prefix)]
	if ok {
		for _, k := range known {
			if !visit(k.key, k.value) {
				break
			}
		}
		return nil
	}
	whole := true
	var seen []change
	err := r.Scan(prefix, nil, func(key, value []byte) bool {
		if len(seen) < cachedScan && len(value) <= cachedValue {
			seen = append(seen, change{key: bytes.Clone(key), value: bytes.Clone(value)})
		} else {
			whole = false
		}
		more := visit(key, value)
		whole = whole && more
		return more
	})
	if err == nil && whole {
		c.scans[string(prefix)] = seen
		c.bytes += sizeOfScan(string(prefix), seen)
	}
	return err
}
