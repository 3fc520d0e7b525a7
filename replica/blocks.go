package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"holdfast/catalog"
)

// A file's list of block digests stands beside it and lets a range of it be verified without reading the rest:
//
//	8 bytes   "HFBLOCK1"
//	8 bytes   size of the file, big endian
//	32 bytes  SHA-256 of the file
//	pages of 4096 bytes, the last one shorter:
//	16 bytes  the first half of the SHA-256 of what follows in the page
//	16 bytes  for each of up to 255 blocks of 64 KiB: the first half of its SHA-256
//
// A list is made only in a pass over the whole file in which the file's SHA-256 was the expected one. It is derived:
// where it is missing, or is about other bytes, it is made again. A file of at most plainSize needs none: it is read
// as a whole, and its SHA-256 is the catalog's.
const (
	listBlock   = 64 << 10
	listDigest  = 16
	listMagic   = "HFBLOCK1"
	listHead    = len(listMagic) + 8 + sha256.Size
	listPage    = 4096
	pageBlocks  = listPage/listDigest - 1
	plainSize   = blockSize
	blocksMark  = ".blocks-" // begins the name of a list; what follows is the file's name
	maxListSize = 1 << 30    // of a list that is read, whatever the catalog says of the file
)

// blocksPath returns where the list of the file at path is.
func blocksPath(path string) string {
	return filepath.Join(filepath.Dir(path), blocksMark+filepath.Base(path))
}

// blockCount returns how many blocks a file of that size has.
func blockCount(size int64) int64 { return (size + listBlock - 1) / listBlock }

// blockSum makes the digests of blocks from the bytes of a file, written in order.
type blockSum struct {
	block hash.Hash
	n     int    // bytes of the current block so far
	sums  []byte // of whole blocks
	sum   [sha256.Size]byte
}

// newBlockSum returns a blockSum for a file of that size; nil, which takes nothing, for one that needs no list.
func newBlockSum(size int64) *blockSum {
	if size <= plainSize {
		return nil
	}
	return &blockSum{block: sha256.New(), sums: make([]byte, 0,
		listDigest*min(blockCount(size), maxListSize/listDigest))}
}

func (b *blockSum) Write(p []byte) (int, error) {
	for rest := p; b != nil && len(rest) > 0; {
		take := min(len(rest), listBlock-b.n)
		b.block.Write(rest[:take])
		rest = rest[take:]
		if b.n += take; b.n == listBlock {
			b.end()
		}
	}
	return len(p), nil
}

func (b *blockSum) end() {
	b.sums = append(b.sums, b.block.Sum(b.sum[:0])[:listDigest]...)
	b.block.Reset()
	b.n = 0
}

// list returns the list of the file of which all bytes were written, and whose SHA-256 was found to be want's.
func (b *blockSum) list(want Held) []byte {
	if b.n > 0 {
		b.end()
	}
	out := appendListHead(make([]byte, 0, listSize(want.Size)), want)
	for page := range slices.Chunk(b.sums, pageBlocks*listDigest) {
		check := sha256.Sum256(page)
		out = append(append(out, check[:listDigest]...), page...)
	}
	return out
}

// listSize returns the size of the list of a file of that size.
func listSize(size int64) int64 {
	n := blockCount(size)
	return int64(listHead) + (n+(n+pageBlocks-1)/pageBlocks)*listDigest
}

func appendListHead(to []byte, want Held) []byte {
	to = append(to, listMagic...)
	to = binary.BigEndian.AppendUint64(to, uint64(want.Size))
	return append(to, want.SHA256[:]...)
}

// keepList writes the list of the file at path. It is derived: that it cannot be written only costs time later.
func (s *media) keepList(path string, want Held, blocks *blockSum) {
	if blocks == nil {
		return
	}
	list := blocks.list(want)
	if kept, err := os.ReadFile(blocksPath(path)); err == nil && bytes.Equal(kept, list) {
		return
	}
	err := s.disk.WriteFile(blocksPath(path), func(w io.Writer) error {
		_, err := w.Write(list)
		return err
	})
	if err != nil {
		s.log.Warn("block digests could not be written; they are made again when they are needed", "file", want.Name,
			"err", err)
	}
}

// shareList gives the list of the file at path to another name of the file.
func (s *media) shareList(path, other string) {
	if !isFile(blocksPath(path)) {
		return
	}
	err := s.dropList(other)
	if err == nil {
		err = s.disk.Link(blocksPath(path), blocksPath(other))
	}
	if err != nil {
		s.log.Warn("block digests could not be linked; they are made again when they are needed", "path", other, "err",
			err)
	}
}

