package replica

import "holdfast/catalog"

// places are where the shards lie.
type places [catalog.Shards]shard

// on returns the root on which the shard lies, nil when none holds it yet.
func (p *places) on(n catalog.Shard) *root {
	sh := &p[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.root
}

// there reports whether the shard lies on a root that is mounted.
func (p *places) there(n catalog.Shard) bool {
	r := p.on(n)
	return r != nil && r.mounted() == nil
}

// diskOf returns the folder of the root that holds the shard, empty when none does yet.
func (p *places) diskOf(n catalog.Shard) string {
	if r := p.on(n); r != nil {
		return r.path
	}
	return ""
}

// present reports whether a file is in its place in its shard, listed or not.
func (p *places) present(name catalog.FileName) bool {
	sh := &p[name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return isFile(sh.path(name))
}

// movesOf returns how often the file's shard has moved to another root.
func (p *places) movesOf(name catalog.FileName) int {
	sh := &p[name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.moves
}

// inPlace calls do with where the file lies, as where tells: Path, or outboxPath. When do fails and the file's shard
// has moved to another root meanwhile, and be it there and back, do is called again: what it found says nothing about
// the copy.
func (p *places) inPlace(where func(catalog.FileName) string, name catalog.FileName, do func(path string) error) error {
	for {
		moves := p.movesOf(name)
		if err := do(where(name)); err == nil || p.movesOf(name) == moves {
			return err
		}
	}
}
