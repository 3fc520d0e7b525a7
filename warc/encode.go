package warc

import (
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// smallBlock is the largest block that is taken into memory before it is written.
const smallBlock = 1 << 20

// encoder packs records into a buffer, one member each. It is used by one goroutine at a time.
type encoder struct {
	format Format
	out    []byte
	spill  func([]byte) error // takes what out holds once it is large; nil: out grows
	pack   packer
	head   []byte
	block  []byte
}

// packer is the compressor of one record.
type packer interface {
	io.WriteCloser
	Reset(w io.Writer)
}

func newEncoder(format Format, c Compression, level int) (*encoder, error) {
	e := &encoder{format: format}
	switch c {
	case Gzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		z, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			return nil, fmt.Errorf("gzip level %d: %w", level, err)
		}
		e.pack = z
	case Zstd:
		if level == 0 {
			level = 3
		}
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
			zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(4<<20), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, fmt.Errorf("zstd level %d: %w", level, err)
		}
		e.pack = z
	case None:
		e.pack = &unpacked{}
	default:
		return nil, fmt.Errorf("unknown compression %d", c)
	}
	return e, nil
}

// unpacked is the packer of files without compression.
type unpacked struct{ io.Writer }

func (u *unpacked) Reset(w io.Writer) { u.Writer = w }
func (u *unpacked) Close() error      { return nil }

// Write takes packed bytes.
func (e *encoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	if e.spill != nil && len(e.out) >= smallBlock {
		if err := e.spill(e.out); err != nil {
			return 0, err
		}
		e.out = e.out[:0]
	}
	return len(p), nil
}

// record packs one record, ID and digests filled in.
func (e *encoder) record(d Draft) error {
	if err := d.valid(); err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = NewID()
	}
	var small []byte
	if d.Size <= smallBlock {
		e.block = slices.Grow(e.block[:0], int(d.Size))
		small = e.block[:d.Size]
		if d.Size > 0 {
			if n, err := io.ReadFull(d.Block, small); err != nil {
				return fmt.Errorf("the block should have %d bytes and ends after %d: %w", d.Size, n, err)
			}
		}
		d.digest(small, e.format.Digest)
	} else if s, ok := d.Block.(io.ReadSeeker); ok && (d.BlockDigest == "" || d.wantsPayloadDigest()) {
		e.block = slices.Grow(e.block[:0], smallBlock)
		if err := d.digestSeeker(s, e.format.Digest, e.block[:smallBlock]); err != nil {
			return err
		}
	}
	e.head = d.appendHeader(e.head[:0], e.format.version())
	e.pack.Reset(e)
	if _, err := e.pack.Write(e.head); err != nil {
		return err
	}
	if small != nil {
		if _, err := e.pack.Write(small); err != nil {
			return err
		}
	} else if err := e.stream(d.Block, d.Size); err != nil {
		return err
	}
	return e.end()
}

// verbatim packs a record whose header is written as it was read.
func (e *encoder) verbatim(head string, block io.Reader, size int64) error {
	e.pack.Reset(e)
	if _, err := io.WriteString(e.pack, head); err != nil {
		return err
	}
	if err := e.stream(block, size); err != nil {
		return err
	}
	return e.end()
}

// stream packs exactly size bytes of a block.
func (e *encoder) stream(block io.Reader, size int64) error {
	e.block = slices.Grow(e.block[:0], 128<<10)
	n, err := io.CopyBuffer(onlyWriter{e.pack}, io.LimitReader(block, size), e.block[:128<<10])
	if err != nil {
		return err
	}
	if n < size {
		return fmt.Errorf("the block should have %d bytes and ends after %d: %w", size, n, io.ErrUnexpectedEOF)
	}
	return nil
}

// onlyWriter hides that a packer could read by itself, with buffers of its own.
type onlyWriter struct{ io.Writer }

// end packs the end of a record.
func (e *encoder) end() error {
	if _, err := io.WriteString(e.pack, "\r\n\r\n"); err != nil {
		return err
	}
	return e.pack.Close()
}
