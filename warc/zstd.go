package warc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic      = 0xfd2fb528
	skippableMagic = 0x184d2a50 // the low four bits are free
	dictionaryPart = 0x184d2a5d // of a .warc.zst file: the dictionary for all frames
	maxDictionary  = 16 << 20
)

// MaxWindow bounds the window of zstd data, of records: what one reader may need of memory.
// The compressor's levels up to 20 stay within it.
const MaxWindow = 32 << 20

// zstdFrames reads zstd frames, each on its own. A dictionary frame at the start is used for the frames after it, as
// in .warc.zst files; other skippable frames are skipped.
type zstdFrames struct {
	src   *source
	frame frameReader
	z     *zstd.Decoder
}

func (f *zstdFrames) next() (int64, error) {
	start, err := f.passSkippable()
	if err != nil {
		return start, err
	}
	if f.z == nil {
		if err := f.prepare(nil); err != nil {
			return start, err
		}
	}
	f.frame = frameReader{buf: f.src.buf}
	if err := f.z.Reset(&f.frame); err != nil {
		return start, unpackError("zstd", err)
	}
	return start, nil
}

// passSkippable goes to the start of the next frame that holds data.
func (f *zstdFrames) passSkippable() (int64, error) {
	for {
		start := f.src.offset()
		head, err := f.src.buf.Peek(8)
		if len(head) == 0 {
			return start, err
		}
		if len(head) < 8 {
			return start, fmt.Errorf("zstd frame header: %w", ErrTruncated)
		}
		magic := binary.LittleEndian.Uint32(head)
		if magic == zstdMagic {
			return start, nil
		}
		if magic&^0xf != skippableMagic {
			return start, fmt.Errorf("no zstd frame but % x: %w", head[:4], ErrCompressed)
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if _, err := f.src.buf.Discard(8); err != nil {
			return start, err
		}
		if magic == dictionaryPart && f.z == nil && start == 0 {
			if err := f.dictionary(size); err != nil {
				return start, err
			}
			continue
		}
		if n, _ := io.CopyN(io.Discard, f.src.buf, size); n < size {
			return start, fmt.Errorf("skippable zstd frame: %w", ErrTruncated)
		}
	}
}

// prepare makes the decoder, with a dictionary or without.
func (f *zstdFrames) prepare(dictionary []byte) error {
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(MaxWindow)}
	if dictionary != nil {
		options = append(options, zstd.WithDecoderDicts(dictionary))
	}
	z, err := zstd.NewReader(nil, options...)
	if err != nil {
		return fmt.Errorf("zstd dictionary: %w: %w", ErrCompressed, err)
	}
	f.z = z
	return nil
}

// dictionary reads the dictionary of size bytes, and makes the decoder with it.
func (f *zstdFrames) dictionary(size int64) error {
	b, err := readDictionary(f.src.buf, size)
	if err != nil {
		return err
	}
	return f.prepare(b)
}

// readDictionary reads a dictionary of size bytes, itself compressed or not.
func readDictionary(in io.Reader, size int64) ([]byte, error) {
	if size > maxDictionary {
		return nil, fmt.Errorf("zstd dictionary of %d bytes: %w", size, ErrLimit)
	}
	b, err := io.ReadAll(io.LimitReader(in, size))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < size {
		return nil, fmt.Errorf("zstd dictionary: %w", ErrTruncated)
	}
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == zstdMagic {
		plain, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxWindow),
			zstd.WithDecoderMaxMemory(maxDictionary))
		if err != nil {
			return nil, err
		}
		defer plain.Close()
		if b, err = plain.DecodeAll(b, nil); err != nil {
			return nil, fmt.Errorf("zstd dictionary: %w: %w", ErrCompressed, err)
		}
	}
	return b, nil
}

func (f *zstdFrames) Read(p []byte) (int, error) {
	n, err := f.z.Read(p)
	if err != nil && err != io.EOF {
		return n, unpackError("zstd", err)
	}
	if err == io.EOF && f.frame.stage != afterFrame {
		return n, fmt.Errorf("zstd data ends early: %w", ErrTruncated)
	}
	return n, err
}

// The stages of reading a frame.
const (
	atHeader = iota
	atBlock
	atChecksum
	afterFrame
)

// frameReader hands out exactly the bytes of one zstd frame, so that the decoder's reading shows where the frame
// ends.
type frameReader struct {
	buf     *bufio.Reader
	stage   int
	left    int // bytes of the current part not yet handed out
	checked bool
}

func (r *frameReader) Read(p []byte) (int, error) {
	for r.left == 0 {
		if r.stage == afterFrame {
			return 0, io.EOF
		}
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	n, err := r.buf.Read(p[:min(len(p), r.left)])
	r.left -= n
	if err == io.EOF && r.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// advance measures the part that comes next.
func (r *frameReader) advance() error {
	switch r.stage {
	case atHeader:
		b, err := r.buf.Peek(5)
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		d := b[4]
		single := d&0x20 != 0
		r.left = 5 + []int{0, 1, 2, 4}[d&3] + []int{0, 2, 4, 8}[d>>6]
		if !single || d>>6 == 0 { // window byte, or the one byte of a small size
			r.left++
		}
		r.checked = d&4 != 0
		r.stage = atBlock
	case atBlock:
		b, err := r.buf.Peek(3)
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		head := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		size := head >> 3
		switch head >> 1 & 3 {
		case 1: // one byte, repeated
			size = 1
		case 3:
			return zstd.ErrReservedBlockType
		}
		r.left = 3 + size
		if head&1 != 0 {
			r.stage = atChecksum
		}
	case atChecksum:
		if r.checked {
			r.left = 4
		}
		r.stage = afterFrame
	}
	return nil
}
