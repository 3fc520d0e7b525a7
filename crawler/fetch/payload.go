package fetch

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Payload returns the content without transfer and content coding, at most limit bytes of it, however much more
// it would unpack to. What a broken coding yields before it breaks is returned with the error.
// The bytes are valid until Release.
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
	body := r.Reader()
	if _, err := body.Seek(int64(r.headLen), io.SeekStart); err != nil {
		return nil, err
	}
	var plain io.Reader = body
	if r.body != nil {
		plain = &dechunker{from: body}
	}
	decoded, done, err := decode(coding, plain)
	defer done()
	if err != nil {
		return nil, fmt.Errorf("decode %.100q: %w", coding, err)
	}
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(decoded, limit))
	return out.Bytes(), err
}

// Limits on what content is coded with.
const (
	maxCodings = 4
	maxWindow  = 8 << 20  // of zstd, as RFC 9659 has it
	maxBetween = 32 << 20 // bytes from one coding to the next, which may come to nothing there
)

var errCoding = errors.New("unknown content coding")

// decode takes the codings off, given in the order they were put on. done frees what they take; it can always be called.
func decode(codings string, r io.Reader) (plain io.Reader, done func(), err error) {
	var close []func()
	done = func() {
		for _, f := range close {
			f()
		}
	}
	list := strings.Split(codings, ",")
	if len(list) > maxCodings {
		return nil, done, fmt.Errorf("%d codings: %w", len(list), errCoding)
	}
	unpacked := false
	for i := len(list) - 1; i >= 0; i-- {
		if unpacked {
			r = io.LimitReader(r, maxBetween)
		}
		unpacked = true
		switch strings.TrimSpace(list[i]) {
		case "", "identity":
		case "gzip", "x-gzip":
			r, err = gzip.NewReader(r)
		case "br":
			r = brotli.NewReader(r)
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(8*maxWindow), zstd.WithDecoderLowmem(true))
			if err == nil {
				r, close = z, append(close, z.Close)
			}
		case "deflate":
			r = inflate(r)
		default:
			err = errCoding
		}
		if err != nil {
			return nil, done, err
		}
	}
	return r, done, nil
}

// inflate reads deflate with its zlib wrapping, or without, as some servers send it.
func inflate(r io.Reader) io.Reader {
	var head bytes.Buffer
	if z, err := zlib.NewReader(io.TeeReader(r, &head)); err == nil {
		return z
	}
	return flate.NewReader(io.MultiReader(&head, r))
}

// dechunker reads the data of a chunked body.
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
			if _, broken := d.chunks.feed(piece[:n], &d.ready); broken != nil && d.ready.Len() == 0 {
				return 0, broken
			}
		}
		if err != nil && d.ready.Len() == 0 {
			return 0, err
		}
	}
	return d.ready.Read(p)
}
