package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// quarantine looks at quarantined files. Bytes that turn out right are offered if nobody else has the file; wrong
// bytes are deleted after a while, once the file is complete.
func (l *strayLook) quarantine(ctx context.Context, dir string) error {
	names, err := folderNames(dir)
	if err != nil {
		return err
	}
	var failed error
	for _, text := range names {
		dot := strings.LastIndexByte(text, '.')
		if dot < 0 || strings.HasSuffix(text, reasonSuffix) || checkName(catalog.FileName(text[:dot])) != nil {
			continue
		}
		if err := l.setAside(ctx, catalog.FileName(text[:dot]), filepath.Join(dir, text)); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (l *strayLook) setAside(ctx context.Context, name catalog.FileName, path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, complete, wanted, err := l.wants(name)
	if errors.Is(err, catalog.ErrNotFound) {
		l.note("quarantine", path, name, strayUnknown)
		return nil
	}
	if err != nil {
		return err
	}
	one, known := l.keptReading(path, info)
	if !known {
		if one, err = l.readAside(ctx, path, l.pace); err != nil {
			return err
		}
	}
	state := asideState(one, f)
	switch {
	case state == asideRight && wanted:
		if state, err = l.offer(ctx, f, path); err != nil {
			return err
		}
	case state == asideRight:
		state = strayKept
	case complete && state == strayDamaged && time.Since(asideSince(path)) > quarantineTime:
		gone, err := l.expire(ctx, name, path)
		if err != nil || gone {
			return err
		}
	}
	l.note("quarantine", path, name, state)
	l.found[len(l.found)-1].Harmless = complete && state == strayDamaged
	return nil
}

// wants looks at a file: whether all copies that are to be made are there, one of bytes among them, or it was removed;
// and whether nobody is known to have good bytes of it.
func (l *strayLook) wants(name catalog.FileName) (f catalog.File, complete, wanted bool, err error) {
	err = l.catalog.View(func(v catalog.View) error {
		var err error
		if f, err = v.File(name); err != nil {
			return err
		}
		holders, err := v.CoveringFile(&f)
		complete = f.Removed != 0 || f.Complete() && f.Lost == 0 && len(holders) > 0
		wanted = f.Removed == 0 && len(holders) == 0
		return err
	})
	return f, complete, wanted, err
}

// expire deletes bytes that have been in the quarantine for long enough. They are read once more just before: an
// earlier reading may have been wrong, and the archive may have learnt meanwhile what the file is. Then the cluster is
// asked, as this node's own state may be old. A cluster that does not decide such things yet is not asked: there all
// nodes that are said to have the file must have compared their copies with the catalog.
func (l *strayLook) expire(ctx context.Context, name catalog.FileName, path string) (gone bool, err error) {
	one, err := l.readAside(ctx, path, l.pace)
	if err != nil {
		return false, err
	}
	f, complete, _, err := l.wants(name)
	if err != nil || !complete || asideState(one, f) != strayDamaged {
		return false, err
	}
	id := files.AsideName(filepath.Base(path))
	answer, err := l.askDrop(ctx, files.Drop{Node: l.cfg.Self, Aside: id, SHA256: one.digest})
	if refusal := (*catalog.Refusal)(nil); errors.As(err, &refusal) && refusal.Code == catalog.Unsupported {
		err = l.catalog.View(func(v catalog.View) (err error) {
			answer.Allowed = f.Removed != 0
			if !answer.Allowed {
				answer.Allowed, err = allCompared(v, f)
			}
			return err
		})
	}
	if err != nil || !answer.Allowed {
		return false, err
	}
	if err := l.forget(path); err != nil {
		return false, err
	}
	l.log.Info("bytes in the quarantine were deleted: the file is complete", "file", name, "path", path)
	return true, nil
}

// asideSince returns when the bytes at path in the quarantine were set aside, as their name says; now if it does not.
func asideSince(path string) time.Time {
	stamp := path[strings.LastIndexByte(path, '.')+1:]
	if len(stamp) == 17 {
		if at, err := time.Parse("20060102150405.000", stamp[:14]+"."+stamp[14:]); err == nil {
			return at
		}
	}
	return time.Now()
}

// quarantines returns the folders for quarantined files.
func (s *mounts) quarantines() []string {
	dirs := []string{s.cfg.Quarantine}
	for _, r := range s.roots {
		dirs = append(dirs, r.quarantine)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// incoming returns the folders for files being received.
func (s *mounts) incoming() []string {
	var dirs []string
	for _, r := range s.roots {
		dirs = append(dirs, r.incoming)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// dropAside removes bytes from the quarantine, and why they were there.
func (s *media) dropAside(path string) error {
	return errors.Join(s.drop(path), s.drop(path+reasonSuffix))
}

// cleared notes that the bytes in the outbox were read and found right.
func (s *Store) cleared(name catalog.FileName) {
	if b, err := s.open(s.outboxPath(name)); err == nil {
		s.spoilt.set(Held{Name: name}, b.File, false)
		b.Close()
	}
}
