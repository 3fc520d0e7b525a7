package replica

import (
	"slices"
	"sync"

	"holdfast/catalog"
)

// proved are the files of the shards that move to this node whose bytes it has hashed since the move began: as they
// came, or where they lay. A manifest tells what bytes were once; only these count when the node proves that it has a
// shard.
type proved struct {
	mu     sync.Mutex
	shards map[catalog.Shard]map[catalog.FileName]catalog.Digest
}

func newProved() *proved {
	return &proved{shards: make(map[catalog.Shard]map[catalog.FileName]catalog.Digest)}
}

// add notes that the bytes here are the file's.
func (p *proved) add(h Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shard := h.Name.Shard()
	if p.shards[shard] == nil {
		p.shards[shard] = make(map[catalog.FileName]catalog.Digest)
	}
	p.shards[shard][h.Name] = h.SHA256
}

// has reports whether the bytes here were seen to be the file's.
func (p *proved) has(h Held) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	digest, ok := p.shards[h.Name.Shard()][h.Name]
	return ok && digest == h.SHA256
}

// drop forgets a file whose bytes here were not seen to be the file's when they were read again.
func (p *proved) drop(name catalog.FileName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.shards[name.Shard()], name)
}

// forget forgets a shard: what its disk had is not here any more.
func (p *proved) forget(shard catalog.Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.shards, shard)
}

// keep forgets all shards except those that move here.
func (p *proved) keep(moving []catalog.Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for shard := range p.shards {
		if !slices.Contains(moving, shard) {
			delete(p.shards, shard)
		}
	}
}
