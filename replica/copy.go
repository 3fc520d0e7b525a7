package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"holdfast/catalog"
)

// blockSize is the unit of reading and writing, pipeDepth how many blocks one copy has under way: as many as
// stay in a processor's cache while they are written and hashed. hashBlock is the unit of hashing alone.
const (
	blockSize = 256 << 10
	pipeDepth = 4
	hashBlock = 64 << 10
)

// errWrite marks an error of the writing side, so that a source is not blamed for it.
var errWrite = errors.New("write")

// pipe copies from in to out until the end of in. It gives each block also to sum (nil: nobody), while a second
// goroutine writes it to out. After a read error, everything that was read has reached both, so that the copy can
// continue from another source; after errWrite neither can be used any more.
type pipe struct {
	in    io.Reader
	out   io.Writer
	sum   io.Writer
	limit *limiter
	count *atomic.Int64 // bytes read so far, for those who watch; nil: nobody
}

type block struct {
	bytes *[]byte
	n     int
}

func (s *media) pump(ctx context.Context, p pipe) error {
	free := make(chan *[]byte, pipeDepth)
	full := make(chan block, pipeDepth)
	for range pipeDepth {
		free <- s.blocks.Get().(*[]byte)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var writer sync.WaitGroup
	writer.Go(func() {
		for b := range full {
			if context.Cause(ctx) == nil || !errors.Is(context.Cause(ctx), errWrite) {
				if _, err := p.out.Write((*b.bytes)[:b.n]); err != nil {
					cancel(fmt.Errorf("%w: %w", errWrite, err))
				}
			}
			free <- b.bytes
		}
	})
	err := p.feed(ctx, free, full)
	close(full)
	writer.Wait()
	for range pipeDepth {
		s.blocks.Put(<-free)
	}
	if cause := context.Cause(ctx); errors.Is(cause, errWrite) {
		return cause
	}
	return err
}

// feed reads blocks, hands them to the writer, and sums them meanwhile. The writer returns a block when it is done
// with it, and only feed takes it again, after summing.
func (p pipe) feed(ctx context.Context, free chan *[]byte, full chan<- block) error {
	for ctx.Err() == nil {
		b := <-free
		n, err := io.ReadFull(p.in, *b)
		if n == 0 {
			free <- b
		} else {
			full <- block{b, n}
			if p.sum != nil {
				p.sum.Write((*b)[:n])
			}
		}
		if p.count != nil {
			p.count.Add(int64(n))
		}
		paid := p.limit.wait(ctx, n) // the last block too, or small files would cost nothing
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return paid // the caller knows how many bytes there had to be
		}
		if err := errors.Join(err, paid); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// hashFile reads the file at path from the disk and returns its size and SHA-256, or what readFault makes of the error.
func (s *media) hashFile(ctx context.Context, path string, limit *limiter) (int64, catalog.Digest, error) {
	b, err := s.open(path)
	if err != nil {
		return 0, catalog.Digest{}, readFault(err)
	}
	defer b.Close()
	adviseCold(b.File)
	defer adviseDone(b.File)
	size, digest, err := s.hash(ctx, b, limit)
	return size, digest, readFault(err)
}

// hash reads r to its end and returns the number of bytes and their SHA-256. It does not hash beside reading:
// the system reads ahead, and another processor would only get the bytes later.
func (s *media) hash(ctx context.Context, r io.Reader, limit *limiter) (int64, catalog.Digest, error) {
	b := s.blocks.Get().(*[]byte)
	defer s.blocks.Put(b)
	sum := sha256.New()
	for size := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return 0, catalog.Digest{}, err
		}
		n, err := r.Read((*b)[:hashBlock])
		sum.Write((*b)[:n])
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return size, catalog.Digest(sum.Sum(nil)), nil
		}
		if err == nil {
			err = limit.wait(ctx, n)
		}
		if err != nil {
			return 0, catalog.Digest{}, err
		}
	}
}
