package replica

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Ownership says what may still happen to a file that is put.
type Ownership int

// A Foreign file belongs to somebody who may write to it again: its bytes are copied. An Owned one is
// finished and never written again: it gets a second name where the file system allows.
const (
	Foreign Ownership = iota
	Owned
)

// entryMark begins the name of the note beside each file of the outbox; file names never begin with a dot.
const entryMark = ".entry-"

func (s *outgoing) outboxPath(name catalog.FileName) string {
	return filepath.Join(s.cfg.Outbox, string(name))
}

// InOutbox reports whether the outbox has bytes under the name.
func (s *outgoing) InOutbox(name catalog.FileName) bool {
	return checkName(name) == nil && isFile(s.outboxPath(name))
}

func (s *outgoing) notePath(name catalog.FileName) string {
	return filepath.Join(s.cfg.Outbox, entryMark+string(name))
}

// Adopt copies the file at path into the outbox under the name that as gives, and returns as completed with size and
// SHA-256. When Adopt returns nil, bytes and note are on stable storage; the file at path is never changed. Adopting
// the same bytes again is no error, and placed is false; other bytes under the name are ErrExists; a file that
// changes meanwhile is ErrChanged; bytes that do not match a SHA-256 or a size above 0 in as are ErrDamaged; no room
// is disk.ErrFull.
func (s *outgoing) Adopt(ctx context.Context, path string, as catalog.Addition, own Ownership) (entry catalog.Addition,
	placed bool, err error) {
	if err := checkName(as.Name); err != nil {
		return as, false, fmt.Errorf("put %s: %w", path, err)
	}
	entry, placed, err = s.adopt(ctx, path, as, own)
	if err != nil {
		return entry, placed, fmt.Errorf("put %s as %s: %w", path, as.Name, err)
	}
	return entry, placed, nil
}

func (s *outgoing) adopt(ctx context.Context, path string, as catalog.Addition, own Ownership) (_ catalog.Addition,
	placed bool, err error) {
	temporary := s.temporaryName(as.Name)
	promised := as
	if own == Owned {
		as, err = s.linkAside(ctx, path, temporary, as)
	}
	if own == Foreign || cannotLink(err) {
		// Another name: creating a file must never empty one that is linked.
		if err := s.drop(temporary); err != nil {
			return as, false, err
		}
		temporary = s.temporaryName(as.Name)
		as, err = s.copyAside(ctx, path, temporary, as)
	}
	if err == nil {
		err = keptPromise(promised, as)
	}
	if err == nil {
		placed, err = s.enter(temporary, as)
	}
	return as, placed, errors.Join(err, s.drop(temporary))
}

// keptPromise compares the bytes that were read with what their writer announced.
func keptPromise(promised, got catalog.Addition) error {
	switch {
	case !promised.SHA256.IsZero() && got.SHA256 != promised.SHA256:
		return fmt.Errorf("%w: SHA-256 %s was promised, the bytes on the disk have %s", ErrDamaged, promised.SHA256,
			got.SHA256)
	case promised.Size > 0 && got.Size != promised.Size:
		return fmt.Errorf("%w: %d bytes were promised, the disk has %d", ErrDamaged, promised.Size, got.Size)
	}
	return nil
}

// cannotLink reports that the file system, or the file's permissions, want a copy instead.
func cannotLink(err error) bool {
	return errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.ENOTSUP) ||
		errors.Is(err, fs.ErrPermission)
}

// drop removes the file at path if there is one.
func (s *media) drop(path string) error {
	if !isFile(path) {
		return nil
	}
	return s.disk.Remove(path)
}

func (s *outgoing) temporaryName(name catalog.FileName) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopted++
	return filepath.Join(s.cfg.Outbox, ".put-"+strconv.Itoa(s.adopted)+"-"+string(name))
}

// copyAside copies the file to a temporary name in the outbox, synced.
func (s *outgoing) copyAside(ctx context.Context, path, to string, as catalog.Addition) (catalog.Addition, error) {
	from, err := openBytes(path)
	if err != nil {
		return as, err
	}
	defer from.Close()
	before, err := from.Stat()
	if err != nil {
		return as, err
	}
	if err := s.roomOutside(before.Size()); err != nil {
		return as, err
	}
	f, err := s.disk.Create(to)
	if err != nil {
		return as, err
	}
	sum := sha256.New()
	err = s.pump(ctx, pipe{in: io.LimitReader(from, before.Size()+1), out: f, sum: sum})
	as.Size = f.Size()
	if err == nil {
		err = f.SyncData() // the name follows when it is the final one
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return as, err
	}
	as.SHA256 = catalog.Digest(sum.Sum(nil))
	return as, unchanged(before, path, as.Size)
}

// linkAside hashes the file and gives it a temporary name in the outbox.
func (s *outgoing) linkAside(ctx context.Context, path, to string, as catalog.Addition) (catalog.Addition, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return as, err
	}
	if !before.Mode().IsRegular() {
		return as, fmt.Errorf("not a regular file")
	}
	if err := s.disk.Link(path, to); err != nil {
		return as, err
	}
	f, err := s.disk.Open(to)
	if err != nil {
		return as, err
	}
	err = f.SyncData()
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return as, err
	}
	if as.Size, as.SHA256, err = s.hashFile(ctx, to, nil); err != nil {
		return as, err
	}
	if err := unchanged(before, path, as.Size); err != nil {
		return as, err
	}
	return as, unchanged(before, to, as.Size)
}

