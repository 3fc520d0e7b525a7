package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Find reads everything here under the file's name, vouched for or not: in its shard, in the outbox, in the
// quarantine, and among received bytes. It reports whether any of it is the file. Bytes that the disk cannot read are
// not the file; they stay where they are. An error means that this could not be found out.
func (r *server) Find(ctx context.Context, want Held) (bool, error) {
	if err := checkName(want.Name); err != nil {
		return false, fmt.Errorf("look for %s: %w", want.Name, err)
	}
	release, ok := r.hashes.take()
	if !ok {
		return false, ErrBusy
	}
	defer release()
	if err := r.store.Mounted(); err != nil {
		return false, fmt.Errorf("look for %s: %w", want.Name, err)
	}
	for range 3 {
		has, moved, err := look(ctx, r.store, want)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", want.Name, err)
		}
		if !moved {
			return has, nil
		}
	}
	return false, fmt.Errorf("look for %s: its shard is moving to another disk; ask again", want.Name)
}

// look reads everything here under the name once. It may miss files that move meanwhile, to another disk or to the
// quarantine.
func look(ctx context.Context, s *Store, want Held) (has, moved bool, err error) {
	paths, err := remains(s, want.Name)
	if err != nil {
		return false, false, err
	}
	for _, path := range paths {
		size, digest, err := s.hashFile(ctx, path, nil)
		switch {
		case err == nil && size == want.Size && digest == want.SHA256:
			return true, false, nil
		case err == nil:
		case errors.Is(err, fs.ErrNotExist):
			return false, true, nil
		case errors.Is(err, errUnreadable):
			s.log.Warn("bytes under the name of a file that may be lost cannot be read", "file", want.Name, "path",
				path, "err", err)
		default:
			return false, false, err
		}
	}
	after, err := remains(s, want.Name)
	return false, !slices.Equal(paths, after), err
}

// remains returns where anything lies under the file's name.
func remains(s *Store, name catalog.FileName) (paths []string, err error) {
	paths = []string{s.Path(name), s.outboxPath(name)}
	for _, dir := range s.incoming() {
		paths = append(paths, filepath.Join(dir, string(name)+partSuffix))
	}
	for _, dir := range s.quarantines() {
		entries, err := folderNames(dir)
		if err != nil {
			return nil, err
		}
		for _, text := range entries {
			if dot := strings.LastIndexByte(text, '.'); dot > 0 && text[:dot] == string(name) &&
				!strings.HasSuffix(text, reasonSuffix) {
				paths = append(paths, filepath.Join(dir, text))
			}
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Lstat(path) // what cannot even be looked at is there, and its reader says so
		return errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular()
	}), nil
}

// layAside sets aside everything here under the name of a file that is declared lost: it is not the file, but it may
// be all that is left of it. Files in the outbox stay.
func (r *holdings) layAside(f catalog.File) error {
	if r.sums != nil {
		return nil
	}
	err := r.store.Quarantine(f.Name, "the file is declared lost: "+f.LostWhy)
	return errors.Join(err, r.store.DropPart(f.Name))
}
