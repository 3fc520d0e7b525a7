package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// state is the agreed state as one command sees it: the transaction, and over it the command's own
// changes, which reach the transaction only when the command is not refused.
type state struct {
	records
	tx      Tx
	changed staged
	at      Time // never before the clock
	stamp   Time // the leader's, whatever the clock
	index   uint64
	actor   string
	node    NodeID // who asks; empty when not said
	cluster Cluster
	body    any                         // of the command, when it is decoded
	buffer  []byte                      // values are written into
	kinds   map[ReplicaName]ReplicaKind // of all replicas, once they were read
}

func newState(tx Tx, index uint64) *state {
	s := &state{tx: tx, index: index}
	s.records = records{s}
	return s
}

// Get returns the value as this command left it.
func (s *state) Get(key []byte) ([]byte, error) {
	if value, ok := s.changed.get(key); ok {
		return value, nil
	}
	return s.tx.Get(key)
}

// Scan visits the keys as this command left them.
func (s *state) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	var own []int // places of the changes, in the order of their keys
	at := func(place int) string { return s.changed.all[place].key }
	for i, c := range s.changed.all {
		if strings.HasPrefix(c.key, string(prefix)) && c.key >= string(from) {
			own = append(own, i)
		}
	}
	slices.SortFunc(own, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	stopped := false
	next := func() { // visits the first of the command's own keys
		c := s.changed.all[own[0]]
		own = own[1:]
		if c.value != nil {
			stopped = !visit([]byte(c.key), c.value)
		}
	}
	err := s.tx.Scan(prefix, from, func(key, value []byte) bool {
		for !stopped && len(own) > 0 && at(own[0]) < string(key) {
			next()
		}
		if stopped {
			return false
		}
		if len(own) > 0 && at(own[0]) == string(key) {
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
	s.changed.put(key, out[len(s.buffer):len(out):len(out)])
	s.buffer = out
	return nil
}

func (s *state) mark(key string)   { s.changed.put(key, mark()) }
func (s *state) delete(key string) { s.changed.put(key, nil) }

// marked sets or deletes a mark.
func (s *state) marked(key string, there bool) {
	if there {
		s.mark(key)
	} else {
		s.delete(key)
	}
}

// room reports whether the command may still change so many keys.
func (s *state) room(keys int) bool { return len(s.changed.all)+keys <= maxKeys-ownKeys }

// flush hands the changes to the transaction.
func (s *state) flush() error {
	for _, c := range s.changed.all {
		var err error
		if c.value == nil {
			err = s.tx.Delete([]byte(c.key))
		} else {
			err = s.tx.Set([]byte(c.key), c.value)
		}
		if err != nil {
			return err
		}
	}
	s.changed.clear()
	return nil
}
