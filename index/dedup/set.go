package dedup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// Set finds documents by URL and by digest. What it returns is as it was written: a damaged place is an error, or as
// if the document were not there. It may be used by several goroutines, and must be closed.
type Set struct {
	file      *os.File
	frames    *zstd.Decoder
	blocks    []block
	documents uint64

	digestsAt    int64
	digests      int64
	sumOfDigests uint32
	every        []uint64 // the key of each strideth digest
}

type block struct {
	first  string // URL
	at     int64
	length uint32
}

// stride is how many digests stand between two of which the key is in memory.
const stride = 512

// maxIndex is how many bytes the index of a set's blocks may have.
const maxIndex = 1 << 30

// OpenSet opens a set. An error that wraps ErrDamaged says that it is no set, or damaged; it can be made again then.
func OpenSet(path string) (_ *Set, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Set{file: f}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
		}
	}()
	if s.frames, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxMemory(maxBlock)); err != nil {
		return nil, err
	}
	if err = s.readEnd(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the set. Nothing is looked up any more.
func (s *Set) Close() error {
	if s.frames != nil {
		s.frames.Close()
	}
	return s.file.Close()
}

// Len is how many documents there are.
func (s *Set) Len() uint64 { return s.documents }

// readEnd reads the set's end, the index of its blocks, and a part of its digests' keys.
func (s *Set) readEnd() error {
	stat, err := s.file.Stat()
	if err != nil {
		return err
	}
	size := stat.Size()
	if size < int64(len(setMagic))+endSize {
		return fmt.Errorf("%w: %d bytes are too few", ErrDamaged, size)
	}
	head, end := make([]byte, len(setMagic)), make([]byte, endSize)
	if err := errors.Join(s.read(head, 0), s.read(end, size-endSize)); err != nil {
		return err
	}
	if string(head) != setMagic || string(end[endSize-8:]) != setMagic {
		return fmt.Errorf("%w: it does not begin and end as a set does", ErrDamaged)
	}
	n := binary.BigEndian
	indexAt, digestsAt := int64(n.Uint64(end)), int64(n.Uint64(end[8:]))
	blocks, digests := n.Uint32(end[16:]), int64(n.Uint64(end[28:]))
	if indexAt < int64(len(setMagic)) || digestsAt < indexAt || digestsAt-indexAt > maxIndex ||
		digests < 0 || digests > size/digestSize || digestsAt+digests*digestSize != size-endSize {
		return fmt.Errorf("%w: its parts do not fit", ErrDamaged)
	}
	index := make([]byte, digestsAt-indexAt)
	if err := s.read(index, indexAt); err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum(index, castagnoli()), castagnoli(), end[:40])
	if sum != n.Uint32(end[40:]) {
		return fmt.Errorf("%w: wrong checksum", ErrDamaged)
	}
	s.documents, s.digestsAt, s.digests, s.sumOfDigests = n.Uint64(end[20:]), digestsAt, digests, n.Uint32(end[36:])
	if err := s.readIndex(index, blocks, indexAt); err != nil {
		return err
	}
	key := make([]byte, 8)
	for i := int64(0); i < digests; i += stride {
		if err := s.read(key, digestsAt+i*digestSize); err != nil {
			return err
		}
		s.every = append(s.every, n.Uint64(key))
	}
	return nil
}

// check reads all of the set. An error that wraps ErrDamaged says that it is not as it was written.
func (s *Set) check(ctx context.Context) error {
	documents := uint64(0)
	for _, b := range s.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		lines, err := s.lines(b)
		if err != nil {
			return err
		}
		documents += uint64(bytes.Count(lines, []byte{'\n'}))
	}
	if documents != s.documents {
		return fmt.Errorf("%w: %d documents, and %d were said", ErrDamaged, documents, s.documents)
	}
	sum := crc32.New(castagnoli())
	if _, err := io.Copy(sum, io.NewSectionReader(s.file, s.digestsAt, s.digests*digestSize)); err != nil {
		return err
	}
	if sum.Sum32() != s.sumOfDigests {
		return fmt.Errorf("%w: wrong checksum of its digests", ErrDamaged)
	}
	return nil
}

