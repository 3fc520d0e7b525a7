package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Payload returns the content without transfer and content coding, at most limit bytes of it, however much more
// it would unpack to. What a broken coding yields before it breaks is returned with the error. Content that is not coded as its
// head says is returned as it came, with ErrCoding. The bytes are valid until Release.
func (x *Exchange) Payload(limit int64) ([]byte, error) {
	r := x.Response
	if r == nil {
		return nil, nil
	}
	coding := x.Head.codings()
	if r.file == nil && r.body == nil && (coding == "" || coding == "identity") {
		body := r.mem[r.headLen:]
		return body[:min(int64(len(body)), limit)], nil
	}
	decoded, untrue, done, err := x.decoded()
	if err != nil {
		return nil, err
	}
	defer done()
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(decoded, limit))
	if untrue && err == nil {
		err = fmt.Errorf("decode %.100q: %w", coding, ErrCoding)
	}
	return out.Bytes(), err
}

// Limits on what content is coded with.
const (
	maxCodings = 4
	maxWindow  = 8 << 20  // of zstd, as RFC 9659 has it
	maxBetween = 32 << 20 // bytes from one coding to the next, which may come to nothing there
)

// ErrCoding reports that content is not coded as its head says: by a word that names no coding, or not at all.
var ErrCoding = errors.New("not coded as declared")

var errCodings = errors.New("too many content codings")

// decode takes the codings off, given in the order they were put on, and tells whether one of them was not there: it is passed over, as
// browsers do. done frees what they take; it can always be called.
func decode(codings string, r io.Reader) (plain io.Reader, untrue bool, done func(), err error) {
	var close []func()
	done = func() {
		for _, f := range close {
			f()
		}
	}
	list := strings.Split(codings, ",")
	if len(list) > maxCodings {
		return nil, false, done, fmt.Errorf("%d codings: %w", len(list), errCodings)
	}
	unpacked := false
	for i := len(list) - 1; i >= 0; i-- {
		if unpacked {
			r = io.LimitReader(r, maxBetween)
		}
		coding := strings.TrimSpace(list[i])
		if coding == "" || coding == "identity" {
			continue
		}
		in := bufio.NewReaderSize(r, probed)
		r = in
		if !coded(in, coding) {
			untrue = true
			continue
		}
		unpacked = true
		switch coding {
		case "gzip", "x-gzip":
			var z *gzip.Reader
			if z, err = gzip.NewReader(in); err == nil {
				z.Multistream(false)
				r = &members{in, z}
			}
		case "br":
			r = brotli.NewReader(in)
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(8*maxWindow), zstd.WithDecoderLowmem(true))
			if err == nil {
				r, close = z, append(close, z.Close)
			}
		case "deflate":
			r, err = inflate(in)
		}
		if err != nil {
			return nil, untrue, done, err
		}
	}
	return r, untrue, done, nil
}

// probed is how much of a content is looked at to tell whether it is coded.
const probed = 4 << 10

// coded tells whether a content may be in a coding: it begins so or, where the coding has no mark, it is no text or can be decoded.
func coded(in *bufio.Reader, coding string) bool {
	head, atEnd := in.Peek(probed)
	switch coding {
	case "gzip", "x-gzip":
		return bytes.HasPrefix(head, []byte{0x1f, 0x8b})
	case "zstd": // a frame, or one to be skipped
		return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) || len(head) > 3 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18})
	case "br":
		return !isText(head) || decodes(brotli.NewReader(bytes.NewReader(head)), atEnd != nil)
	case "deflate":
		if zlibbed(head) {
			return true
		}
		return !isText(head) || decodes(flate.NewReader(bytes.NewReader(head)), atEnd != nil)
	}
	return false
}

// decodes tells whether the beginning of a content, or all of it, can be decoded.
func decodes(r io.Reader, whole bool) bool {
	_, err := io.Copy(io.Discard, io.LimitReader(r, 16*probed))
	return err == nil || !whole && errors.Is(err, io.ErrUnexpectedEOF)
}

// isText tells whether bytes, perhaps cut within a letter, are text as it may stand in a document.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(b) || r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' {
			return false
		}
		b = b[n:]
	}
	return true
}

// zlibbed tells whether a content begins as one with zlib wrapping.
func zlibbed(head []byte) bool {
	return len(head) >= 2 && head[0]&0xf == 8 && (int(head[0])<<8|int(head[1]))%31 == 0
}

// members reads one member of gzip after the other. What follows and is none, as a blank line, is passed over, as browsers do.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if !errors.Is(err, io.EOF) || !coded(m.in, "gzip") {
			return n, err
		}
		err = m.z.Reset(m.in)
		m.z.Multistream(false)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// inflate reads deflate with its zlib wrapping, or without, as some servers send it.
func inflate(in *bufio.Reader) (io.Reader, error) {
	if head, _ := in.Peek(2); zlibbed(head) {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// dechunker reads the data of a chunked body; what follows where that is broken is none, as what did not come.
type dechunker struct {
	from   io.Reader
	chunks chunkReader
	ready  bytes.Buffer
}

func (d *dechunker) Read(p []byte) (int, error) {
	for d.ready.Len() == 0 {
		if d.chunks.ended {
			return 0, io.EOF
		}
		piece := make([]byte, 32<<10)
		n, err := d.from.Read(piece)
		if n > 0 {
			_, broken := d.chunks.feed(piece[:n], &d.ready)
			d.chunks.ended = d.chunks.ended || broken != nil
		}
		if err != nil && d.ready.Len() == 0 {
			return 0, err
		}
	}
	return d.ready.Read(p)
}
