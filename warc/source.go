package warc

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is the file as stored, with a count of the bytes taken from it.
type source struct {
	in    io.Reader
	buf   *bufio.Reader
	taken int64
	err   error // what reading the file answered, other than io.EOF
}

// newSource returns a source over in, whose first byte lies at offset base of the file.
func newSource(in io.Reader, base int64, size int) *source {
	s := &source{in: in, taken: base}
	s.buf = bufio.NewReaderSize(s, size)
	return s
}

// Read is what buf draws from; others read through buf.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.taken += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// offset returns how much of the file has been used.
func (s *source) offset() int64 { return s.taken - int64(s.buf.Buffered()) }

// members is a compressed file as a series of members (gzip) or frames (zstd).
type members interface {
	// next goes to the following member and returns where it starts; io.EOF if there is none.
	next() (int64, error)
	// Read reads the member's bytes decompressed, io.EOF at its end; any damage
	// is found by then.
	io.Reader
}

// gzipMembers reads gzip members, each on its own.
type gzipMembers struct {
	src *source
	z   *gzip.Reader
}

func (g *gzipMembers) next() (int64, error) {
	start := g.src.offset()
	head, err := g.src.buf.Peek(3)
	if len(head) == 0 {
		return start, err
	}
	if len(head) < 3 {
		return start, fmt.Errorf("gzip header: %w", ErrTruncated)
	}
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return start, fmt.Errorf("no gzip header but % x: %w", head, ErrCompressed)
	}
	if g.z == nil {
		g.z, err = gzip.NewReader(g.src.buf)
	} else {
		err = g.z.Reset(g.src.buf)
	}
	if err != nil {
		return start, unpackError("gzip", err)
	}
	g.z.Multistream(false)
	return start, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if err != nil && err != io.EOF {
		err = unpackError("gzip", err)
	}
	return n, err
}

// unpackError tells an end that came too early from damage and from a file that cannot be read.
func unpackError(kind string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s data ends early: %w", kind, ErrTruncated)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fmt.Errorf("%w: window larger than %d MiB: %w", ErrCompressed, MaxWindow>>20, err)
	}
	return fmt.Errorf("%w: %w", ErrCompressed, err)
}
