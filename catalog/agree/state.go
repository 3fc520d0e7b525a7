package agree

import (
	"cmp"
	"slices"
	"strings"
)

// State is the agreed state as one command sees it: the transaction, and over it the command's own
// changes, which reach the transaction only when the command is not refused.
type State struct {
	At      Time // of the command: never before the clock
	Stamp   Time // the leader's, whatever the clock
	Index   uint64
	Actor   string // who asks, for the audit trail
	Node    NodeID // through which node; empty when not said
	Cluster Cluster

	tx       Tx
	changed  staged
	body     any            // of the command, when it is decoded
	buffer   []byte         // values are written into
	reserved int            // keys that are written when the command's rule is done
	made     map[string]any // of the keys with a prefix; see Remember
}

func newState(tx Tx, index uint64) *State { return &State{tx: tx, Index: index} }

// Get returns the value as this command left it.
func (s *State) Get(key []byte) ([]byte, error) {
	if value, ok := s.changed.get(key); ok {
		return value, nil
	}
	return s.tx.Get(key)
}

// Scan visits the keys as this command left them.
func (s *State) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
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

// Remember is that of Memory, within one command.
func (s *State) Remember(prefix string, make func() (any, error)) (any, error) {
	if value, there := s.made[prefix]; there {
		return value, nil
	}
	value, err := make()
	if err == nil {
		if s.made == nil {
			s.made = map[string]any{}
		}
		s.made[prefix] = value
	}
	return value, err
}

// put stages a value, nil to delete the key, and forgets what was made of it.
func (s *State) put(key string, value []byte) {
	for prefix := range s.made {
		if strings.HasPrefix(key, prefix) {
			delete(s.made, prefix)
		}
	}
	s.changed.put(key, value)
}

// Set stages the value of a key.
func (s *State) Set(key string, v any) error {
	if cap(s.buffer)-len(s.buffer) < 768 {
		s.buffer = make([]byte, 0, 2048)
	}
	out, err := encodeValue(s.buffer, v)
	if err != nil {
		return err
	}
	s.put(key, out[len(s.buffer):len(out):len(out)])
	s.buffer = out
	return nil
}

// Put stages a value in a form of its own, which begins with ValueVersion.
func (s *State) Put(key string, value []byte) { s.put(key, value) }

// Mark stages a key that says all by being there.
func (s *State) Mark(key string) { s.put(key, []byte{ValueVersion}) }

// Delete stages that the key goes.
func (s *State) Delete(key string) { s.put(key, nil) }

// Marked stages that a mark is there or goes.
func (s *State) Marked(key string, there bool) {
	if there {
		s.Mark(key)
	} else {
		s.Delete(key)
	}
}

// Room reports whether the command may still change that many keys.
func (s *State) Room(keys int) bool { return len(s.changed.all)+keys <= maxKeys-ownKeys-s.reserved }

// flush hands the changes to the transaction.
func (s *State) flush() error {
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

// SpeaksFor refuses a command in which one node speaks for another.
func (s *State) SpeaksFor(node NodeID) error {
	if s.Node != "" && s.Node != node {
		return Refuse(Denied, "node %s does not speak for %s", s.Node, Clip(string(node), 60))
	}
	return nil
}
