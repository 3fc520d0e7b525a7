package warc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Dictionary is what the records of a .warc.zst file are compressed with, which the file begins with (the
// WARC-Zstandard specification). It may be used by several readers at once.
type Dictionary struct{ content []byte }

// Size is how many bytes of memory the dictionary takes; none does not take any.
func (d *Dictionary) Size() int {
	if d == nil {
		return 0
	}
	return len(d.content)
}

// ReadDictionary reads the dictionary that a file begins with; nil if it begins with none. It reads no further. The
// name is for errors: an *Error reports a dictionary that is damaged, cut off or too large.
func ReadDictionary(in io.Reader, name string) (*Dictionary, error) {
	var head [8]byte
	switch _, err := io.ReadFull(in, head[:]); {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil
	case err != nil:
		return nil, &Error{File: name, Err: err}
	case binary.LittleEndian.Uint32(head[:]) != dictionaryPart:
		return nil, nil
	}
	content, err := readDictionary(in, int64(binary.LittleEndian.Uint32(head[4:])))
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return &Dictionary{content}, nil
}

// NewRecordReader returns a reader of a part of a file that begins with a record. Offsets count from there. d is the
// dictionary that the file begins with; nil if it has none, or the part has it. The rest is as with NewReader.
func NewRecordReader(in io.Reader, name string, d *Dictionary) (*Reader, error) {
	if d == nil {
		return newReader(in, name, 0, MaxLine, nil)
	}
	var frames zstdFrames
	if err := frames.prepare(d.content); err != nil {
		return nil, &Error{File: name, Err: fmt.Errorf("its dictionary: %w", err)}
	}
	return newReader(in, name, 0, MaxLine, frames.z)
}
