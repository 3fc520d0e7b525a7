package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Checksums is what a node of a checksum replica holds: for each file of its shards a recorded size and SHA-256, in
// checksums/<shard>/manifest-sha256.txt. The manifests have the form of sha256sum, so that they check any folder that
// has the files; the sizes are in comments between the lines. It is safe for concurrent use.
type Checksums struct {
	dir    string
	disk   disk.Disk
	shards [catalog.Shards]sync.Mutex
}

// OpenChecksums opens the records under dir, and cuts off what a crash left incomplete.
func OpenChecksums(dir string, d disk.Disk, log *slog.Logger) (*Checksums, error) {
	if err := d.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("open checksums: %w", err)
	}
	c := &Checksums{dir: dir, disk: d}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open checksums: %w", err)
	}
	for _, e := range entries {
		n, err := catalog.ParseShard(e.Name())
		if err != nil || n.String() != e.Name() {
			continue
		}
		if err := d.CleanTemporary(filepath.Join(dir, e.Name())); err != nil {
			return nil, fmt.Errorf("open checksums: %w", err)
		}
		m, err := readManifest(c.path(n))
		if err != nil {
			return nil, fmt.Errorf("open checksums: %w", err)
		}
		if m.faults == 0 {
			continue
		}
		log.Warn("manifest repaired", "shard", n, "lines", m.faults)
		if err := writeManifest(d, c.path(n), m); err != nil {
			return nil, fmt.Errorf("open checksums: %w", err)
		}
	}
	return c, nil
}

func (c *Checksums) path(n catalog.Shard) string {
	return filepath.Join(c.dir, n.String(), ManifestName)
}

// Record keeps the size and digest of a file, in place of an earlier record of other ones. When it returns
// nil they are on stable storage.
func (c *Checksums) Record(h Held) error {
	if err := checkName(h.Name); err != nil {
		return fmt.Errorf("record checksum: %w", err)
	}
	n := h.Name.Shard()
	c.shards[n].Lock()
	defer c.shards[n].Unlock()
	if err := c.record(n, h); err != nil {
		return fmt.Errorf("record the checksum of %s: %w", h.Name, err)
	}
	return nil
}

func (c *Checksums) record(n catalog.Shard, h Held) error {
	path := c.path(n)
	before, err := findLines(path, map[catalog.FileName]bool{h.Name: true})
	if err != nil {
		return err
	}
	now := line{digest: h.SHA256, size: h.Size}
	switch {
	case len(before.at) == 1 && before.digest == now.digest && before.size == now.size:
		return nil
	case len(before.at) > 0: // a crash in between leaves no record, and the file is recorded again
		if err := dropLine(c.disk, path, h.Name); err != nil {
			return err
		}
	}
	if err := c.disk.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return addLine(c.disk, path, h.Name, now)
}

// Forget removes the records of files; it is no error if there are none. An error of one shard keeps no other.
func (c *Checksums) Forget(names ...catalog.FileName) error {
	var failed error
	for n, some := range byShard(names) {
		if err := c.forgetIn(n, some); err != nil {
			failed = errors.Join(failed, fmt.Errorf("forget %d checksums, of which that of %s is the first: %w",
				len(some), some[0], err))
		}
	}
	return failed
}

func (c *Checksums) forgetIn(n catalog.Shard, names []catalog.FileName) error {
	c.shards[n].Lock()
	defer c.shards[n].Unlock()
	drop := make(map[catalog.FileName]bool, len(names))
	for _, name := range names {
		drop[name] = true
	}
	return dropLines(c.disk, c.path(n), drop)
}

// Lookup returns the record of a file, and whether there is a readable one.
func (c *Checksums) Lookup(name catalog.FileName) (Held, bool) {
	n := name.Shard()
	c.shards[n].Lock()
	defer c.shards[n].Unlock()
	l, err := findLines(c.path(n), map[catalog.FileName]bool{name: true})
	if err != nil || len(l.at) == 0 {
		return Held{}, false
	}
	return Held{Name: name, Size: l.size, SHA256: l.digest}, true
}

// List returns the records of the shard, by name. Size is -1 where a record lost it.
func (c *Checksums) List(n catalog.Shard) ([]Held, error) {
	c.shards[n].Lock()
	defer c.shards[n].Unlock()
	m, err := readManifest(c.path(n))
	if err != nil {
		return nil, err
	}
	held := make([]Held, 0, len(m.lines))
	for _, name := range m.names() {
		held = append(held, Held{Name: name, Size: m.lines[name].size, SHA256: m.lines[name].digest})
	}
	return held, nil
}
