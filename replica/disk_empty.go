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

// emptyRoot takes what is not in shards off a disk that is to be emptied: parts of copies go, what was set aside
// moves to another disk, empty folders of shards are given up. It returns what still lies there, in words; nothing
// when the disk is empty, and nothing comes to it any more.
func (s *Store) emptyRoot(ctx context.Context, r *root) (left string, err error) {
	if err := r.mounted(); err != nil {
		return "", err
	}
	shards := 0
	for n := range catalog.Shard(catalog.Shards) {
		if s.shardOn(n, r) {
			shards++
		}
	}
	if shards > 0 {
		return fmt.Sprintf("%d shards lie on it still", shards), nil
	}
	for _, l := range s.leftovers() {
		if l.on == r {
			return fmt.Sprintf("%s is not removed yet", r.left(l.shard)), nil
		}
	}
	stagings, err := r.stagings()
	if err != nil {
		return "", err
	}
	for _, n := range stagings {
		if err := s.dropStaging(r, n); err != nil {
			return "", err
		}
	}
	if err := s.emptyIncoming(r); err != nil {
		return "", err
	}
	if err := s.emptyQuarantine(ctx, r); err != nil {
		return "", err
	}
	return s.remains(r)
}

// shardOn reports whether the shard lies on the root.
func (s *Store) shardOn(n catalog.Shard, r *root) bool {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.root == r
}

// remains names something of the archive that lies under the root after all; nothing else may be there but its
// mark, its own empty folders, and what is not the program's.
func (s *Store) remains(r *root) (string, error) {
	names, err := folderNames(r.path)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		n, err := catalog.ParseShard(strings.TrimPrefix(strings.TrimPrefix(name, leftMark), movingMark))
		if err == nil && strings.HasSuffix(name, n.String()) {
			return fmt.Sprintf("%s lies on it still", filepath.Join(r.path, name)), nil
		}
	}
	return "", nil
}

// dropParts removes what was received of files of a shard on the disks that it does not lie on.
func (s *Store) dropParts(n catalog.Shard) error {
	at := s.rootOf(n)
	if at < 0 {
		return nil
	}
	for _, r := range s.roots {
		if r.incoming == s.roots[at].incoming {
			continue
		}
		names, err := folderNames(r.incoming)
		if err != nil {
			return err
		}
		for _, text := range names {
			name, ok := strings.CutSuffix(text, partSuffix)
			if ok && catalog.FileName(name).Shard() == n {
				if err := s.drop(filepath.Join(r.incoming, text)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ownFolder reports whether a folder for what comes or was set aside is on the root alone.
func (r *root) ownFolder(dir string) bool { return filepath.Dir(dir) == filepath.Clean(r.path) }

// emptyIncoming removes parts of copies from a root on which no shard lies: they are made again elsewhere.
func (s *Store) emptyIncoming(r *root) error {
	if !r.ownFolder(r.incoming) {
		return nil
	}
	names, err := folderNames(r.incoming)
	if err != nil {
		return err
	}
	for _, text := range names {
		if err := s.drop(filepath.Join(r.incoming, text)); err != nil {
			return err
		}
	}
	return nil
}

// emptyQuarantine moves what was set aside on the root to the one with the most room, the reasons too.
func (s *Store) emptyQuarantine(ctx context.Context, r *root) error {
	if !r.ownFolder(r.quarantine) {
		return nil
	}
	names, err := folderNames(r.quarantine)
	if err != nil {
		return err
	}
	for _, text := range names {
		if strings.HasSuffix(text, reasonSuffix) {
			continue // comes with its bytes
		}
		if err := s.moveAside(ctx, r, text); err != nil {
			return fmt.Errorf("move %s to another disk: %w", filepath.Join(r.quarantine, text), err)
		}
	}
	for _, text := range names {
		if strings.HasSuffix(text, reasonSuffix) {
			if err := s.drop(filepath.Join(r.quarantine, text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveAside moves one file that was set aside to another root's quarantine. It goes from here only after it was
// read there.
func (s *Store) moveAside(ctx context.Context, r *root, text string) error {
	from := filepath.Join(r.quarantine, text)
	b, err := s.open(from)
	if err != nil {
		return err
	}
	defer b.Close()
	dir, err := s.asideElsewhere(r, b.Size)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, text)
	sum := sha256.New()
	err = s.disk.WriteFile(to, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), &interruptible{ctx, b})
		return err
	})
	if err != nil {
		return err
	}
	size, digest, err := s.hashFile(ctx, to, nil)
	if err != nil {
		return err
	}
	if want := catalog.Digest(sum.Sum(nil)); size != b.Size || digest != want {
		return errors.Join(fmt.Errorf("%w: SHA-256 %s, and %s was written", ErrDamaged, digest, want), s.drop(to))
	}
	if reason, err := s.open(from + reasonSuffix); err == nil {
		defer reason.Close()
		err := s.disk.WriteFile(to+reasonSuffix, func(w io.Writer) error { _, err := io.Copy(w, reason); return err })
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.dropAside(from)
}

// asideElsewhere returns the quarantine of the root with the most room that is not to be emptied.
func (s *Store) asideElsewhere(r *root, size int64) (dir string, err error) {
	best := size
	for _, other := range s.roots {
		if other == r || other.draining.Load() || other.quarantine == r.quarantine || other.mounted() != nil {
			continue
		}
		room, err := s.room(other)
		if err != nil {
			return "", err
		}
		if room >= best {
			dir, best = other.quarantine, room
		}
	}
	if dir == "" {
		return "", errors.New("no other disk has room for it")
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
