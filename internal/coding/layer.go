package coding

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// counter counts the bytes read through it, and remembers why reading ended, which a decoder may hide.
type counter struct {
	from io.Reader
	read int64
	end  error // final
}

func (c *counter) Read(p []byte) (int, error) {
	if c.end != nil {
		return 0, c.end
	}
	n, err := c.from.Read(p)
	c.read += int64(n)
	c.end = err
	return n, err
}

// failed returns why the input cannot be read on, nil at its end.
func (c *counter) failed() error {
	if errors.Is(c.end, io.EOF) {
		return nil
	}
	return c.end
}

// layer takes one content coding off.
type layer struct {
	name    string
	between bool   // another layer reads this one,
	stored  *layer // and this one, or the first of all, reads the payload
	count   counter
	in      *bufio.Reader
	from    io.Reader // the decoder, or in
	plain   bool      // there is no decoder
	untrue  bool      // there should be one
	out     int64
	err     error

	inflater *inflater      // kept for the next payload
	brotli   *brotli.Reader // only used after its input has ended: Reset keeps what it has read ahead
	zstd     *zstd.Decoder
}

func (l *layer) begin(name string, from io.Reader, between bool) *layer {
	l.name, l.between, l.stored = name, between, l
	l.count = counter{from: from}
	l.in = buffered(l.in, &l.count)
	l.from, l.plain, l.untrue, l.out, l.err = nil, false, false, 0, nil
	return l
}

// release drops the references to its input.
func (l *layer) release() {
	l.count.from, l.from, l.stored, l.err = nil, nil, nil, nil
	if l.zstd != nil {
		_ = l.zstd.Reset(nil) // cannot fail
	}
}

// Read implements io.Reader.
func (l *layer) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.from == nil {
		if err := l.choose(); err != nil {
			l.err = l.explain(err)
			return 0, l.err
		}
	}
	n, err := l.from.Read(p)
	l.out += int64(n)
	if l.between && !l.plain && l.out > maxBetween+perStored*l.stored.count.read {
		n, err = 0, fmt.Errorf("%w: unpacks to too much for the next coding", ErrLimit)
	}
	if err != nil {
		l.err = l.explain(err)
	}
	if from, is := l.from.(*brotli.Reader); is && err == io.EOF {
		l.brotli = from
	}
	return n, l.err
}

// choose looks at how the input begins and chooses what reads it.
func (l *layer) choose() (err error) {
	head, _ := l.in.Peek(probed)
	if len(head) == 0 || !l.coded(head) {
		l.from, l.plain, l.untrue = l.in, true, len(head) > 0
		return nil
	}
	switch l.name {
	case "gzip", "x-gzip":
		l.from, err = l.inflate(gzipped)
	case "deflate":
		wrapping := raw
		if zlibbed(head) {
			wrapping = wrapped
		}
		l.from, err = l.inflate(wrapping)
	case "br":
		from := l.brotli
		l.brotli = nil
		if from == nil {
			from = brotli.NewReader(l.in)
		} else if err = from.Reset(l.in); err != nil {
			return err
		}
		l.from = from
	case "zstd":
		if l.zstd == nil {
			l.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(MaxWindow))
			if err != nil {
				return err
			}
		}
		l.from, err = l.zstd, l.zstd.Reset(l.in)
	}
	return err
}

func (l *layer) inflate(w wrapping) (io.Reader, error) {
	if l.inflater == nil {
		l.inflater = new(inflater)
	}
	return l.inflater, l.inflater.reset(l.in, w)
}

// explain translates a decoder's error.
func (l *layer) explain(err error) error {
	switch {
	case err == io.EOF:
		return err
	case l.count.failed() != nil:
		return l.count.failed() // of the layer below
	case l.name == "br" && err.Error() == trailingBrotli:
		return io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return l.fail(io.ErrUnexpectedEOF)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return l.fail(fmt.Errorf("%w: window larger than %d MiB", ErrLimit, MaxWindow>>20))
	case errors.Is(err, ErrLimit), errors.Is(err, ErrDamaged):
		return l.fail(err)
	}
	return l.fail(fmt.Errorf("%w: %w", ErrDamaged, err))
}

// trailingBrotli is the brotli package's error text for bytes after the end; it has no error value for that.
const trailingBrotli = "brotli: excessive input"

func (l *layer) fail(err error) error {
	wrong := errors.Is(err, errChecksum) || errors.Is(err, zstd.ErrCRCMismatch)
	return &Error{Layer: l.name, At: l.count.read - int64(l.in.Buffered()), Usable: !wrong, Err: err}
}

// probed is how much of a payload is looked at to tell whether it is coded.
const probed = 4 << 10

// coded tells whether the input may be in the coding: it begins so or, where the coding has no mark, it is no text
// or can be decoded.
func (l *layer) coded(head []byte) bool {
	whole := len(head) < probed
	switch l.name {
	case "gzip", "x-gzip":
		return bytes.HasPrefix(head, gzipMark)
	case "zstd": // a frame, or one to be skipped
		return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
			len(head) > 3 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18})
	case "br":
		return !isText(head) || decodes(brotli.NewReader(bytes.NewReader(head)), whole)
	}
	if !isText(head) {
		return true
	}
	if zlibbed(head) {
		head = head[2:]
	}
	return decodes(flate.NewReader(bytes.NewReader(head)), whole)
}

// decodes tells whether the beginning of a content, or all of it, can be decoded.
func decodes(r io.Reader, whole bool) bool {
	_, err := io.Copy(io.Discard, io.LimitReader(r, 16*probed))
	return err == nil || !whole && errors.Is(err, io.ErrUnexpectedEOF) || err.Error() == trailingBrotli
}

// isText reports whether bytes, perhaps cut within a character, are text as a document may contain it.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(b) {
			return false
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' {
			return false
		}
		b = b[n:]
	}
	return true
}
