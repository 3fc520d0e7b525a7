package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/catalog"
)

// place moves bytes that are complete, verified and synced at path into the file's shard and then adds
// the line to the manifest. When it returns nil both are on stable storage; in between the file is loose.
func (s *Store) place(h Held, path string) error {
	sh := &s.shards[h.Name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	target := sh.path(h.Name)
	if isFile(target) && !s.loose.has(h.Name) {
		return fmt.Errorf("place %s: %w", h.Name, ErrExists)
	}
	if err := s.clear(sh, h.Name); err != nil {
		return fmt.Errorf("place %s: %w", h.Name, err)
	}
	s.loose.add(h.Name)
	if err := s.disk.Rename(path, target); err != nil {
		if !isFile(target) {
			s.loose.drop(h.Name)
		}
		return fmt.Errorf("place %s: %w", h.Name, err)
	}
	return s.vouch(sh, h)
}

// placeLink is place for bytes that keep the name they have at path as well.
func (s *Store) placeLink(h Held, path string) error {
	sh := &s.shards[h.Name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	target := sh.path(h.Name)
	if err := s.clear(sh, h.Name); err != nil {
		return fmt.Errorf("place %s: %w", h.Name, err)
	}
	s.loose.add(h.Name)
	if err := s.disk.Link(path, target); err != nil {
		if !isFile(target) {
			s.loose.drop(h.Name)
		}
		return fmt.Errorf("place %s: %w", h.Name, err)
	}
	return s.vouch(sh, h)
}

// clear sets aside what has the file's name in the shard's folder without being a file, such as a link or a folder: the
// file could not be placed for as long as it is there. The caller holds the shard.
func (s *Store) clear(sh *shard, name catalog.FileName) error {
	path := sh.path(name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || isFile(path) {
		return nil
	}
	to := s.aside(sh.root.quarantine, name)
	if err := s.writeReason(to, "it had the name of a file and was none"); err != nil {
		return err
	}
	if err := s.disk.Rename(path, to); err != nil {
		return errors.Join(err, s.withdrawReason(to))
	}
	s.log.Warn("something that is no file was set aside", "file", name, "path", to)
	return nil
}

// vouch adds the manifest's line of a file in place, replacing a line left from earlier. The caller holds
// the shard.
func (s *Store) vouch(sh *shard, h Held) error {
	path := sh.manifest(h.Name.Shard())
	err := s.dropNoted(path, h.Name)
	if err == nil {
		err = addLine(s.disk, path, h.Name, line{digest: h.SHA256, size: -1})
	}
	if err != nil {
		return fmt.Errorf("list %s in its manifest: %w", h.Name, err)
	}
	s.loose.drop(h.Name)
	s.missing.drop(h.Name)
	s.fresh.add(h.Name, time.Now())
	s.cfg.Kept(h.Name)
	return nil
}

// dropNoted takes out the line of a file that was missing, before another is written for it.
func (s *Store) dropNoted(path string, name catalog.FileName) error {
	if !s.missing.has(name) {
		return nil
	}
	return dropLine(s.disk, path, name)
}

func (sh *shard) manifest(n catalog.Shard) string {
	return filepath.Join(sh.root.path, n.String(), ManifestName)
}

// Vouch reads a file again and lists it in its manifest, if it is not, when its bytes are the wanted ones; else the
// answer is ErrDamaged, or ErrNotHere when no file is there.
func (s *Store) Vouch(ctx context.Context, want Held) error {
	if !s.shards.present(want.Name) {
		return fmt.Errorf("verify %s: %w", want.Name, ErrNotHere)
	}
	size, digest, err := s.measurePlaced(ctx, want, nil, false)
	if err != nil {
		return fmt.Errorf("verify %s: %w", want.Name, err)
	}
	if size != want.Size || digest != want.SHA256 {
		return fmt.Errorf("verify %s: %w: %d bytes with SHA-256 %s", want.Name, ErrDamaged, size, digest)
	}
	_, err = s.relist(want.Name.Shard(), []Held{want}, nil)
	return err
}

// Delete removes the bytes of files and their lines; it is no error if they are not there. The caller has made sure
// that the catalog released this node's copies. The files of a shard go together: what that costs does not depend on
// how many others there are. An error of one shard keeps no other. ErrNotMounted is about what may lie on a disk that
// is away since the start: it stays.
func (s *Store) Delete(names ...catalog.FileName) error {
	var failed error
	for shard, some := range byShard(names) {
		if err := s.deleteIn(shard, some); err != nil {
			failed = errors.Join(failed, fmt.Errorf("delete %d files of shard %s, %s first: %w", len(some), shard,
				some[0], err))
		}
	}
	return failed
}

// byShard groups names by their shards, in order.
func byShard(names []catalog.FileName) iter.Seq2[catalog.Shard, []catalog.FileName] {
	return func(yield func(catalog.Shard, []catalog.FileName) bool) {
		sorted := slices.Clone(names)
		slices.SortFunc(sorted, func(a, b catalog.FileName) int {
			return cmp.Or(cmp.Compare(a.Shard(), b.Shard()), cmp.Compare(a, b))
		})
		for len(sorted) > 0 {
			shard, n := sorted[0].Shard(), 1
			for n < len(sorted) && sorted[n].Shard() == shard {
				n++
			}
			if !yield(shard, sorted[:n]) {
				return
			}
			sorted = sorted[n:]
		}
	}
}

func (s *Store) deleteIn(n catalog.Shard, names []catalog.FileName) error {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root == nil {
		return nil
	}
	if sh.root.absent != nil {
		return sh.root.mounted()
	}
	if err := s.unlist(sh, n, names...); err != nil {
		return err
	}
	gone := make([]string, 0, 2*len(names))
	for _, name := range names {
		gone = append(gone, string(name), blocksMark+string(name))
	}
	if err := s.disk.RemoveAt(filepath.Join(sh.root.path, n.String()), gone); err != nil {
		return err
	}
	for _, name := range names {
		s.loose.drop(name)
	}
	return nil
}

// unlist drops the lines of files of a shard; those of the files that are there are loose from then on.
func (s *Store) unlist(sh *shard, n catalog.Shard, names ...catalog.FileName) error {
	drop := make(map[catalog.FileName]bool, len(names))
	for _, name := range names {
		drop[name] = true
		if isFile(sh.path(name)) {
			s.loose.add(name)
		}
	}
	if err := dropLines(s.disk, sh.manifest(n), drop); err != nil {
		return err
	}
	for _, name := range names {
		s.missing.drop(name)
		s.cfg.Gone(name)
	}
	return nil
}

// Quarantine sets the file's bytes aside under quarantine/<name>.<time> with a file that tells the reason,
// and drops the line. A missing file only loses its line. When it returns nil that is on stable storage.
func (s *Store) Quarantine(name catalog.FileName, reason string) error {
	sh := &s.shards[name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root == nil {
		return nil
	}
	if err := s.quarantine(sh, name, reason); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	return nil
}

// quarantine writes the reason first: at the next start it tells that the move has to be finished.
func (s *Store) quarantine(sh *shard, name catalog.FileName, reason string) error {
	from := sh.path(name)
	if !isFile(from) {
		return s.unlist(sh, name.Shard(), name)
	}
	to := s.aside(sh.root.quarantine, name)
	if err := s.writeReason(to, reason); err != nil {
		return err
	}
	s.spoilt.note(name, from)
	err := s.unlist(sh, name.Shard(), name)
	if err == nil {
		err = s.disk.Rename(from, to)
	}
	if err != nil {
		return errors.Join(err, s.withdrawReason(to))
	}
	s.loose.drop(name)
	s.log.Warn("copy set aside", "file", name, "reason", reason, "path", to)
	return s.dropList(from)
}

const reasonSuffix = ".reason"

// aside returns a name in the quarantine that nothing has yet.
func (s *media) aside(dir string, name catalog.FileName) string {
	for at := time.Now().UTC(); ; at = at.Add(time.Millisecond) {
		stamp := at.Format("20060102150405.000")
		path := filepath.Join(dir, string(name)+"."+stamp[:14]+stamp[15:])
		if _, err := os.Lstat(path + reasonSuffix); errors.Is(err, fs.ErrNotExist) && !isFile(path) {
			return path
		}
	}
}

func (s *media) writeReason(path, reason string) error {
	return s.disk.WriteFile(path+reasonSuffix, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, reason)
		return err
	})
}

// withdrawReason removes the reason of bytes that could not be set aside at path. If they have come there all the same,
// as when only the folder could not be synced, the reason stays: without one, nobody would know what they are.
func (s *media) withdrawReason(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.Remove(path + reasonSuffix)
}

// listFolder returns the files that the manifest in a shard's folder vouches for and the folder has, by name.
func listFolder(dir string) ([]Held, error) {
	m, err := readManifest(filepath.Join(dir, ManifestName))
	if err != nil {
		return nil, err
	}
	held := make([]Held, 0, len(m.lines))
	for _, name := range m.names() {
		info, err := os.Lstat(filepath.Join(dir, string(name)))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		held = append(held, Held{Name: name, Size: info.Size(), SHA256: m.lines[name].digest})
	}
	return held, nil
}
