package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"holdfast/catalog"
)

// errNoList reports a copy whose block digests have to be made first, by reading the whole file.
var errNoList = errors.New("block digests are missing")

// Open opens the file where the store has it: vouched for in its shard, or in the outbox; never bytes known to be
// wrong. Else the answer is ErrNotHere.
func (s *Store) Open(name catalog.FileName) (*Bytes, error) {
	return s.openKnown(Held{Name: name}, false)
}

// openKnown is Open; doubted means that the bytes in the shard must not be given out, under whichever name.
func (s *Store) openKnown(want Held, doubted bool) (found *Bytes, err error) {
	err = s.try(want, doubted, func(_ string, b *Bytes) error {
		found = b
		return nil
	})
	return found, err
}

// try opens the files that may be read as name, one after the other, until take accepts one: its own from then on. When
// a file's shard moves to another disk while take looks at the file, take is given the file where it is by then.
func (s *Store) try(want Held, doubted bool, take func(path string, b *Bytes) error) error {
	name := want.Name
	if err := checkName(name); err != nil {
		return fmt.Errorf("open file: %w: %w", ErrNotHere, err)
	}
	failed := ErrNotHere
	var shard os.FileInfo
	for _, where := range []func(catalog.FileName) string{s.Path, s.outboxPath} {
		err := s.shards.inPlace(where, name, func(path string) error {
			b, err := s.open(path)
			if err != nil {
				return err
			}
			info, err := b.Stat()
			placed := path != s.outboxPath(name)
			if placed {
				shard = info
			}
			switch {
			case err != nil:
			case doubted && shard != nil && os.SameFile(shard, info), s.spoilt.has(want, b.File),
				placed && s.loose.has(name):
				err = ErrNotHere
			default:
				err = take(path, b)
			}
			if err != nil {
				b.Close()
			}
			return err
		})
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			failed = worse(failed, err)
		}
	}
	return fmt.Errorf("open %s: %w", name, failed)
}

// openSound opens length bytes of the wanted file from offset for a reader; the first of them are verified when it
// returns. Without a list of block digests the answer is errNoList, unless build says to read the whole file and make
// it.
func (s *Store) openSound(ctx context.Context, want Held, offset, length int64, doubted, build bool) (in *sound,
	err error) {
	err = s.try(want, doubted, func(path string, b *Bytes) error {
		if b.Size != want.Size {
			s.spoilt.set(want, b.File, true)
			return fmt.Errorf("%w: %d bytes, not %d", ErrDamaged, b.Size, want.Size)
		}
		list, err := s.soundList(ctx, path, want, build)
		if err != nil {
			return err
		}
		in = &sound{bytes: b, want: want, list: list, store: s, at: offset, end: offset + length}
		err = in.fill()
		if build && errors.Is(err, errNoList) { // the list is there and damaged
			in.release()
			if in.list, err = s.makeList(ctx, path, want); err == nil {
				err = in.fill()
			}
		}
		if err != nil {
			in.release()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return in, nil
}

// soundList returns the list of the file at path; nil for a file that needs none.
func (s *media) soundList(ctx context.Context, path string, want Held, build bool) (*list, error) {
	if want.Size <= plainSize {
		return nil, nil
	}
	l, err := openList(path, want)
	if err == nil {
		return l, nil
	}
	if !build {
		return nil, errNoList
	}
	return s.makeList(ctx, path, want)
}

// makeList reads the whole file at path to make its list.
func (s *media) makeList(ctx context.Context, path string, want Held) (*list, error) {
	size, digest, err := s.measure(ctx, path, want, nil, true)
	if err != nil {
		return nil, err
	}
	if size != want.Size || digest != want.SHA256 {
		return nil, fmt.Errorf("%w: SHA-256 %s", ErrDamaged, digest)
	}
	return openList(path, want)
}

// ownList returns the list of the wanted file that this node has, whatever became of its bytes; nil if it has none.
func (s *Store) ownList(want Held) *list {
	for _, path := range []string{s.Path(want.Name), s.outboxPath(want.Name)} {
		if l, err := openList(path, want); err == nil {
			return l
		}
	}
	return nil
}

// sound reads a range of a file whose bytes are verified before any of them is given. After an error, the bytes given
// before are still right.
type sound struct {
	bytes   *Bytes
	want    Held
	list    *list // nil: the file is verified as a whole
	store   *Store
	at, end int64 // of the range; at is where the next fill reads
	block   *[]byte
	ready   []byte // verified and not given yet
	broken  bool   // the read failed, or the bytes were wrong
}

func (v *sound) Read(p []byte) (int, error) {
	if len(v.ready) == 0 {
		if v.at >= v.end {
			return 0, io.EOF
		}
		if err := v.fill(); err != nil {
			v.broken = true
			return 0, err
		}
	}
	n := copy(p, v.ready)
	v.ready = v.ready[n:]
	return n, nil
}

// WriteTo implements io.WriterTo without a buffer between.
func (v *sound) WriteTo(w io.Writer) (total int64, err error) {
	for len(v.ready) > 0 || v.at < v.end {
		if len(v.ready) == 0 {
			if err := v.fill(); err != nil {
				v.broken = true
				return total, err
			}
		}
		n, err := w.Write(v.ready)
		v.ready = v.ready[n:]
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// fill reads and verifies the blocks that come next, as many as fit into a buffer.
func (v *sound) fill() error {
	if v.at >= v.end {
		return nil
	}
	if v.block == nil {
		v.block = v.store.blocks.Get().(*[]byte)
	}
	start, stop := covered(v.at, v.end, v.want.Size)
	got := (*v.block)[:stop-start]
	if _, err := v.bytes.ReadAt(got, start); err != nil {
		return fmt.Errorf("read %s: %w", v.want.Name, err)
	}
	if err := checkBlocks(v.list, v.want, start, got); err != nil {
		return err
	}
	next := min(stop, v.end)
	v.ready, v.at = got[v.at-start:next-start], next
	return nil
}

// covered returns the range of whole blocks to read next for the bytes from at to end: no more than a buffer, and all
// of a file that has no list.
func covered(at, end, size int64) (start, stop int64) {
	if size <= plainSize {
		return 0, size
	}
	start = at - at%listBlock
	return start, min(start+blockSize, blockCount(end)*listBlock, size)
}

// checkBlocks compares the bytes from start, which are whole blocks, with the list, or the whole file with its digest.
func checkBlocks(l *list, want Held, start int64, got []byte) error {
	if l != nil {
		return l.check(start/listBlock, got)
	}
	if sum := catalog.Digest(sha256.Sum256(got)); sum != want.SHA256 {
		return fmt.Errorf("read %s: %w: SHA-256 %s", want.Name, ErrDamaged, sum)
	}
	return nil
}

// release gives back all but the file.
func (v *sound) release() {
	if v.block != nil {
		v.store.blocks.Put(v.block)
		v.block, v.ready = nil, nil
	}
	v.list.Close()
}

func (v *sound) Close() error {
	v.release()
	return v.bytes.Close()
}
