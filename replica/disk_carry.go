package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// carry brings one file of the shard to the staging folder: copied and hashed, put on stable storage, and read
// back from the new disk. A copy that the archive counts on and whose bytes are wrong is reported, and waits to be
// repaired.
func (m *shardMove) carry(ctx context.Context, name catalog.FileName) error {
	st, err := m.standing(name)
	if err != nil {
		return err
	}
	path := filepath.Join(m.from.folder(m.shard), string(name))
	b, err := m.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m.from.mounted() // it went away meanwhile
	}
	if err != nil {
		return m.unread(ctx, name, st, path, readFault(err))
	}
	defer b.Close()
	source, err := b.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", errSourceDisk, err)
	}
	want, err := m.promised(name, st)
	if err != nil {
		return err
	}
	if h, ok := m.found[name]; ok && st.known && h == want {
		m.note(name, staged{h, true, source})
		return nil
	}
	got, err := m.duplicate(ctx, b, name, want)
	if errors.Is(err, errUnreadable) {
		return m.unread(ctx, name, st, path, err)
	}
	if err != nil {
		return err
	}
	right := want.Size >= 0 && got == want || want.Size < 0 && got.SHA256 == want.SHA256
	if !right && st.counted {
		return m.wrong(ctx, name, source, got.SHA256)
	}
	m.note(name, staged{got, right, source})
	return nil
}

// promised returns what the bytes of a file must be: according to the catalog; or else to the manifest, which has no
// size (-1); or else nothing.
func (m *shardMove) promised(name catalog.FileName, st standing) (Held, error) {
	if st.known {
		return st.want, nil
	}
	lines, err := readManifest(filepath.Join(m.from.folder(m.shard), ManifestName))
	if err != nil {
		return Held{}, fmt.Errorf("%w: %w", errSourceDisk, err)
	}
	l := lines.lines[name]
	return Held{Name: name, Size: -1, SHA256: l.digest}, nil
}

// duplicate copies the open file to the staging folder and reads it back, and returns its size and digest.
// errUnreadable concerns the source's bytes; errTarget the new disk.
func (m *shardMove) duplicate(ctx context.Context, b *Bytes, name catalog.FileName, want Held) (got Held, err error) {
	release, err := m.makeRoom(b.Size)
	if err != nil {
		return got, fmt.Errorf("%w: %w", errTarget, err)
	}
	defer release()
	path := filepath.Join(m.to.moving(m.shard), string(name))
	delete(m.found, name)
	got, err = m.write(ctx, b, path)
	got.Name = name
	if err == nil {
		m.carryList(b.Name(), path, got)
		err = m.readBack(ctx, path, got, got.SHA256 == want.SHA256)
	}
	if err != nil {
		return got, errors.Join(err, m.unstage(name))
	}
	return got, nil
}

// makeRoom sets room aside on the new disk until release is called, or answers disk.ErrFull.
func (m *shardMove) makeRoom(size int64) (release func(), err error) {
	room, err := m.room(m.to)
	if err == nil && room < size {
		err = fmt.Errorf("%d bytes under %s: %w: %d bytes left above the reserve", size, m.to.path,
			disk.ErrFull, max(room, 0))
	}
	if err != nil {
		return nil, err
	}
	m.to.promise(size)
	return func() { m.to.promise(-size) }, nil
}

func (r *root) promise(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promised += size
}

// write copies the bytes to a new file at path, and puts them on stable storage; the file's name is not yet.
func (m *shardMove) write(ctx context.Context, b *Bytes, path string) (got Held, err error) {
	f, err := m.disk.Create(path)
	if err != nil {
		return got, fmt.Errorf("%w: %w", errTarget, err)
	}
	defer func() {
		if closing := f.Close(); err == nil && closing != nil {
			err = fmt.Errorf("%w: %w", errTarget, closing)
		}
	}()
	sum := sha256.New()
	var count atomic.Int64
	adviseCold(b.File)
	defer adviseDone(b.File)
	err = m.pump(ctx, pipe{in: b, out: &counted{f, m}, sum: sum, limit: m.limit, count: &count})
	switch {
	case errors.Is(err, errWrite):
		return got, fmt.Errorf("%w: %w", errTarget, err)
	case err != nil:
		return got, readFault(err)
	}
	if err := f.SyncData(); err != nil {
		return got, fmt.Errorf("%w: %w", errTarget, err)
	}
	return Held{Size: count.Load(), SHA256: catalog.Digest(sum.Sum(nil))}, nil
}

// counted tells how many bytes were written.
type counted struct {
	io.Writer
	move *shardMove
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.move.tell(func(d *DiskMove) { d.Bytes += int64(n) })
	return n, err
}

// carryList brings the block digests along, if there are any about these bytes. They are derived: without them,
// reading back makes them.
func (m *shardMove) carryList(from, to string, got Held) {
	l, err := openList(from, got)
	if err != nil {
		return
	}
	defer l.Close()
	err = m.disk.WriteFile(blocksPath(to), func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(l.file, 0, listSize(got.Size)))
		return err
	})
	if err != nil {
		m.log.Warn("block digests could not be brought along; they are made again when they are needed", "file",
			got.Name, "err", err)
	}
}

// readBack reads a copied file from the new disk and compares it with what was written.
func (m *shardMove) readBack(ctx context.Context, path string, wrote Held, keep bool) (err error) {
	is := Held{Name: wrote.Name}
	if keep {
		is.Size, is.SHA256, err = m.measure(ctx, path, wrote, nil, false)
	} else {
		is.Size, is.SHA256, err = m.hashFile(ctx, path, nil)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && is != wrote {
		err = fmt.Errorf("%w: SHA-256 %s of %d bytes, and %s of %d were written", ErrDamaged, is.SHA256, is.Size,
			wrote.SHA256, wrote.Size)
	}
	if err != nil {
		return fmt.Errorf("%w: read back: %w", errTarget,
			errors.New(err.Error())) // errUnreadable is of the source alone
	}
	return nil
}

func (m *shardMove) note(name catalog.FileName, s staged) {
	m.staged[name] = s
	delete(m.waits, name)
	m.tell(func(p *DiskMove) { p.Files = int64(len(m.staged)) })
}

// unread deals with a file whose bytes cannot be read while its disk is there: a copy that the archive counts on
// waits to be repaired, anything else is set aside.
func (m *shardMove) unread(ctx context.Context, name catalog.FileName, st standing, path string, why error) error {
	if err := errors.Join(ctx.Err(), m.from.mounted()); err != nil {
		return err
	}
	if !errors.Is(why, errUnreadable) {
		return fmt.Errorf("%w: %w", errSourceDisk, why)
	}
	if !st.counted {
		if err := m.Quarantine(name, "its bytes cannot be read: "+why.Error()); err != nil {
			return fmt.Errorf("%w: %w", errSourceDisk, err)
		}
		return nil
	}
	source, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errSourceDisk, err)
	}
	return m.wrong(ctx, name, source, catalog.Digest{})
}

// wrong reports a copy that the archive counts on and whose bytes are not the file's. It never reaches the new disk.
func (m *shardMove) wrong(ctx context.Context, name catalog.FileName, source os.FileInfo,
	digest catalog.Digest) error {
	if err := m.unstage(name); err != nil {
		return fmt.Errorf("%w: %w", errTarget, err)
	}
	m.log.Error("a copy on the disk that its shard moves away from is wrong, and is repaired first", "file",
		name, "sha256", digest)
	m.waits[name] = source
	m.doubt(ctx, name, digest)
	return nil
}
