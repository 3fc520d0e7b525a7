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
	var f catalog.File
	var complete, wanted bool
	err = l.catalog.View(func(v catalog.View) error {
		var err error
		if f, err = v.File(name); err != nil {
			return err
		}
		holders, err := v.CoveringFile(&f)
		complete, wanted = f.Removed != 0 || f.Complete(), f.Removed == 0 && len(holders) == 0
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		l.note("quarantine", path, name, strayUnknown)
		return nil
	}
	if err != nil {
		return err
	}
	state := l.judged(path)
	if state == "" || state == strayKept && wanted {
		if state, err = l.read(ctx, f, path, wanted); err != nil {
			return err
		}
	}
	if complete && state == strayDamaged && time.Since(asideSince(path)) > quarantineTime {
		if err := l.store.dropAside(path); err != nil {
			return err
		}
		l.log.Info("bytes in the quarantine were deleted: the file is complete", "file", name, "path", path)
		return nil
	}
	l.note("quarantine", path, name, state)
	l.found[len(l.found)-1].Harmless = complete && state == strayDamaged
	return nil
}

func (l *strayLook) judged(path string) string {
	l.strays.mu.Lock()
	defer l.strays.mu.Unlock()
	return l.strays.judge[path]
}

// read tells what bytes in the quarantine are, and offers them when they are right and wanted.
func (l *strayLook) read(ctx context.Context, f catalog.File, path string, wanted bool) (state string, err error) {
	size, digest, err := l.store.hashFile(ctx, path, l.pace)
	switch {
	case errors.Is(err, errUnreadable):
		return strayUnread, nil
	case err != nil:
		return "", err
	case size != f.Size || digest != f.SHA256:
		state = strayDamaged
	case wanted:
		return l.offer(ctx, f, path)
	default:
		state = strayKept
	}
	l.strays.mu.Lock()
	defer l.strays.mu.Unlock()
	if l.strays.judge == nil {
		l.strays.judge = make(map[string]string)
	}
	l.strays.judge[path] = state
	return state, nil
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
		s.spoilt.set(name, b.File, false)
		b.Close()
	}
}
