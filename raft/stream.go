package raft

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// streamMagic begins every streamed Raft snapshot: four letters and the version of the form.
const streamMagic = "HFRS\x01"

// Limits of what a streamed snapshot may claim.
const (
	maxStreamKey   = 65000
	maxStreamValue = 1 << 20
)

// streamHead is the description at the beginning of a streamed Raft snapshot.
type streamHead struct {
	Index, Term uint64
}

// writeStream writes the store's content at the version of the head: magic, index, term, then key and value
// of every key in order, an end mark, their number and the SHA-256 of all that. The same content gives the
// same bytes.
func writeStream(w io.Writer, s *store, head streamHead) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
	var number [binary.MaxVarintLen64]byte
	put := func(n uint64) {
		out.Write(number[:binary.PutUvarint(number[:], n)]) // a bufio.Writer keeps its first error
	}
	out.WriteString(streamMagic)
	put(head.Index)
	put(head.Term)
	count, failure := uint64(0), error(nil)
	err := s.viewAt(head.Index, func(r reader) error {
		return r.all(func(key, value []byte) bool {
			count++
			put(uint64(len(key)))
			out.Write(key)
			put(uint64(len(value)))
			_, failure = out.Write(value)
			return failure == nil
		})
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		return fmt.Errorf("stream the state at index %d: %w", head.Index, err)
	}
	put(0)
	put(count)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("stream the state at index %d: %w", head.Index, err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("stream the state at index %d: %w", head.Index, err)
	}
	return nil
}

// all visits every key, the state's own included.
func (r reader) all(visit func(key, value []byte) bool) error {
	own := true
	for _, key := range []string{configurationKey, positionKey} { // in their order
		value, err := r.own(key)
		if err != nil {
			return err
		}
		if own = own && (value == nil || visit([]byte(key), value)); !own {
			return nil
		}
	}
	return r.Scan(nil, nil, visit)
}

// streamReader reads what writeStream wrote. Its bytes come from another node and are not trusted.
type streamReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	head  streamHead
	last  []byte
	count uint64
	value []byte
	total []byte // the checksum, once the end was reached
}

// newStreamReader reads the head.
func newStreamReader(r io.Reader) (*streamReader, error) {
	s := &streamReader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	magic, err := s.bytes(nil, len(streamMagic))
	if err != nil {
		return nil, err
	}
	if string(magic) != streamMagic {
		return nil, fmt.Errorf("%w: a streamed snapshot must not begin with %q", ErrDamaged, magic)
	}
	if s.head.Index, err = s.number(); err != nil {
		return nil, err
	}
	if s.head.Term, err = s.number(); err != nil {
		return nil, err
	}
	return s, nil
}

// next returns the next key and value, valid until the following call, or io.EOF after the last one when
// number and checksum agree.
func (s *streamReader) next() (key, value []byte, err error) {
	size, err := s.number()
	if err != nil {
		return nil, nil, err
	}
	if size == 0 {
		return nil, nil, s.end()
	}
	if size > maxStreamKey {
		return nil, nil, fmt.Errorf("%w: a streamed snapshot has a key of %d bytes", ErrDamaged, size)
	}
	key, err = s.bytes(nil, int(size))
	if err != nil {
		return nil, nil, err
	}
	if bytes.Compare(key, s.last) <= 0 {
		return nil, nil, fmt.Errorf("%w: a streamed snapshot's keys are not in order", ErrDamaged)
	}
	if size, err = s.number(); err != nil {
		return nil, nil, err
	}
	if size > maxStreamValue {
		return nil, nil, fmt.Errorf("%w: a streamed snapshot has a value of %d bytes", ErrDamaged, size)
	}
	if s.value, err = s.bytes(s.value, int(size)); err != nil {
		return nil, nil, err
	}
	s.last = key
	s.count++
	return key, s.value, nil
}

// end checks the number of keys and the checksum and that nothing follows.
func (s *streamReader) end() error {
	count, err := s.number()
	if err != nil {
		return err
	}
	if count != s.count {
		return fmt.Errorf("%w: a streamed snapshot has %d keys and announces %d", ErrDamaged, s.count, count)
	}
	s.total = s.sum.Sum(nil)
	sent := make([]byte, sha256.Size)
	if _, err := io.ReadFull(s.in, sent); err != nil {
		return short(err)
	}
	if !bytes.Equal(sent, s.total) {
		return fmt.Errorf("%w: a streamed snapshot's checksum is wrong", ErrDamaged)
	}
	if _, err := s.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: a streamed snapshot has bytes after its end", ErrDamaged)
	}
	return io.EOF
}

// number reads an unsigned varint in its shortest form.
func (s *streamReader) number() (uint64, error) {
	var n uint64
	var raw [binary.MaxVarintLen64]byte
	for i := range raw {
		c, err := s.in.ReadByte()
		if err != nil {
			return 0, short(err)
		}
		raw[i] = c
		n |= uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if i > 0 && c == 0 || i == len(raw)-1 && c > 1 {
			break
		}
		s.sum.Write(raw[:i+1])
		return n, nil
	}
	return 0, fmt.Errorf("%w: a number in a streamed snapshot is wrong", ErrDamaged)
}

// bytes reads n bytes, into buf if it has the room.
func (s *streamReader) bytes(buf []byte, n int) ([]byte, error) {
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(s.in, buf); err != nil {
		return nil, short(err)
	}
	s.sum.Write(buf)
	return buf, nil
}

// short makes an early end of a stream an error of its own.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: a streamed snapshot is cut off: %w", ErrDamaged, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read a streamed snapshot: %w", err)
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// writeBytes returns a function that writes b, as disk.WriteFile wants one.
func writeBytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
