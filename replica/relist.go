package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"holdfast/catalog"
)

// contents is what lies in a shard's folder, and what its manifest says of it.
type contents struct {
	lines  map[catalog.FileName]line
	faults int                // of the manifest: lines that say nothing, or say it twice
	files  []catalog.FileName // in place, listed or not
}

// contents looks at a shard's folder and its manifest. A manifest that cannot be read is set aside: the shard has no
// lines then, and each file is listed again once its bytes were read.
func (s *Store) contents(n catalog.Shard) (contents, error) {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	c := contents{lines: map[catalog.FileName]line{}}
	if sh.root == nil {
		return c, nil
	}
	if err := sh.root.mounted(); err != nil {
		return c, err
	}
	m, err := readManifest(sh.manifest(n))
	if err != nil {
		if err := s.setManifestAside(sh, n, err); err != nil {
			return c, fmt.Errorf("%w: %w", errShard, err)
		}
		m = manifest{lines: c.lines, faults: 1}
	}
	c.lines, c.faults = m.lines, m.faults
	names, err := folderNames(filepath.Join(sh.root.path, n.String()))
	if err != nil {
		return c, fmt.Errorf("%w: %w", errShard, err)
	}
	for _, text := range names {
		if name := catalog.FileName(text); checkName(name) == nil && name.Shard() == n && isFile(sh.path(name)) {
			c.files = append(c.files, name)
		}
	}
	slices.Sort(c.files)
	return c, nil
}

func folderNames(dir string) ([]string, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := folder.Readdirnames(-1)
	return names, errors.Join(err, folder.Close())
}

// setManifestAside takes a manifest that cannot be read out of its shard. The caller holds the shard.
func (s *media) setManifestAside(sh *shard, n catalog.Shard, why error) error {
	to := s.aside(sh.root.quarantine, catalog.FileName(n.String()+"-"+ManifestName))
	if err := s.writeReason(to, "manifest of shard "+n.String()+": "+why.Error()); err != nil {
		return err
	}
	if err := s.disk.Rename(sh.manifest(n), to); err != nil {
		return errors.Join(err, s.withdrawReason(to))
	}
	s.log.Error("a manifest cannot be read and was set aside; its files are read and listed again", "shard", n, "err",
		why)
	return nil
}

// relist makes a shard's manifest agree with files whose bytes the caller has just read, and drops the lines of the
// names in gone that have no file. Garbled and repeated lines go as well. It returns the names whose lines were wrong.
func (s *Store) relist(n catalog.Shard, right []Held, gone []catalog.FileName) (wrong []catalog.FileName, err error) {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root == nil {
		return nil, nil
	}
	m, err := readManifest(sh.manifest(n))
	if err != nil {
		if err := s.setManifestAside(sh, n, err); err != nil {
			return nil, fmt.Errorf("list the files of shard %s: %w", n, err)
		}
		m = manifest{lines: make(map[catalog.FileName]line)}
	}
	var fresh []Held
	rewrite := m.faults > 0
	for _, h := range right {
		l, listed := m.lines[h.Name]
		loose := s.loose.has(h.Name)
		if listed && l.digest == h.SHA256 && !loose || !isFile(sh.path(h.Name)) {
			continue
		}
		rewrite = rewrite || loose // a line of a loose file may not be on stable storage
		if !listed || l.digest != h.SHA256 {
			wrong = append(wrong, h.Name)
		}
		m.lines[h.Name] = line{digest: h.SHA256, size: -1}
		fresh = append(fresh, h)
	}
	for _, name := range gone {
		if _, listed := m.lines[name]; listed && !isFile(sh.path(name)) {
			delete(m.lines, name)
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 || rewrite {
		if err := writeManifest(s.disk, sh.manifest(n), m); err != nil {
			return nil, fmt.Errorf("list the files of shard %s: %w", n, err)
		}
	}
	for _, h := range fresh {
		s.loose.drop(h.Name)
		s.missing.drop(h.Name)
	}
	for _, name := range gone {
		s.missing.drop(name)
	}
	for _, h := range fresh {
		s.cfg.Kept(h.Name)
	}
	return wrong, nil
}

// noteMissing notes that a listed file is not in its place, so that its line goes before it is listed again.
func (s *Store) noteMissing(name catalog.FileName) {
	s.missing.add(name)
}
