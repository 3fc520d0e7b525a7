package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	if isFile(target) && !s.isLoose(h.Name) {
		return fmt.Errorf("place %s: %w", h.Name, ErrExists)
	}
	if err := s.clear(sh, h.Name); err != nil {
		return fmt.Errorf("place %s: %w", h.Name, err)
	}
	s.setLoose(h.Name, true)
	if err := s.disk.Rename(path, target); err != nil {
		if !isFile(target) {
			s.setLoose(h.Name, false)
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
	s.setLoose(h.Name, true)
	if err := s.disk.Link(path, target); err != nil {
		if !isFile(target) {
			s.setLoose(h.Name, false)
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
		return errors.Join(err, s.disk.Remove(to+reasonSuffix))
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
	s.mu.Lock()
	delete(s.loose, h.Name)
	delete(s.missing, h.Name)
	s.mu.Unlock()
	s.cfg.Kept(h.Name)
	return nil
}

// dropNoted takes out the line of a file that was missing, before another is written for it.
func (s *Store) dropNoted(path string, name catalog.FileName) error {
	s.mu.Lock()
	_, missing := s.missing[name]
	s.mu.Unlock()
	if !missing {
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

// Delete removes the file's bytes and their line; it is no error if they are not there. The caller has made sure that
// the catalog released this node's copy.
func (s *Store) Delete(name catalog.FileName) error {
	sh := &s.shards[name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root == nil {
		return nil
	}
	if err := s.unlist(sh, name); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	if err := s.disk.Remove(sh.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	s.setLoose(name, false)
	if err := s.dropList(sh.path(name)); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}

// unlist drops the file's line; the file, if there is one, is loose from then on.
func (s *Store) unlist(sh *shard, name catalog.FileName) error {
	present := isFile(sh.path(name))
	if present {
		s.setLoose(name, true)
	}
	if err := dropLine(s.disk, sh.manifest(name.Shard()), name); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.missing, name)
	s.mu.Unlock()
	s.cfg.Gone(name)
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
		return s.unlist(sh, name)
	}
	to := s.aside(sh.root.quarantine, name)
	if err := s.writeReason(to, reason); err != nil {
		return err
	}
	s.spoilt.note(name, from)
	err := s.unlist(sh, name)
	if err == nil {
		err = s.disk.Rename(from, to)
	}
	if err != nil {
		return errors.Join(err, s.disk.Remove(to+reasonSuffix))
	}
	s.setLoose(name, false)
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
