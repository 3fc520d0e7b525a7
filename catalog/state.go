package catalog

import (
	"slices"
	"strings"
)

// state is the agreed state as one command sees it: the transaction, and over it the command's own
// changes, which reach the transaction only when the command is not refused.
type state struct {
	records
	tx      Tx
	changed map[string][]byte // nil: deleted
	at      Time              // never before the clock
	index   uint64
	actor   string
	node    NodeID // who asks; empty when not said
	cluster Cluster
	body    any    // of the command, when it is decoded
	buffer  []byte // values are written into
}

func newState(tx Tx, index uint64) *state {
	s := &state{tx: tx, changed: make(map[string][]byte, 16), index: index}
	s.records = records{s}
	return s
}

// Get returns the value as this command left it.
func (s *state) Get(key []byte) ([]byte, error) {
	if value, ok := s.changed[string(key)]; ok {
		return value, nil
	}
	return s.tx.Get(key)
}

// Scan visits the keys as this command left them.
func (s *state) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	var own []string
	for key := range s.changed {
		if strings.HasPrefix(key, string(prefix)) && key >= string(from) {
			own = append(own, key)
		}
	}
	slices.Sort(own)
	stopped := false
	next := func() { // visits the first of the command's own keys
		key := own[0]
		own = own[1:]
		if value := s.changed[key]; value != nil {
			stopped = !visit([]byte(key), value)
		}
	}
	err := s.tx.Scan(prefix, from, func(key, value []byte) bool {
		for !stopped && len(own) > 0 && own[0] < string(key) {
			next()
		}
		if stopped {
			return false
		}
		if len(own) > 0 && own[0] == string(key) {
			next()
		} else {
			stopped = !visit(key, value)
		}
		return !stopped
	})
	for err == nil && !stopped && len(own) > 0 {
		next()
	}
	return err
}

func (s *state) set(key string, v any) error {
	if cap(s.buffer)-len(s.buffer) < 768 {
		s.buffer = make([]byte, 0, 2048)
	}
	out, err := encodeValue(s.buffer, v)
	if err != nil {
		return err
	}
	s.changed[key] = out[len(s.buffer):len(out):len(out)]
	s.buffer = out
	return nil
}

func (s *state) mark(key string)   { s.changed[key] = mark() }
func (s *state) delete(key string) { s.changed[key] = nil }

// marked sets or deletes a mark.
func (s *state) marked(key string, there bool) {
	if there {
		s.mark(key)
	} else {
		s.delete(key)
	}
}

// room reports whether the command may still change so many keys.
func (s *state) room(keys int) bool { return len(s.changed)+keys <= maxKeys-ownKeys }

// size returns the bytes of keys and values that the command would write.
func (s *state) size() int {
	total := 0
	for key, value := range s.changed {
		total += len(key) + len(value)
	}
	return total
}

// flush hands the changes to the transaction in the order of their keys.
func (s *state) flush() error {
	keys := make([]string, 0, len(s.changed))
	for key := range s.changed {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		var err error
		if value := s.changed[key]; value == nil {
			err = s.tx.Delete([]byte(key))
		} else {
			err = s.tx.Set([]byte(key), value)
		}
		if err != nil {
			return err
		}
	}
	clear(s.changed)
	return nil
}
