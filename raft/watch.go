package raft

import "sync"

// Watch tells that keys of the state were written. C holds at most one signal, so that a slow reader sees
// many writes as one; after it the state read with View has the writes.
type Watch struct {
	C <-chan struct{}

	c        chan struct{}
	prefixes [][]byte
	set      *watches
	keys     *Keys // that are collected in place of a signal
}

// watches are the watches of one state.
type watches struct {
	mu  sync.Mutex
	all map[*Watch]struct{}
}

func newWatches() *watches { return &watches{all: make(map[*Watch]struct{})} }

// Watch signals when a key with one of the prefixes is written, or any key when there is no prefix, and
// whenever a whole state was installed. Close it when done.
func (n *Node) Watch(prefixes ...string) *Watch {
	c := make(chan struct{}, 1)
	w := &Watch{C: c, c: c, set: n.storage.state.watches}
	for _, p := range prefixes {
		w.prefixes = append(w.prefixes, []byte(p))
	}
	if len(prefixes) == 0 {
		w.prefixes = [][]byte{nil}
	}
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.set.all[w] = struct{}{}
	return w
}

// Close ends the watch. C stays open and is silent.
func (w *Watch) Close() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	delete(w.set.all, w)
}

// signal leaves a signal unless one waits already.
func (w *Watch) signal() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// written signals the watches of which a change has a prefix.
func (s *watches) written(o *overlay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		for _, p := range w.prefixes {
			if !o.touches(p) {
				continue
			}
			if w.keys != nil {
				w.keys.written(o)
			} else {
				w.signal()
			}
			break
		}
	}
}

// installed signals every watch.
func (s *watches) installed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if w.keys == nil {
			w.signal()
		}
	}
}
