package warc

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// ReadAt returns the record at an offset of a file; length is the record's stored length,
// or 0 when unknown. name is for errors and positions. Nothing needs closing.
func ReadAt(f io.ReaderAt, name string, offset, length int64) (*Record, error) {
	size := length
	if length == 0 {
		size = math.MaxInt64 - offset
	}
	if offset < 0 || size < 0 || offset > math.MaxInt64-size {
		return nil, &Error{File: name, Offset: offset, Err: fmt.Errorf("record of length %d: %w", length, ErrHeader)}
	}
	var shared *zstd.Decoder
	if offset > 0 {
		var err error
		if shared, err = dictionaryOf(f); err != nil {
			return nil, &Error{File: name, Err: err}
		}
	}
	r, err := newReader(io.NewSectionReader(f, offset, size), name, offset, MaxLine, shared)
	if err != nil {
		return nil, err
	}
	rec, err := r.Next()
	if err == io.EOF {
		return nil, &Error{File: name, Offset: offset, Err: fmt.Errorf("nothing here: %w", ErrTruncated)}
	}
	return rec, err
}

// dictionaryOf returns a decoder with the dictionary that a .warc.zst file begins with, or
// nil when the file begins with none.
func dictionaryOf(f io.ReaderAt) (*zstd.Decoder, error) {
	var head [4]byte
	if n, err := f.ReadAt(head[:], 0); n < len(head) {
		if err == io.EOF {
			err = nil
		}
		return nil, err
	}
	if binary.LittleEndian.Uint32(head[:]) != dictionaryPart {
		return nil, nil
	}
	frames := zstdFrames{src: newSource(io.NewSectionReader(f, 0, math.MaxInt64), 0, 4096)}
	if _, err := frames.passSkippable(); err != nil && err != io.EOF {
		return nil, err
	}
	return frames.z, nil
}
