package raft

import "sync"

// rememberedPrefixes is for how many prefixes a store keeps what was made of their keys.
const rememberedPrefixes = 64

// remembered is what a store's readers made of the keys with a prefix (see agree.Memory).
type remembered struct {
	mu     sync.Mutex
	latest uint64            // the last version whose writing has begun
	since  map[string]uint64 // by prefix: the last version that wrote such a key, or at which it was first asked for
	made   map[string]any    // by prefix: of a version since then
}

func newRemembered(version uint64) *remembered {
	return &remembered{latest: version, since: make(map[string]uint64), made: make(map[string]any)}
}

// writing forgets what the changes touch. It is called before anyone can read the version that has them.
func (m *remembered) writing(w *overlay, version uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = version
	for prefix := range m.since {
		if w.touches([]byte(prefix)) {
			m.since[prefix] = version
			delete(m.made, prefix)
		}
	}
}

// get returns what was made of the prefix, and whether that is what a reader of the version would make.
func (m *remembered) get(prefix string, version uint64) (value any, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.since[prefix]; !known && len(m.since) < rememberedPrefixes {
		m.since[prefix] = m.latest
	}
	value, there = m.made[prefix]
	return value, there && version >= m.since[prefix]
}

// keep keeps what a reader of the version made, unless the keys were written since.
func (m *remembered) keep(prefix string, version uint64, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, known := m.since[prefix]; known && version >= since {
		m.made[prefix] = value
	}
}

// leave gives up the place of a prefix of which nothing could be made.
func (m *remembered) leave(prefix string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.made[prefix]; !there {
		delete(m.since, prefix)
	}
}

// Remember is that of agree.Memory.
func (r reader) Remember(prefix string, make func() (any, error)) (any, error) {
	if r.memory == nil {
		return make()
	}
	if value, there := r.memory.get(prefix, r.version); there {
		return value, nil
	}
	value, err := make()
	if err != nil {
		r.memory.leave(prefix)
		return value, err
	}
	r.memory.keep(prefix, r.version, value)
	return value, err
}
