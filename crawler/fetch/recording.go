package fetch

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// maxMemory is how much of a response is held in memory; a longer one goes to a file.
const maxMemory = 1 << 20

// errSpill reports that the file for a large response cannot be written.
var errSpill = errors.New("response file")

// Recording is the exact bytes of a response, digested while they came in.
type Recording struct {
	mem     []byte
	file    *os.File // the bytes after mem
	size    int64
	headLen int
	dir     string
	give    func([]byte)
	window  []byte // where bytes for the file are read into

	block, payload, body hash.Hash // body: as sent, where that differs from the payload
	whole                bool      // the payload is complete, or needs no decoding
}

func newRecording(mem []byte, dir string, give func([]byte)) *Recording {
	return &Recording{mem: mem, dir: dir, give: give, block: sha1.New(), payload: sha1.New()}
}

// Size is the number of bytes recorded.
func (r *Recording) Size() int64 { return r.size }

// HeadSize is how many of them are the head, up to and with its blank line.
func (r *Recording) HeadSize() int64 { return int64(r.headLen) }

// BlockDigest is the digest of all bytes, as "sha1:BASE32".
func (r *Recording) BlockDigest() string { return digest(r.block) }

// PayloadDigest is the digest of the content without transfer coding; where a chunked body is broken, of the body as
// sent.
func (r *Recording) PayloadDigest() string {
	if !r.whole && r.body != nil {
		return digest(r.body)
	}
	return digest(r.payload)
}

func digest(h hash.Hash) string {
	var sum [sha1.Size]byte
	return "sha1:" + base32.StdEncoding.EncodeToString(h.Sum(sum[:0]))
}

// Digest is the digest of data in the form of BlockDigest.
func Digest(data []byte) string {
	sum := sha1.Sum(data)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// Reader reads all bytes from the start. Several readers may be used, while the recording is not released.
func (r *Recording) Reader() io.ReadSeeker {
	if r.file == nil {
		return bytes.NewReader(r.mem)
	}
	return io.NewSectionReader(r, 0, r.size)
}

// ReadAt reads the recording's bytes.
func (r *Recording) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(r.mem)) {
		n = copy(p, r.mem[off:])
		off += int64(n)
	}
	if n == len(p) {
		return n, nil
	}
	if r.file == nil || off >= r.size {
		return n, io.EOF
	}
	p = p[n:min(len(p), n+int(min(r.size-off, int64(len(p)))))]
	m, err := r.file.ReadAt(p, off-int64(len(r.mem)))
	return n + m, err
}

// space is where the next bytes are to be read into.
func (r *Recording) space() []byte {
	if len(r.mem) < maxMemory && r.file == nil {
		if len(r.mem) == cap(r.mem) {
			grown := make([]byte, len(r.mem), min(2*cap(r.mem), maxMemory))
			copy(grown, r.mem)
			r.give(r.mem)
			r.mem = grown
		}
		return r.mem[len(r.mem):cap(r.mem)]
	}
	if r.window == nil {
		r.window = make([]byte, 64<<10)
	}
	return r.window
}

// keep adds p, the first bytes of the slice that space returned last.
func (r *Recording) keep(p []byte) error {
	r.size += int64(len(p))
	r.block.Write(p)
	if r.window == nil {
		r.mem = r.mem[:len(r.mem)+len(p)]
		return nil
	}
	if r.file == nil {
		f, err := os.CreateTemp(r.dir, "response-")
		if err != nil {
			return fmt.Errorf("%w: %w", errSpill, err)
		}
		r.file = f
		if err := os.Remove(f.Name()); err != nil { // the open file lives on without its name
			return fmt.Errorf("%w: %w", errSpill, err)
		}
	}
	if _, err := r.file.Write(p); err != nil {
		return fmt.Errorf("%w: %w", errSpill, err)
	}
	return nil
}

// dropFirst forgets the first n bytes, an interim response. Only a head may be in the recording.
func (r *Recording) dropFirst(n int) {
	r.mem = r.mem[:copy(r.mem, r.mem[n:])]
	r.size = int64(len(r.mem))
}

func (r *Recording) release() {
	if r.file != nil {
		r.file.Close() // unlinked already: nothing can be lost
		r.file = nil
	}
	if r.mem != nil {
		r.give(r.mem)
		r.mem = nil
	}
}
