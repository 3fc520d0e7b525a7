package replica

import (
	"hash/maphash"
	"sync"

	"holdfast/catalog"
)

// nameLocks has one change of a name at a time, while changes of most other names go on beside it: each waits for the
// disk several times. The zero value is ready.
type nameLocks struct {
	once sync.Once
	seed maphash.Seed
	some [64]sync.Mutex
}

// lock waits until nobody changes one of the names. The caller holds no other names.
func (l *nameLocks) lock(names ...catalog.FileName) (unlock func()) {
	l.once.Do(func() { l.seed = maphash.MakeSeed() })
	var which uint64 // a bit for each of the locks
	for _, name := range names {
		which |= 1 << (maphash.String(l.seed, string(name)) % uint64(len(l.some)))
	}
	return l.take(which)
}

// lockAll waits until no name changes.
func (l *nameLocks) lockAll() (unlock func()) { return l.take(^uint64(0)) }

// take locks in order, as everybody does.
func (l *nameLocks) take(which uint64) (unlock func()) {
	for i := range l.some {
		if which&(1<<i) != 0 {
			l.some[i].Lock()
		}
	}
	return func() {
		for i := range l.some {
			if which&(1<<i) != 0 {
				l.some[i].Unlock()
			}
		}
	}
}
