package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"holdfast/catalog"
)

// emptying removes everything that is not in shards from one disk.
type emptying struct {
	*Store
	root *root
}

// run removes everything that is not in shards from a disk that is to be emptied: it deletes parts of copies, moves
// quarantined files to another disk, and removes empty folders of shards. It returns a description of what is still
// there; "" means that the disk is empty and will stay empty.
func (e emptying) run(ctx context.Context) (left string, err error) {
	if err := e.root.mounted(); err != nil {
		return "", err
	}
	shards := 0
	for n := range catalog.Shard(catalog.Shards) {
		if e.shards.on(n) == e.root {
			shards++
		}
	}
	if shards > 0 {
		return fmt.Sprintf("%d shards lie on it still", shards), nil
	}
	for _, l := range e.left.list() {
		if l.on == e.root {
			return fmt.Sprintf("%s is not removed yet", e.root.left(l.shard)), nil
		}
	}
	stagings, err := e.root.stagings()
	if err != nil {
		return "", err
	}
	for _, n := range stagings {
		if err := e.disk.RemoveAll(e.root.moving(n)); err != nil {
			return "", err
		}
	}
	if err := e.incoming(); err != nil {
		return "", err
	}
	if err := e.setAside(ctx); err != nil {
		return "", err
	}
	return e.remains()
}

// remains names something of the archive that lies under the root after all; nothing else may be there but its
// mark, its own empty folders, and what is not the program'e.
func (e emptying) remains() (string, error) {
	names, err := folderNames(e.root.path)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		n, err := catalog.ParseShard(strings.TrimPrefix(strings.TrimPrefix(name, leftMark), movingMark))
		if err == nil && strings.HasSuffix(name, n.String()) {
			return fmt.Sprintf("%s lies on it still", filepath.Join(e.root.path, name)), nil
		}
	}
	return "", nil
}

// ownFolder reports whether a folder for incoming or quarantined files is on the root alone.
func (r *root) ownFolder(dir string) bool { return filepath.Dir(dir) == filepath.Clean(r.path) }

// incoming removes parts of copies from a root on which no shard lies: they are made again elsewhere.
func (e emptying) incoming() error {
	if !e.root.ownFolder(e.root.incoming) {
		return nil
	}
	names, err := folderNames(e.root.incoming)
	if err != nil {
		return err
	}
	for _, text := range names {
		if err := e.drop(filepath.Join(e.root.incoming, text)); err != nil {
			return err
		}
	}
	return nil
}

// setAside moves the root's quarantined files, with their reasons, to the root with the most room.
func (e emptying) setAside(ctx context.Context) error {
	if !e.root.ownFolder(e.root.quarantine) {
		return nil
	}
	names, err := folderNames(e.root.quarantine)
	if err != nil {
		return err
	}
	for _, text := range names {
		if strings.HasSuffix(text, reasonSuffix) {
			continue // comes with its bytes
		}
		if err := e.moveAside(ctx, text); err != nil {
			return fmt.Errorf("move %s to another disk: %w", filepath.Join(e.root.quarantine, text), err)
		}
	}
	for _, text := range names {
		if strings.HasSuffix(text, reasonSuffix) {
			if err := e.drop(filepath.Join(e.root.quarantine, text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveAside moves one file that was set aside to another root's quarantine. It goes from here only after it was
// read there.
func (e emptying) moveAside(ctx context.Context, text string) error {
	from := filepath.Join(e.root.quarantine, text)
	b, err := e.open(from)
	if err != nil {
		return err
	}
	defer b.Close()
	dir, err := e.elsewhere(b.Size)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, text)
	sum := sha256.New()
	err = e.disk.WriteFile(to, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), &interruptible{ctx, b})
		return err
	})
	if err != nil {
		return err
	}
	size, digest, err := e.hashFile(ctx, to, nil)
	if err != nil {
		return err
	}
	if want := catalog.Digest(sum.Sum(nil)); size != b.Size || digest != want {
		return errors.Join(fmt.Errorf("%w: SHA-256 %s, and %s was written", ErrDamaged, digest, want), e.drop(to))
	}
	if reason, err := e.open(from + reasonSuffix); err == nil {
		defer reason.Close()
		err := e.disk.WriteFile(to+reasonSuffix, func(w io.Writer) error { _, err := io.Copy(w, reason); return err })
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return e.dropAside(from)
}

// elsewhere returns the quarantine of the root with the most room that is not to be emptied.
func (e emptying) elsewhere(size int64) (dir string, err error) {
	best := size
	for _, other := range e.roots {
		if other == e.root || other.draining.Load() || other.refuses() != nil ||
			other.quarantine == e.root.quarantine || other.mounted() != nil {
			continue
		}
		room, err := e.room(other)
		if err != nil {
			return "", err
		}
		if room >= best {
			dir, best = other.quarantine, room
		}
	}
	if dir == "" {
		return "", errors.New("no other disk has room for the shard")
	}
	return dir, nil
}

// interruptible is a reader that ends when its context does.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.Reader.Read(p)
}
