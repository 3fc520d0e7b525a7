package raft

import "sync"

// keysMost bounds the keys that are kept until they are taken.
const keysMost = 4096

// Keys collects which keys with one prefix were written. It is safe for concurrent use.
type Keys struct {
	watch  *Watch
	prefix string

	mu    sync.Mutex
	tails map[string]struct{}
}

// Keys begins to collect the keys with the prefix that are written. Close it when done.
func (n *Node) Keys(prefix string) *Keys {
	k := &Keys{prefix: prefix, tails: make(map[string]struct{})}
	w := n.storage.state.watches
	k.watch = &Watch{prefixes: [][]byte{[]byte(prefix)}, keys: k, set: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[k.watch] = struct{}{}
	return k
}

// Take returns what follows the prefix in the keys that were written since the last call, deleted ones too. Keys beyond
// the first thousands are left out, and so is what a state has that was installed as a whole: who needs every key looks
// at the state.
func (k *Keys) Take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]string, 0, len(k.tails))
	for tail := range k.tails {
		out = append(out, tail)
	}
	clear(k.tails)
	return out
}

// Close ends the collection.
func (k *Keys) Close() { k.watch.Close() }

// written notes the changes that have the prefix.
func (k *Keys) written(o *overlay) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o.eachUnder([]byte(k.prefix), func(key []byte) bool {
		k.tails[string(key[len(k.prefix):])] = struct{}{}
		return len(k.tails) < keysMost
	})
}
