package dedup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"holdfast/internal/sorter"
)

// A set is a file: blocks of documents by URL, each a zstd frame of lines; where each block begins and with which URL;
// a table of digests; and where these begin. All numbers are big-endian.
//
//	magic        8 bytes
//	blocks       zstd frames with checksums
//	block index  for each: offset uint64, length uint32, URL length uint32, URL
//	digests      for each: first 8 bytes of SHA-256 of the digest, block uint32, document in it uint32; in order
//	end          offset of the block index uint64, offset of the digests uint64, blocks uint32, documents uint64,
//	             digests uint64, CRC-32C of the digests uint32, CRC-32C of the block index and of what stands here
//	             before it uint32, magic
const (
	setMagic   = "HFDEDUP2"
	endSize    = 8 + 8 + 4 + 8 + 8 + 4 + 4 + 8
	blockSize  = 32 << 10 // of lines, before a block ends
	digestSize = 16
	maxBlock   = 16 << 20 // of lines in a block; a block that ends late is at most a line longer than blockSize
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// digestKey is what the table of digests is sorted by.
func digestKey(digest string) [8]byte {
	sum := sha256.Sum256([]byte(digest))
	return [8]byte(sum[:8])
}

// builder writes a set.
type builder struct {
	out     *bufio.Writer
	at      uint64 // bytes written
	frames  *zstd.Encoder
	digests *sorter.Sorter

	lines     []byte // of the block that is being filled
	inBlock   uint32
	frame     []byte
	first     string // URL of the block's first document
	index     []byte
	blocks    uint32
	documents uint64
	last      struct {
		url     string
		digests map[string]struct{} // of the last URL
	}
}

// BuildSet writes the set of all documents of the pieces, with temporary files in dir and about that many bytes of
// memory. Of documents with one URL and one digest it keeps the latest.
func BuildSet(to io.Writer, dir string, room int, pieces iter.Seq[iter.Seq2[Document, error]]) (err error) {
	byURL := sorter.New(dir, room/2)
	defer func() { err = errors.Join(err, byURL.Close()) }()
	var key []byte
	for piece := range pieces {
		for d, err := range piece {
			if err != nil {
				return err
			}
			line, err := d.line()
			if err != nil {
				return err
			}
			key = d.appendKey(key[:0])
			if err := byURL.Add(key, line); err != nil {
				return err
			}
		}
	}
	frames, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	b := &builder{out: bufio.NewWriter(to), frames: frames, digests: sorter.New(dir, room/2)}
	defer func() { err = errors.Join(err, b.digests.Close()) }()
	b.write([]byte(setMagic))
	for entry, err := range byURL.Sorted() {
		if err != nil {
			return err
		}
		if err := b.add(entry[keyLength(entry):]); err != nil {
			return err
		}
	}
	return b.end()
}

func (b *builder) write(p []byte) {
	_, _ = b.out.Write(p) // an error stays, and Flush returns it
	b.at += uint64(len(p))
}

// add takes the next document.
func (b *builder) add(line []byte) error {
	d, err := parseLine(line)
	if err != nil {
		return err
	}
	if d.URL != b.last.url || b.last.digests == nil {
		b.last.url, b.last.digests = d.URL, map[string]struct{}{}
	}
	if _, there := b.last.digests[d.Digest]; there {
		return nil
	}
	b.last.digests[d.Digest] = struct{}{}
	if len(b.lines) >= blockSize {
		b.endBlock()
	}
	if b.inBlock == 0 {
		b.first = d.URL
	}
	b.lines = append(append(b.lines, line...), '\n')
	k := digestKey(d.Digest)
	place := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(k[:], b.blocks), b.inBlock)
	b.inBlock++
	b.documents++
	return b.digests.Add(place, "")
}

func (b *builder) endBlock() {
	b.frame = b.frames.EncodeAll(b.lines, b.frame[:0])
	b.index = binary.BigEndian.AppendUint64(b.index, b.at)
	b.index = binary.BigEndian.AppendUint32(b.index, uint32(len(b.frame)))
	b.index = append(binary.BigEndian.AppendUint32(b.index, uint32(len(b.first))), b.first...)
	b.write(b.frame)
	b.blocks++
	b.lines, b.inBlock = b.lines[:0], 0
}

// end writes what is left, and what stands behind the blocks.
func (b *builder) end() error {
	if b.inBlock > 0 {
		b.endBlock()
	}
	end := binary.BigEndian.AppendUint64(nil, b.at)
	b.write(b.index)
	end = binary.BigEndian.AppendUint64(end, b.at)
	digests, last, sumOfDigests := uint64(0), [8]byte{}, uint32(0)
	for place, err := range b.digests.Sorted() {
		if err != nil {
			return fmt.Errorf("sort digests: %w", err)
		}
		if digests > 0 && last == [8]byte(place) { // the same content under another URL: one is enough
			continue
		}
		last = [8]byte(place)
		b.write(place)
		sumOfDigests = crc32.Update(sumOfDigests, castagnoli(), place)
		digests++
	}
	end = binary.BigEndian.AppendUint32(end, b.blocks)
	end = binary.BigEndian.AppendUint64(end, b.documents)
	end = binary.BigEndian.AppendUint64(end, digests)
	end = binary.BigEndian.AppendUint32(end, sumOfDigests)
	sum := crc32.Update(crc32.Checksum(b.index, castagnoli()), castagnoli(), end)
	end = binary.BigEndian.AppendUint32(end, sum)
	b.write(append(end, setMagic...))
	return b.out.Flush()
}
