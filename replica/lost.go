package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/catalog"
)

// Find reads whatever lies here under the file's name, vouched for or not, in its shard and in the outbox, and reports
// whether any of it is the file. An error says that this could not be found out.
func (r *Replica) Find(ctx context.Context, want Held) (bool, error) {
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
	for _, where := range []func(catalog.FileName) string{r.store.Path, r.store.outboxPath} {
		var size int64
		var digest catalog.Digest
		err := inPlace(where, want.Name, func(path string) (err error) {
			if !isFile(path) {
				return fs.ErrNotExist
			}
			size, digest, err = r.store.hashFile(ctx, path, nil)
			return err
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err == nil && size == want.Size && digest == want.SHA256:
			return true, nil
		case err != nil && !errors.Is(err, ErrDamaged):
			return false, fmt.Errorf("look for %s: %w", want.Name, err)
		}
	}
	return false, nil
}

// layAside sets aside what lies here under the name of a file that is declared lost: it is not the file, but it may be all
// that is left of it. What the outbox has stays.
func (r *Replica) layAside(f catalog.File) error {
	if r.sums != nil {
		return nil
	}
	err := r.store.Quarantine(f.Name, "the file is declared lost: "+f.LostWhy)
	return errors.Join(err, r.store.DropPart(f.Name))
}
