package coding

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// The bytes around a deflate stream.
type wrapping int

const (
	raw wrapping = iota
	wrapped
	gzipped
)

var gzipMark = []byte{0x1f, 0x8b}

var errChecksum = errors.New("checksum does not match")

// inflater reads a deflate stream with or without its wrapping, and one gzip member after the other.
type inflater struct {
	in      *bufio.Reader
	wrap    wrapping
	flate   io.ReadCloser
	adler   hash.Hash32
	crc     uint32
	size    uint32
	members int
}

// zlibbed tells whether a content begins as one with zlib wrapping.
func zlibbed(head []byte) bool {
	return len(head) >= 2 && head[0]&0xf == 8 && (int(head[0])<<8|int(head[1]))%31 == 0
}

func (z *inflater) reset(in *bufio.Reader, w wrapping) error {
	z.in, z.wrap, z.members = in, w, 0
	return z.next()
}

// next reads the header before a stream.
func (z *inflater) next() (err error) {
	z.members++
	z.crc, z.size = 0, 0
	switch z.wrap {
	case wrapped:
		if z.adler == nil {
			z.adler = adler32.New()
		}
		z.adler.Reset()
		var head [2]byte
		if _, err = io.ReadFull(z.in, head[:]); err == nil && head[1]&0x20 != 0 {
			err = fmt.Errorf("%w: needs a dictionary", ErrDamaged)
		}
	case gzipped:
		err = z.gzipHead()
	}
	if err != nil {
		return noEOF(err)
	}
	if z.flate == nil {
		z.flate = flate.NewReader(z.in)
		return nil
	}
	return z.flate.(flate.Resetter).Reset(z.in, nil)
}

// gzipHead takes the head of a member.
func (z *inflater) gzipHead() error {
	var head [10]byte
	if _, err := io.ReadFull(z.in, head[:]); err != nil {
		return err
	}
	if head[2] != 8 {
		return fmt.Errorf("%w: gzip method %d", ErrDamaged, head[2])
	}
	flags := head[3]
	if flags&4 != 0 { // extra field
		if _, err := io.ReadFull(z.in, head[:2]); err != nil {
			return err
		}
		if _, err := z.in.Discard(int(binary.LittleEndian.Uint16(head[:2]))); err != nil {
			return err
		}
	}
	for _, text := range []byte{8, 16} { // name, comment
		for more := flags&text != 0; more; {
			_, err := z.in.ReadSlice(0)
			if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more {
				return err
			}
		}
	}
	if flags&2 != 0 { // the head's own checksum, which nobody looks at
		if _, err := z.in.Discard(2); err != nil {
			return err
		}
	}
	return nil
}

// Read implements io.Reader.
func (z *inflater) Read(p []byte) (int, error) {
	for {
		n, err := z.flate.Read(p)
		switch z.wrap {
		case gzipped:
			z.crc = crc32.Update(z.crc, crc32.IEEETable, p[:n])
			z.size += uint32(n)
		case wrapped:
			z.adler.Write(p[:n])
		}
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		more, err := z.end()
		if more && err == nil {
			err = z.next()
		} else if err == nil {
			err = io.EOF
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// end reads the trailer after a stream, as far as it is there, and reports whether another gzip member follows.
func (z *inflater) end() (more bool, err error) {
	var want [8]byte
	size := 0
	switch z.wrap {
	case gzipped:
		binary.LittleEndian.PutUint32(want[:], z.crc)
		binary.LittleEndian.PutUint32(want[4:], z.size)
		size = 8
	case wrapped:
		binary.BigEndian.PutUint32(want[:], z.adler.Sum32())
		size = 4
	}
	got, err := z.in.Peek(size)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = nil // cut off
		}
		return false, err
	}
	if !bytes.Equal(got, want[:size]) {
		return false, fmt.Errorf("%w: %w", ErrDamaged, errChecksum)
	}
	if _, err := z.in.Discard(size); err != nil || z.wrap != gzipped {
		return false, err
	}
	mark, err := z.in.Peek(len(gzipMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(mark, gzipMark), nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