func (s *Set) readIndex(index []byte, blocks uint32, end int64) error {
	n := binary.BigEndian
	for range blocks {
		if len(index) < 16 {
			return fmt.Errorf("%w: the index of its blocks is too short", ErrDamaged)
		}
		b := block{at: int64(n.Uint64(index)), length: n.Uint32(index[8:])}
		url := n.Uint32(index[12:])
		if index = index[16:]; uint64(url) > uint64(len(index)) || b.at < 0 || b.at+int64(b.length) > end ||
			b.length > maxBlock {
			return fmt.Errorf("%w: a block lies outside", ErrDamaged)
		}
		b.first, index = string(index[:url]), index[url:]
		s.blocks = append(s.blocks, b)
	}
	if len(index) > 0 {
		return fmt.Errorf("%w: the index of its blocks is too long", ErrDamaged)
	}
	return nil
}

func (s *Set) read(p []byte, at int64) error {
	_, err := s.file.ReadAt(p, at)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return err
}

// lines reads a block.
func (s *Set) lines(b block) ([]byte, error) {
	frame := make([]byte, b.length)
	if err := s.read(frame, b.at); err != nil {
		return nil, err
	}
	lines, err := s.frames.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return lines, nil
}

// WriteTo writes all documents as lines, as in a piece: by URL, the latest of a URL first. An error after the first
// bytes says that they are not all.
func (s *Set) WriteTo(to io.Writer) (n int64, err error) {
	for _, b := range s.blocks {
		lines, err := s.lines(b)
		if err != nil {
			return n, err
		}
		m, err := to.Write(lines)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Latest returns the latest document of the URL; false if there is none.
func (s *Set) Latest(url string) (d Document, found bool, err error) {
	// The URL's latest document is the first of its documents: it is in the last block that begins before the URL, or
	// begins the first that begins with it.
	i := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].first >= url })
	for i = max(i-1, 0); i < len(s.blocks) && s.blocks[i].first <= url; i++ {
		lines, err := s.lines(s.blocks[i])
		if err != nil {
			return d, false, err
		}
		for line := range bytes.Lines(lines) {
			if d, err = parseLine(line); err != nil {
				return Document{}, false, err
			}
			if d.URL >= url {
				return keep(d, d.URL == url)
			}
		}
	}
	return Document{}, false, nil
}

func keep(d Document, found bool) (Document, bool, error) {
	if !found {
		d = Document{}
	}
	return d, found, nil
}

// Content returns a document with the digest; false if there is none.
func (s *Set) Content(digest string) (d Document, found bool, err error) {
	key := digestKey(digest)
	want := binary.BigEndian.Uint64(key[:])
	i, _ := slices.BinarySearch(s.every, want) // the first that is not smaller
	from := int64(max(i-1, 0)) * stride
	if i < len(s.every) && s.every[i] == want {
		from = int64(i) * stride
	}
	n := min(stride, s.digests-from)
	if n <= 0 {
		return d, false, nil
	}
	table := make([]byte, n*digestSize)
	if err := s.read(table, s.digestsAt+from*digestSize); err != nil {
		return d, false, err
	}
	at := sort.Search(int(n), func(i int) bool { return binary.BigEndian.Uint64(table[i*digestSize:]) >= want })
	if at == int(n) || binary.BigEndian.Uint64(table[at*digestSize:]) != want {
		return d, false, nil
	}
	place := table[at*digestSize+8:]
	number, in := binary.BigEndian.Uint32(place), binary.BigEndian.Uint32(place[4:])
	if int64(number) >= int64(len(s.blocks)) {
		return d, false, fmt.Errorf("%w: a digest is in block %d of %d", ErrDamaged, number, len(s.blocks))
	}
	lines, err := s.lines(s.blocks[number])
	if err != nil {
		return d, false, err
	}
	for line := range bytes.Lines(lines) {
		if in == 0 {
			d, err = parseLine(line)
			return keepIf(d, err, d.Digest == digest)
		}
		in--
	}
	return d, false, fmt.Errorf("%w: a digest is in no line of its block", ErrDamaged)
}

func keepIf(d Document, err error, found bool) (Document, bool, error) {
	if err != nil {
		return Document{}, false, err
	}
	return keep(d, found)
}
