package warc

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Payload returns the record's payload as recorded: of an HTTP message the entity body with
// its transfer coding, of any other record the block. It is what payload digests are made of.
func (r *Record) Payload() (io.Reader, error) {
	if !r.IsHTTP() || r.Size == 0 {
		return r.Block, nil
	}
	if _, err := r.HTTP(); err != nil {
		return nil, err
	}
	return r.Block, nil
}

// Content returns the payload as a browser would see it: without transfer coding and content
// encoding (gzip, deflate, zstd). An encoding that is not known is ErrEncoding; the record's
// Block then still has the payload as recorded. Headers that do not tell the truth, such as
// a body stored without the chunks its header announces, are seen through. How
// much it decompresses to is for the caller to limit.
func (r *Record) Content() (io.ReadCloser, error) {
	payload, err := r.Payload()
	if err != nil {
		return nil, err
	}
	if r.http == nil {
		return io.NopCloser(payload), nil
	}
	return r.http.Decode(payload)
}

// Decode takes transfer coding and content encoding off a payload, as Record.Content does.
func (h *HTTPHead) Decode(payload io.Reader) (io.ReadCloser, error) {
	encodings := codings(h.Header.Values("Content-Encoding"))
	for _, e := range encodings {
		if !knownEncoding(e) {
			return nil, fmt.Errorf("content encoding %.40q: %w", e, ErrEncoding)
		}
	}
	body := bufio.NewReader(payload)
	if h.chunked() && looksChunked(body) {
		body = bufio.NewReader(&chunks{in: body})
	}
	var whole io.ReadCloser = io.NopCloser(body)
	for i := len(encodings) - 1; i >= 0; i-- {
		next, err := decoder(encodings[i], whole)
		if err != nil {
			return nil, fmt.Errorf("content encoding %s: %w", encodings[i], err)
		}
		whole = next
	}
	return whole, nil
}

// chunked reports whether the header announces chunks.
func (h *HTTPHead) chunked() bool {
	for _, c := range codings(h.Header.Values("Transfer-Encoding")) {
		if c == "chunked" {
			return true
		}
	}
	return false
}

// codings cuts header values such as "gzip, chunked" into their parts, identity left out.
func codings(values []string) []string {
	var all []string
	for _, v := range values {
		for c := range strings.SplitSeq(v, ",") {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" && len(all) < 8 {
				all = append(all, c)
			}
		}
	}
	return all
}

func knownEncoding(name string) bool {
	switch name {
	case "gzip", "x-gzip", "deflate", "zstd":
		return true
	}
	return false
}

// decoder takes one content encoding off. A body that does not have it, though its header
// says so, comes through as it is.
func decoder(name string, body io.ReadCloser) (io.ReadCloser, error) {
	in := bufio.NewReader(body)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	plain := pair{in, body}
	switch name {
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
			return plain, nil
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		return pair{z, body}, nil
	case "deflate":
		if len(head) == 0 {
			return plain, nil
		}
		if len(head) >= 2 && head[0]&0xf == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			z, err := zlib.NewReader(in)
			if err != nil {
				return nil, err
			}
			return pair{z, body}, nil
		}
		return pair{flate.NewReader(in), body}, nil // as many servers mean it
	case "zstd":
		if len(head) == 0 {
			return plain, nil
		}
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow))
		if err != nil {
			return nil, err
		}
		return pair{z, closeBoth{z, body}}, nil
	}
	return nil, ErrEncoding
}

// pair reads here and closes there.
type pair struct {
	io.Reader
	io.Closer
}

type closeBoth struct {
	z    *zstd.Decoder
	body io.Closer
}

func (c closeBoth) Close() error {
	c.z.Close()
	return c.body.Close()
}

// errChunks reports chunks that cannot be followed.
var errChunks = errors.New("malformed chunk")

// looksChunked reports whether a body begins with the size of a chunk.
func looksChunked(body *bufio.Reader) bool {
	for n := 1; n <= 1024; n = body.Buffered() + 1 {
		p, err := body.Peek(n)
		if err == nil {
			p, _ = body.Peek(body.Buffered())
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			_, err := chunkSize(p[:i])
			return err == nil
		}
		if err != nil {
			return false
		}
	}
	return false
}

// chunkSize reads a line such as "1a;name=value".
func chunkSize(line []byte) (int64, error) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 63)
	if err != nil {
		return 0, fmt.Errorf("size %.20q: %w", line, errChunks)
	}
	return int64(n), nil
}

// chunks takes the chunked transfer coding off.
type chunks struct {
	in   *bufio.Reader
	left int64
	next bool // the line end of a chunk comes first
	err  error
}

func (c *chunks) Read(p []byte) (int, error) {
	for c.left == 0 && c.err == nil {
		c.err = c.advance()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err == io.EOF {
		err = fmt.Errorf("body ends within a chunk: %w", errChunks)
	}
	c.err = err
	return n, nil
}

// advance reads the size of the next chunk; io.EOF after the last.
func (c *chunks) advance() error {
	if c.next {
		line, err := c.in.ReadSlice('\n')
		if err != nil || !blank(line) {
			return fmt.Errorf("no line end after a chunk: %w", errChunks)
		}
	}
	c.next = true
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("body ends before the last chunk: %w", errChunks)
	}
	c.left, err = chunkSize(line)
	if err == nil && c.left == 0 {
		return io.EOF
	}
	return err
}
