package replica

import (
	"slices"
	"sync"

	"holdfast/catalog"
)

// noted are names that a store remembers of its shards. It is safe for concurrent use; the zero value is ready.
type noted struct {
	mu    sync.Mutex
	names map[catalog.Shard]map[catalog.FileName]struct{}
}

func (n *noted) add(name catalog.FileName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	shard := name.Shard()
	if n.names[shard] == nil {
		if n.names == nil {
			n.names = make(map[catalog.Shard]map[catalog.FileName]struct{})
		}
		n.names[shard] = make(map[catalog.FileName]struct{})
	}
	n.names[shard][name] = struct{}{}
}

func (n *noted) drop(name catalog.FileName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	shard := name.Shard()
	delete(n.names[shard], name)
	if len(n.names[shard]) == 0 {
		delete(n.names, shard)
	}
}

func (n *noted) has(name catalog.FileName) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, there := n.names[name.Shard()][name]
	return there
}

// of returns the names of one shard, in order.
func (n *noted) of(shard catalog.Shard) []catalog.FileName {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []catalog.FileName
	for name := range n.names[shard] {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// all returns all names, in order.
func (n *noted) all() []catalog.FileName {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []catalog.FileName
	for _, names := range n.names {
		for name := range names {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
