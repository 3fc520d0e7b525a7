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

// inPlace calls do with where the file lies, as where tells: Path, or outboxPath. When do fails and the file's shard has moved
// to another root meanwhile, do is called again: what it found at the old place says nothing about the copy.
func inPlace(where func(catalog.FileName) string, name catalog.FileName, do func(path string) error) error {
	for {
		path := where(name)
		if err := do(path); err == nil || where(name) == path {
			return err
		}
	}
}
