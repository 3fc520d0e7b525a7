package frontier

import "slices"

// longest knows the longest queues, so far as they were looked at.
type longest struct {
	queues []length
	least  int64 // of them, when there are as many as are known
}

type length struct {
	name  string
	count int64
}

// ranked is how many queues are known by their length.
const ranked = 20

// put records how many URIs a queue has.
func (l *longest) put(name string, count int64) {
	i := slices.IndexFunc(l.queues, func(q length) bool { return q.name == name })
	switch {
	case i >= 0 && count > 0:
		l.queues[i].count = count
	case i >= 0:
		l.queues = slices.Delete(l.queues, i, i+1)
	case count <= l.least:
		return
	case len(l.queues) < ranked:
		l.queues = append(l.queues, length{name, count})
	default:
		shortest := slices.IndexFunc(l.queues, func(q length) bool { return q.count == l.least })
		l.queues[shortest] = length{name, count}
	}
	l.least = 0
	if len(l.queues) == ranked {
		l.least = l.queues[0].count
		for _, q := range l.queues {
			l.least = min(l.least, q.count)
		}
	}
}

// most is the length of the longest.
func (l *longest) most() (n int64) {
	for _, q := range l.queues {
		n = max(n, q.count)
	}
	return n
}
