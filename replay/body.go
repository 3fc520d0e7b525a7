package replay

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"holdfast/warc"
)

// errTooLarge reports a page that unpacks to more than it may.
var errTooLarge = errors.New("unpacks to too much")

// dechunk removes the chunked transfer coding. A payload that only claims to be
// chunked passes as it is, from the place where that shows.
func dechunk(r io.Reader) io.Reader {
	return &chunked{in: bufio.NewReaderSize(r, 4<<10)}
}

type chunked struct {
	in    *bufio.Reader
	left  int64 // of the current chunk
	begun bool
	plain bool // not chunked after all
	err   error
}

// Read implements io.Reader.
func (c *chunked) Read(p []byte) (int, error) {
	for c.left == 0 && !c.plain && c.err == nil {
		c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	if c.plain {
		return c.in.Read(p)
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// next reads the line that begins a chunk, if it is one.
func (c *chunked) next() {
	skip := 0
	if c.begun {
		if p, _ := c.in.Peek(2); bytes.HasPrefix(p, []byte("\r\n")) {
			skip = 2
		} else if bytes.HasPrefix(p, []byte("\n")) {
			skip = 1
		}
	}
	line, err := c.in.Peek(256)
	if len(line) <= skip {
		c.err = io.EOF
		if err != nil && err != io.EOF {
			c.err = err
		}
		return
	}
	end := bytes.IndexByte(line[skip:], '\n')
	if end < 0 {
		c.plain = true
		return
	}
	text, _, _ := strings.Cut(strings.TrimSpace(string(line[skip:skip+end])), ";")
	size, err := strconv.ParseUint(strings.TrimSpace(text), 16, 62)
	if err != nil {
		c.plain = true
		return
	}
	c.in.Discard(skip + end + 1)
	c.begun = true
	if c.left = int64(size); size == 0 {
		c.err = io.EOF
	}
}

// decode removes content codings, the last applied first. Content that only
// claims to be packed passes as it is. ok is false for a coding not known here;
// then nothing was read.
func decode(r io.Reader, encodings []string, limit int64) (out io.Reader, closer func(), ok bool) {
	var names []string
	for _, list := range encodings {
		for name := range strings.SplitSeq(list, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "", "identity", "none":
			case "gzip", "x-gzip", "deflate", "br", "zstd":
				names = append(names, name)
			default:
				return nil, nil, false
			}
		}
	}
	if len(names) > 3 {
		return nil, nil, false
	}
	closer = func() {}
	for i := len(names) - 1; i >= 0; i-- {
		in := bufio.NewReader(r)
		var err error
		switch head, _ := in.Peek(4); names[i] {
		case "gzip", "x-gzip":
			if r = in; len(head) > 1 && head[0] == 0x1f && head[1] == 0x8b {
				r, err = gzip.NewReader(in)
			}
		case "deflate":
			if len(head) > 1 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
				r, err = zlib.NewReader(in)
			} else {
				r = flate.NewReader(in)
			}
		case "br":
			r = brotli.NewReader(in)
		case "zstd":
			if r = in; len(head) == 4 && bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
				var z *zstd.Decoder
				z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(warc.MaxWindow))
				if err == nil {
					r, closer = z, z.Close
				}
			}
		}
		if err != nil {
			r = in
		}
	}
	if len(names) > 0 {
		r = &limited{r, limit}
	}
	return r, closer, true
}

// limited fails, rather than ends, when too much is read.
type limited struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("page: %w", errTooLarge)
	}
	n, err := l.in.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
