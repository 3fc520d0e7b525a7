package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// chunkSize is how much of a stream is encrypted at a time. A reader gives out no byte of a chunk before all of the
// chunk is proved.
const chunkSize = 64 << 10

// Stream encrypts or opens one long text in chunks, in bounded memory. Each chunk is bound to its place, to whether it
// is the last, and to a head that is not secret: chunks that were changed, left out, repeated, put in another order or
// taken from another stream do not open, and neither does a stream that was cut off.
type Stream struct{ aead cipher.AEAD }

// NewStream draws a key for one stream, and returns the box in which it is sealed to the public key. about is as in
// Seal.
func NewStream(about string, to []byte) (Stream, []byte, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	aead, err := newCipher(key)
	if err != nil {
		return Stream{}, nil, fmt.Errorf("seal a stream: %w", err)
	}
	made, err := boxes(key, about, [][]byte{to})
	if err != nil {
		return Stream{}, nil, err
	}
	return Stream{aead}, made[0], nil
}

// OpenStream returns what opens the stream whose key is in the box; ErrSealed if the box is not for this key.
func (k Key) OpenStream(box []byte, about string) (Stream, error) {
	aead, _, err := k.unbox(box, about)
	return Stream{aead}, err
}

// Encrypted returns how long a text of that size is as a stream.
func Encrypted(size int64) int64 { return size + (size/chunkSize+1)*16 }

// Writer encrypts what is written to it into w. The stream is whole only once Close has returned nil; Close leaves w
// open. One stream may be written once.
func (s Stream) Writer(w io.Writer, head []byte) io.WriteCloser {
	return &streamWriter{chunks: newChunks(s, head), to: w, plain: make([]byte, 0, chunkSize)}
}

// Reader opens what Writer wrote with the same head. It answers io.EOF only after the last chunk was proved and
// nothing follows it; anything else is ErrSealed.
func (s Stream) Reader(r io.Reader, head []byte) io.Reader {
	return &streamReader{chunks: newChunks(s, head), from: r, sealed: make([]byte, chunkSize+s.aead.Overhead())}
}

// chunks counts the chunks of a stream.
type chunks struct {
	aead   cipher.AEAD
	head   [sha256.Size]byte
	number uint64
}

func newChunks(s Stream, head []byte) chunks { return chunks{aead: s.aead, head: sha256.Sum256(head)} }

// nonce returns that of the next chunk.
func (c *chunks) nonce(last bool) []byte {
	nonce := make([]byte, c.aead.NonceSize())
	binary.BigEndian.PutUint64(nonce, c.number)
	if last {
		nonce[len(nonce)-1] = 1
	}
	c.number++
	return nonce
}

type streamWriter struct {
	chunks
	to    io.Writer
	plain []byte
	err   error
}

// Write encrypts whole chunks; the rest waits. What fills the last chunk exactly is followed by an empty one.
func (w *streamWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && w.err == nil {
		took := min(len(p), chunkSize-len(w.plain))
		w.plain = append(w.plain, p[:took]...)
		p, n = p[took:], n+took
		if len(w.plain) == chunkSize {
			w.flush(false)
		}
	}
	return n, w.err
}

func (w *streamWriter) flush(last bool) {
	if w.err == nil {
		_, w.err = w.to.Write(w.aead.Seal(nil, w.nonce(last), w.plain, w.head[:]))
		w.plain = w.plain[:0]
	}
}

// Close writes the last chunk.
func (w *streamWriter) Close() error {
	w.flush(true)
	return w.err
}

type streamReader struct {
	chunks
	from   io.Reader
	sealed []byte
	plain  bytes.Reader
	ended  bool
	err    error
}

// Read gives out what is proved.
func (r *streamReader) Read(p []byte) (int, error) {
	for r.plain.Len() == 0 && r.err == nil {
		r.err = r.next()
	}
	if r.plain.Len() == 0 {
		return 0, r.err
	}
	return r.plain.Read(p)
}

// next opens the next chunk. Only the last one is shorter than the others.
func (r *streamReader) next() error {
	if r.ended {
		return io.EOF
	}
	n, err := io.ReadFull(r.from, r.sealed)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.ended = true
	default:
		return fmt.Errorf("read a sealed stream: %w", err)
	}
	plain, err := r.aead.Open(nil, r.nonce(r.ended), r.sealed[:n], r.head[:])
	if err != nil {
		return fmt.Errorf("%w: chunk %d", ErrSealed, r.number)
	}
	r.plain.Reset(plain)
	return nil
}
