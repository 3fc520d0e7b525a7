package replica

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
)

// reconcile makes manifests and folders agree after a crash. A fault of one shard or one file is logged, and does not
// affect the others.
func (s *Store) reconcile() error {
	if err := s.left.assign(); err != nil {
		return err
	}
	asked, _ := s.asked.look()
	kept := func(mark string) bool {
		return slices.ContainsFunc(asked.Lost, func(l lostDisk) bool { return l.Mark == mark && !l.Told })
	}
	if err := s.list.settle(&s.shards, s.absent() != nil, kept); err != nil {
		s.log.Error("the list of the disks' shards is not up to date", "err", err)
	}
	for n := range catalog.Shard(catalog.Shards) {
		if s.shards[n].root == nil || s.shards[n].root.absent != nil {
			continue
		}
		if err := s.reconcileShard(n); err != nil { // the other shards are usable nevertheless
			s.log.Error("a shard cannot be looked at", "shard", n, "err", err)
		}
	}
	for _, r := range s.roots {
		if r.absent != nil {
			continue
		}
		if err := s.finishQuarantine(r); err != nil {
			s.log.Error("what a crash left in the quarantine stays there", "folder", r.quarantine, "err", err)
		}
	}
	if err := s.cleanOutbox(); err != nil {
		s.log.Error("what a crash left in the outbox stays there", "err", err)
	}
	return nil
}

func (s *Store) reconcileShard(n catalog.Shard) error {
	dir := filepath.Join(s.shards[n].root.path, n.String())
	path := filepath.Join(dir, ManifestName)
	m, err := readManifest(path)
	if err != nil { // its files are loose then, and listed again once they were read
		m = manifest{lines: map[catalog.FileName]line{}}
		if err := s.setManifestAside(&s.shards[n], n, err); err != nil {
			s.log.Error("a manifest can neither be read nor set aside", "shard", n, "err", err)
		}
	}
	if m.faults > 0 || m.present && len(m.lines) == 0 {
		s.log.Warn("manifest repaired", "shard", n, "lines", m.faults)
		if err := writeManifest(s.disk, path, m); err != nil {
			s.log.Error("a manifest with garbled lines stays as it is", "shard", n, "err", err)
		}
	}
	found, err := folderNames(dir)
	if err != nil {
		return err
	}
	if err := s.orphanLists(dir, found); err != nil {
		return err
	}
	temporary := false
	for _, text := range found {
		name := catalog.FileName(text)
		switch _, listed := m.lines[name]; {
		case listed:
			delete(m.lines, name)
		case text == ManifestName:
		case strings.HasPrefix(text, blocksMark):
		case text == movedName:
			if err := s.left.settle(n, s.shards[n].root); err != nil {
				s.log.Error("a note of a move that is over stays", "shard", n, "err", err)
			}
		case strings.HasPrefix(text, "."):
			temporary = true
		case checkName(name) != nil || name.Shard() != n:
			s.log.Warn("a file that is none of the archive's lies in a shard", "shard", n, "file", text)
		default:
			s.log.Info("file without a line in its manifest", "shard", n, "file", text)
			s.loose.add(name)
		}
	}
	for name := range m.lines {
		s.log.Warn("file is missing", "shard", n, "file", name)
		s.missing.add(name)
	}
	if temporary {
		return s.disk.CleanTemporary(dir)
	}
	return nil
}

// finishQuarantine completes moves whose reason was written and whose bytes stayed behind, and drops
// reasons without bytes.
func (s *Store) finishQuarantine(r *root) error {
	if err := s.disk.CleanTemporary(r.quarantine); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.quarantine)
	if err != nil {
		return err
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), reasonSuffix)
		to := filepath.Join(r.quarantine, base)
		dot := strings.LastIndexByte(base, '.')
		if !ok || dot < 0 {
			continue
		}
		name := catalog.FileName(base[:dot])
		if isFile(to) {
			s.spoilt.note(name, to) // it may still have its other name, in the outbox
			continue
		}
		sh := &s.shards[name.Shard()]
		if s.loose.has(name) && sh.root == r {
			if err := s.disk.Rename(sh.path(name), to); err != nil {
				return err
			}
			s.loose.drop(name)
			continue
		}
		if err := s.disk.Remove(to + reasonSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
