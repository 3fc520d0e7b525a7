package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"holdfast/catalog"
)

// ErrNotStored reports that a file could not be put on this node's disks, whatever its bytes.
var ErrNotStored = errors.New("it cannot be stored here")

func notStored(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNotStored, err)
}

// Import takes a file from outside the archive into its shard: it copies the bytes, or with link gives them a second
// name where that can be done, and lists them. The bytes are read first, and compared with what is wanted: others are
// ErrDamaged, fewer are io.ErrUnexpectedEOF; an error of this node's disks wraps ErrNotStored. A copy that was
// interrupted goes on where it stopped. No room is disk.ErrFull, and a listed file of the name is ErrExists. told is
// called with the bytes that were read, as they are. The file at path is not changed.
func Import(ctx context.Context, s *Store, want Held, path string, link bool, told func(int64)) error {
	if err := checkName(want.Name); err != nil {
		return err
	}
	if link {
		done, err := importLink(ctx, s, want, path)
		if done || err != nil {
			told(want.Size)
			return err
		}
	}
	in, err := openBytes(path)
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := s.receive(ctx, want)
	if err != nil {
		return notStored(err)
	}
	for {
		resumed := p.file.Size()
		if _, err := in.Seek(resumed, io.SeekStart); err != nil {
			return errors.Join(err, p.close())
		}
		if err := p.take(ctx, &imported{in, told}, nil, nil); err != nil {
			if errors.Is(err, errWrite) {
				return notStored(errors.Join(err, p.spoiled(err)))
			}
			return errors.Join(err, p.close())
		}
		ok, err := p.complete()
		switch {
		case ok:
			return notStored(p.finish())
		case resumed > 0: // what was left may be of other bytes
			if err := p.restart(); err != nil {
				return notStored(errors.Join(err, p.close()))
			}
		case err != nil:
			return errors.Join(err, p.discard())
		default:
			return errors.Join(fmt.Errorf("%w: it has %d of %d bytes", io.ErrUnexpectedEOF,
				p.file.Size(), want.Size),
				p.discard())
		}
	}
}

// importLink gives the bytes at path a second name in the shard; done is false where that cannot be.
func importLink(ctx context.Context, s *Store, want Held, path string) (done bool, err error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	size, digest, err := s.hashFile(ctx, path, nil)
	if err != nil {
		return false, err
	}
	if size != want.Size || digest != want.SHA256 {
		return false, fmt.Errorf("%w: %d bytes with SHA-256 %s", ErrDamaged, size, digest)
	}
	_, release, err := s.claim(want.Name.Shard(), 0)
	if err != nil {
		return false, notStored(err)
	}
	release()
	if err := s.placeLink(want, path); err != nil {
		if cannotLink(err) {
			return false, nil
		}
		return false, notStored(err)
	}
	return true, nil
}

// imported tells what is read.
type imported struct {
	io.Reader
	told func(int64)
}

func (c *imported) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.told(int64(n))
	return n, err
}

// Listed returns what the store's manifest of the shard lists and what lies there, by name.
func Listed(s *Store, n catalog.Shard) (map[catalog.FileName]Held, error) {
	all, err := s.List(n)
	out := make(map[catalog.FileName]Held, len(all))
	for _, h := range all {
		out[h.Name] = h
	}
	return out, err
}