// dropList removes the list of a file that is no longer at path.
func (s *media) dropList(path string) error {
	if err := s.disk.Remove(blocksPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// orphanLists removes the lists in a folder whose file is not among the names found there.
func (s *media) orphanLists(dir string, found []string) error {
	there := make(map[string]bool, len(found))
	for _, name := range found {
		there[name] = true
	}
	for _, name := range found {
		if of, ok := strings.CutPrefix(name, blocksMark); ok && !there[of] {
			if err := s.disk.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure reads the file at path from the disk as hashFile does. When its bytes are the wanted ones, it makes sure that
// their list is kept beside them; renew says to write it again if it is not the right one.
func (s *media) measure(ctx context.Context, path string, want Held, limit *limiter, renew bool) (int64, catalog.Digest,
	error) {
	b, err := s.open(path)
	if err != nil {
		return 0, catalog.Digest{}, readFault(err)
	}
	defer b.Close()
	adviseCold(b.File)
	defer adviseDone(b.File)
	blocks := newBlockSum(want.Size)
	if l, err := openList(path, want); err == nil && !renew {
		blocks = nil
		defer l.Close()
	}
	size, digest, err := s.hash(ctx, io.TeeReader(b, blocks), limit)
	if err != nil {
		return 0, catalog.Digest{}, readFault(err)
	}
	right := size == want.Size && digest == want.SHA256
	s.spoilt.set(want, b.File, !right)
	if right {
		s.keepList(path, want, blocks)
	}
	return size, digest, nil
}

// list is the digests of a file's blocks, read as they are needed.
type list struct {
	file *os.File
	want Held
	page int64 // which page is at hand; -1: none
	text [listPage]byte
}

// openList opens the list of the file at path; fs.ErrNotExist if there is none for the wanted bytes.
func openList(path string, want Held) (*list, error) {
	f, err := os.Open(blocksPath(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	head := make([]byte, listHead)
	_, err = io.ReadFull(f, head)
	if err == nil && !bytes.Equal(head, appendListHead(nil, want)) {
		err = errors.New("the list is of other bytes")
	}
	info, failed := f.Stat()
	if err = errors.Join(err, failed); err == nil && info.Size() != listSize(want.Size) {
		err = errors.New("the list is cut short")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("block digests of %s: %w: %w", want.Name, fs.ErrNotExist, err), f.Close())
	}
	return &list{file: f, want: want, page: -1}, nil
}

// Close implements io.Closer, for no list as well.
func (l *list) Close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// check compares bytes with the digests of the blocks that they are; the first is number n. The answer is ErrDamaged
// when they are not, and errNoList when the list itself is damaged.
func (l *list) check(n int64, blocks []byte) error {
	for ; len(blocks) > 0; n++ {
		want, err := l.digest(n)
		if err != nil {
			return fmt.Errorf("digest of block %d of %s: %w: %w", n, l.want.Name, errNoList, err)
		}
		one := blocks[:min(len(blocks), listBlock)]
		if got := sha256.Sum256(one); !bytes.Equal(got[:listDigest], want) {
			return fmt.Errorf("block %d of %s: %w", n, l.want.Name, ErrDamaged)
		}
		blocks = blocks[len(one):]
	}
	return nil
}

// digest returns the digest of block n, valid until the next call.
func (l *list) digest(n int64) ([]byte, error) {
	if page := n / pageBlocks; page != l.page {
		l.page = -1
		at := int64(listHead) + page*listPage
		text := l.text[:min(listPage, listSize(l.want.Size)-at)]
		if _, err := l.file.ReadAt(text, at); err != nil {
			return nil, err
		}
		if check := sha256.Sum256(text[listDigest:]); !bytes.Equal(check[:listDigest], text[:listDigest]) {
			return nil, errors.New("the list is damaged")
		}
		l.page = page
	}
	at := listDigest * (1 + n%pageBlocks)
	return l.text[at : at+listDigest], nil
}

// spoilt remembers which files on disk are known to hold wrong bytes: by identity, not by name, because a file may
// have one name in its shard and one in the outbox; and beside the SHA-256 that they were compared with, because a
// catalog that is corrected may want just these bytes, while somebody still compares them with what it said before.
type spoilt struct {
	mu    sync.Mutex
	files map[catalog.FileName][]wrongFile
}

// wrongFile is a file whose bytes are not what was wanted: those of a SHA-256, or, with none, whatever is wanted.
type wrongFile struct {
	fs.FileInfo
	want catalog.Digest
}

// isOf reports whether the file is wrong for who wants bytes of a SHA-256; with none, for anybody.
func (w wrongFile) isOf(want catalog.Digest) bool {
	return w.want == want || w.want == (catalog.Digest{}) || want == (catalog.Digest{})
}

// note notes that the file at path is wrong whatever is wanted, under all of its names.
func (s *spoilt) note(name catalog.FileName, path string) {
	if b, err := openBytes(path); err == nil {
		s.set(Held{Name: name}, b.File, true)
		b.Close()
	}
}

// set notes that the open file of that name does not have the wanted bytes, or that it has.
func (s *spoilt) set(want Held, f *os.File, wrong bool) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(s.files[want.Name], func(bad wrongFile) bool {
		return os.SameFile(bad.FileInfo, info) && (bad.want == want.SHA256 || !wrong && bad.isOf(want.SHA256))
	})
	switch {
	case wrong && s.files == nil:
		s.files = map[catalog.FileName][]wrongFile{want.Name: {{info, want.SHA256}}}
	case wrong:
		s.files[want.Name] = append(kept, wrongFile{info, want.SHA256})
	case len(kept) == 0:
		delete(s.files, want.Name)
	default:
		s.files[want.Name] = kept
	}
}

// has reports whether the file is one that was noted as not the wanted one, and has not been written since.
func (s *spoilt) has(want Held, f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.files[want.Name], func(bad wrongFile) bool {
		return os.SameFile(bad.FileInfo, info) && bad.isOf(want.SHA256) && bad.Size() == info.Size() &&
			bad.ModTime().Equal(info.ModTime())
	})
}

func namesOf(entries []fs.DirEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
