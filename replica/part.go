package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// partSuffix ends the names in the incoming folders.
const partSuffix = ".part"

// part is a file that is being received: its bytes so far in the incoming folder, and their hash, which is
// kept while one source after the other is tried. One goroutine uses it.
type part struct {
	store   *Store
	want    Held
	path    string
	file    *disk.File
	early   *os.File // the same file, for advice
	sum     hash.Hash
	blocks  *blockSum // as sum: of the bytes so far
	resumed bool      // some bytes are from before this process started, or from another source
	release func()    // gives back the room set aside
}

// receive opens the part of the wanted file, going on where an earlier one stopped. The answer is
// disk.ErrFull when the file does not fit beside the reserve. Close or discard it afterwards.
func (s *Store) receive(ctx context.Context, want Held) (*part, error) {
	if err := checkName(want.Name); err != nil {
		return nil, err
	}
	root, release, err := s.claim(want.Name.Shard(), want.Size)
	if err != nil {
		return nil, err
	}
	p := &part{store: s, want: want, release: release}
	p.path = filepath.Join(root.incoming, string(want.Name)+partSuffix)
	if p.file, err = s.disk.Open(p.path); err != nil {
		release()
		return nil, err
	}
	if p.early, err = os.Open(p.path); err != nil {
		release()
		return nil, errors.Join(err, p.file.Close())
	}
	if err := p.recall(ctx); err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, p.close())
	} else if err != nil { // the remains of an earlier try are worth no more than a new beginning
		s.log.Warn("part of a copy cannot be read and is dropped", "file", want.Name, "err", err)
		return s.receiveAfresh(p)
	}
	return p, nil
}

// receiveAfresh opens the part again without its bytes, in another place of the disk.
func (s *Store) receiveAfresh(p *part) (_ *part, err error) {
	err = errors.Join(p.early.Close(), p.file.Close(), s.drop(p.path))
	if err == nil {
		p.file, err = s.disk.Open(p.path)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	if p.early, err = os.Open(p.path); err != nil {
		p.release()
		return nil, errors.Join(err, p.file.Close())
	}
	p.sum, p.blocks, p.resumed = sha256.New(), newBlockSum(p.want.Size), false
	return p, nil
}

// recall hashes the remains of an earlier try.
func (p *part) recall(ctx context.Context) error {
	if p.file.Size() > p.want.Size {
		return p.restart()
	}
	p.sum, p.blocks = sha256.New(), newBlockSum(p.want.Size)
	p.resumed = p.file.Size() > 0
	if !p.resumed {
		return nil
	}
	return p.store.pump(ctx, pipe{in: io.NewSectionReader(p.file, 0, p.file.Size()), out: p.blocks, sum: p.sum})
}

// restart drops all bytes received so far.
func (p *part) restart() error {
	p.sum, p.blocks = sha256.New(), newBlockSum(p.want.Size)
	p.resumed = false
	return p.file.Truncate(0)
}

// take appends what r gives, up to one byte more than the file has. After errWrite the part is of no use.
func (p *part) take(ctx context.Context, r io.Reader, limit *limiter, count *atomic.Int64) error {
	p.resumed = p.resumed || p.file.Size() > 0
	in := io.LimitReader(r, p.want.Size-p.file.Size()+1)
	return p.store.pump(ctx, pipe{in: in, out: &eager{part: p, begun: p.file.Size()}, sum: p.sum, limit: limit,
		count: count})
}

// complete reports whether all bytes are there; more than all of them is ErrDamaged, and so are other bytes
// than the wanted ones.
func (p *part) complete() (bool, error) {
	if p.file.Size() < p.want.Size {
		return false, nil
	}
	if got := catalog.Digest(p.sum.Sum(nil)); p.file.Size() > p.want.Size || got != p.want.SHA256 {
		return false, fmt.Errorf("%w: SHA-256 %s of %d bytes", ErrDamaged, got, p.file.Size())
	}
	return true, nil
}

// finish puts a complete part on stable storage and into its place.
func (p *part) finish() error {
	defer p.release()
	defer p.early.Close()
	if err := p.file.Sync(); err != nil {
		// From here on the content of the disk is unknown, and reading it again may not show it.
		return errors.Join(err, p.file.Close(), p.store.drop(p.path))
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	p.store.keepList(p.store.Path(p.want.Name), p.want, p.blocks)
	return p.store.place(p.want, p.path)
}

// close keeps the bytes for a later try.
func (p *part) close() error {
	p.release()
	if p.file.Size() == 0 {
		return p.discard()
	}
	return errors.Join(p.early.Close(), p.file.Close())
}

// discard drops the bytes.
func (p *part) discard() error {
	p.release()
	return errors.Join(p.early.Close(), p.file.Close(), p.store.drop(p.path))
}

// eagerStep is how many bytes are written before the disk is set to work on them.
const eagerStep = 16 << 20

// eager writes to a part, and makes the disk begin with what was written while more is coming.
type eager struct {
	*part
	begun int64
}

func (e *eager) Write(b []byte) (int, error) {
	n, err := e.file.Write(b)
	e.blocks.Write(b[:n])
	if size := e.file.Size(); size-e.begun >= eagerStep {
		adviseWrite(e.early, e.begun, size-e.begun)
		e.begun = size
	}
	return n, err
}

// DropPart removes the received part of a file; it is no error if there is none.
func (s *Store) DropPart(name catalog.FileName) error {
	for _, r := range s.roots {
		if err := s.drop(filepath.Join(r.incoming, string(name)+partSuffix)); err != nil {
			return err
		}
	}
	return nil
}