// unchanged compares what is at path with what was there before and with the bytes that were read.
func unchanged(before fs.FileInfo, path string, size int64) error {
	after, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	switch {
	case !os.SameFile(before, after):
		return fmt.Errorf("%w: another file has taken its place", ErrChanged)
	case after.Size() != before.Size() || size != before.Size():
		return fmt.Errorf("%w: from %d to %d bytes", ErrChanged, before.Size(), max(after.Size(), size))
	case !after.ModTime().Equal(before.ModTime()):
		return fmt.Errorf("%w: written at %s", ErrChanged, after.ModTime().UTC())
	}
	return nil
}

// enter gives the bytes at the temporary name their name in the outbox, after their note; placed is false when a file
// of the same size and digest was there already, whose place they take.
func (s *outgoing) enter(temporary string, as catalog.Addition) (placed bool, err error) {
	defer s.outbox.lock(as.Name)()
	final := s.outboxPath(as.Name)
	if isFile(final) {
		kept, err := s.note(as.Name)
		if err != nil {
			return false, err
		}
		if kept.Size != as.Size || kept.SHA256 != as.SHA256 {
			return false, ErrExists
		}
		return false, s.disk.Rename(temporary, final) // just read, while the disk may have spoilt those from earlier
	}
	err = s.disk.WriteFile(s.notePath(as.Name), func(w io.Writer) error { return json.NewEncoder(w).Encode(as) })
	if err != nil {
		return false, err
	}
	if err := s.disk.Rename(temporary, final); err != nil {
		return false, errors.Join(err, s.takeBack(as.Name))
	}
	return true, nil
}

// takeBack removes what a put brought that failed at its last step, where it may have the name already. The note goes
// last: bytes without it could not be put again under the name.
func (s *outgoing) takeBack(name catalog.FileName) error {
	if err := s.drop(s.outboxPath(name)); err != nil {
		return err
	}
	return s.disk.Remove(s.notePath(name))
}

// note returns the entry of a file in the outbox.
func (s *outgoing) note(name catalog.FileName) (catalog.Addition, error) {
	text, err := os.ReadFile(s.notePath(name))
	if err != nil {
		return catalog.Addition{}, fmt.Errorf("read the note of %s: %w", name, err)
	}
	var as catalog.Addition
	if err := json.Unmarshal(text, &as); err != nil {
		return as, fmt.Errorf("read the note of %s: %w", name, err)
	}
	if as.Name != name {
		return as, fmt.Errorf("read the note of %s: it is about another file, %q", name, string(as.Name))
	}
	return as, nil
}

// Outbox returns the entries of the files in the outbox.
func (s *outgoing) Outbox() ([]catalog.Addition, error) {
	defer s.outbox.lockAll()()
	entries, err := os.ReadDir(s.cfg.Outbox)
	if err != nil {
		return nil, fmt.Errorf("list the outbox: %w", err)
	}
	var all []catalog.Addition
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue
		}
		as, err := s.note(catalog.FileName(e.Name()))
		if err != nil {
			s.log.Error("a file in the outbox has no readable note", "file", e.Name(), "err", err)
			continue
		}
		all = append(all, as)
	}
	return all, nil
}

// Discharge removes a file from the outbox; it is no error if it is not there. The caller has made sure that the
// catalog released it, or never knew it.
func (s *outgoing) Discharge(names ...catalog.FileName) error {
	defer s.outbox.lock(names...)()
	var files, notes []string
	for _, name := range names {
		if isFile(s.outboxPath(name)) {
			files = append(files, filepath.Base(s.outboxPath(name)))
		}
		for _, path := range []string{s.notePath(name), blocksPath(s.outboxPath(name))} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				notes = append(notes, filepath.Base(path))
			}
		}
	}
	err := s.disk.RemoveAt(s.cfg.Outbox, files) // first: a file without a note could not be looked after
	if err == nil {
		err = s.disk.RemoveAt(s.cfg.Outbox, notes)
	}
	if err != nil {
		return fmt.Errorf("discharge from the outbox: %w", err)
	}
	return nil
}

// cleanOutbox removes what interrupted calls left: temporary names, and notes without bytes.
func (s *outgoing) cleanOutbox() error {
	if err := s.disk.CleanTemporary(s.cfg.Outbox); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.cfg.Outbox)
	if err != nil {
		return err
	}
	if err := s.orphanLists(s.cfg.Outbox, namesOf(entries)); err != nil {
		return err
	}
	for _, e := range entries {
		name, isNote := strings.CutPrefix(e.Name(), entryMark)
		orphan := isNote && !isFile(s.outboxPath(catalog.FileName(name)))
		if !orphan && !strings.HasPrefix(e.Name(), ".put-") {
			continue
		}
		if err := s.disk.Remove(filepath.Join(s.cfg.Outbox, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// roomOutside answers disk.ErrFull when the outbox's disk lacks room for size bytes beside the reserve.
func (s *outgoing) roomOutside(size int64) error {
	free, _, err := s.disk.Free(s.cfg.Outbox)
	if err != nil {
		return err
	}
	if int64(free)-s.cfg.Reserve < size {
		return fmt.Errorf("%w: %d bytes are free and %d are kept in reserve", disk.ErrFull, free, s.cfg.Reserve)
	}
	return nil
}

// Reject sets a file of the outbox aside in the quarantine, with the reason.
func (s *outgoing) Reject(name catalog.FileName, reason string) error {
	defer s.outbox.lock(name)()
	from := s.outboxPath(name)
	if !isFile(from) {
		return nil
	}
	to := s.aside(s.cfg.Quarantine, name)
	if err := s.writeReason(to, reason); err != nil {
		return fmt.Errorf("set %s aside: %w", name, err)
	}
	if err := s.dropList(from); err != nil {
		return fmt.Errorf("set %s aside: %w", name, err)
	}
	if err := s.disk.Rename(from, to); err != nil {
		return errors.Join(fmt.Errorf("set %s aside: %w", name, err), s.withdrawReason(to))
	}
	return s.drop(s.notePath(name))
}
