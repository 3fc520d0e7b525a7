package owed

import (
	"sync"

	"holdfast/catalog"
)

// latelyMost bounds how many files are looked at before all others because their entries changed lately.
const latelyMost = 256

// lately are files whose entries changed lately, until nothing goes before others of them here, or they turn out to be
// stuck. Among a million that are stuck they would otherwise have to be looked for.
type lately struct {
	mu    sync.Mutex
	names map[catalog.FileName]struct{}
}

// take adds what news tells and returns all names. What there is no room for is found among all that is owed.
func (l *lately) take(news News) []catalog.FileName {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = make(map[catalog.FileName]struct{})
	}
	if news != nil {
		for _, tail := range news.Take() {
			if len(l.names) < latelyMost {
				l.names[catalog.FileName(tail)] = struct{}{}
			}
		}
	}
	all := make([]catalog.FileName, 0, len(l.names))
	for name := range l.names {
		all = append(all, name)
	}
	return all
}

func (l *lately) forget(names []catalog.FileName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		delete(l.names, name)
	}
}
