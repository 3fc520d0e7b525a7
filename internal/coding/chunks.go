package coding

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on the bytes around the data of chunks.
const (
	maxChunkLine = 4 << 10
	maxTrailer   = 64 << 10
	maxFraming   = 1 << 20 // of all that is not data,
	perByte      = 16      // and as much more for each byte of data
)

// The states of Chunks.
type chunkState int

const (
	chunkSize chunkState = iota
	chunkData
	chunkDataEnd
	chunkTrailer
)

// Chunks removes the chunked coding from a body that comes in pieces. The zero value is ready for the first chunk.
type Chunks struct {
	state   chunkState
	left    int64  // of the chunk's data
	line    []byte // of a line that is not whole
	trailer int
	framing int64 // bytes of lines so far
	data    int64 // bytes of data so far
	ended   bool
}

// Ended reports whether the coding's end was seen.
func (c *Chunks) Ended() bool { return c.ended }

// Feed takes the next bytes, writes the data in them to content, and returns how many it used: all, except those
// after the end of the body. Broken chunks are ErrDamaged; what was written is then the beginning of the content.
func (c *Chunks) Feed(p []byte, content io.Writer) (int, error) {
	for i := 0; i < len(p); {
		if c.ended {
			return i, nil
		}
		if c.state == chunkData {
			n := int(min(c.left, int64(len(p)-i)))
			if _, err := content.Write(p[i : i+n]); err != nil {
				return i, err
			}
			c.took(n)
			i += n
			continue
		}
		n, err := c.frame(p[i:])
		if err != nil {
			return len(p), err
		}
		i += n
	}
	return len(p), nil
}

// took notes that n bytes of the chunk's data were taken.
func (c *Chunks) took(n int) {
	c.left -= int64(n)
	c.data += int64(n)
	if c.left == 0 {
		c.state = chunkDataEnd
	}
}

// frame takes a line, or the part of it that is there, from the front of p and returns its length.
func (c *Chunks) frame(p []byte) (int, error) {
	j := bytes.IndexByte(p, '\n')
	if j < 0 {
		if len(c.line)+len(p) > maxChunkLine {
			return 0, fmt.Errorf("%w: line longer than %d bytes", ErrDamaged, maxChunkLine)
		}
		c.line = append(c.line, p...)
		return len(p), nil
	}
	line := p[:j]
	if len(c.line) > 0 {
		c.line = append(c.line, line...)
		line = c.line
	}
	if c.framing += int64(len(line)); c.framing-perByte*c.data > maxFraming {
		return 0, fmt.Errorf("%w: more than %d bytes around the data", ErrDamaged, maxFraming)
	}
	err := c.oneLine(bytes.TrimSuffix(line, []byte{'\r'}))
	c.line = c.line[:0]
	return j + 1, err
}

func (c *Chunks) oneLine(line []byte) error {
	switch c.state {
	case chunkDataEnd:
		if len(line) != 0 {
			return fmt.Errorf("%w: %.20q where a chunk should end", ErrDamaged, line)
		}
		c.state = chunkSize
	case chunkSize:
		n, ok := parseChunkSize(line)
		if !ok {
			return fmt.Errorf("%w: %.20q where the size of a chunk should stand", ErrDamaged, line)
		}
		c.left, c.state = n, chunkData
		if n == 0 {
			c.state = chunkTrailer
		}
	case chunkTrailer:
		if c.trailer += len(line); c.trailer > maxTrailer {
			return fmt.Errorf("%w: trailer longer than %d bytes", ErrDamaged, maxTrailer)
		}
		c.ended = len(line) == 0
	}
	return nil
}

// parseChunkSize reads hexadecimal digits, which white space and extensions may follow.
func parseChunkSize(line []byte) (int64, bool) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 || len(line) > 15 {
		return 0, false
	}
	var n int64
	for _, c := range line {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int64(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// looksChunked reports whether a payload begins with a chunk, as far as can be seen.
func looksChunked(head []byte) bool {
	i := bytes.IndexByte(head, '\n')
	if i < 0 {
		return false
	}
	n, ok := parseChunkSize(bytes.TrimSuffix(head[:i], []byte{'\r'}))
	if !ok || n == 0 || n >= int64(len(head)-i-1) {
		return ok
	}
	after := head[i+1+int(n):]
	return after[0] == '\n' || after[0] == '\r' && (len(after) == 1 || after[1] == '\n')
}

// dechunker reads the data of chunks.
type dechunker struct {
	in     *bufio.Reader
	count  counter
	chunks Chunks
	asSent bool
	begun  bool
	untrue bool // not in chunks after all
}

func (d *dechunker) begin(payload io.Reader, asSent bool) *dechunker {
	d.count = counter{from: payload}
	d.in = buffered(d.in, &d.count)
	d.chunks = Chunks{line: d.chunks.line[:0]}
	d.asSent, d.begun, d.untrue = asSent, asSent, false
	return d
}

func (d *dechunker) release() { d.count.from = nil }

// Read implements io.Reader.
func (d *dechunker) Read(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		head, _ := d.in.Peek(probed)
		d.untrue = len(head) > 0 && !looksChunked(head)
		if len(head) == 0 && d.count.failed() == nil {
			return 0, io.EOF
		}
	}
	if d.untrue {
		return d.in.Read(p)
	}
	for !d.chunks.ended {
		if d.chunks.state == chunkData {
			n, err := d.in.Read(p[:min(int64(len(p)), d.chunks.left)])
			d.chunks.took(n)
			return n, d.ended(err)
		}
		if _, err := d.in.Peek(1); err != nil {
			return 0, d.ended(err)
		}
		lines, _ := d.in.Peek(d.in.Buffered())
		n, err := d.chunks.frame(lines)
		if err != nil {
			return 0, d.ended(err)
		}
		if _, err := d.in.Discard(n); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// ended translates the end of the chunks at this point.
func (d *dechunker) ended(err error) error {
	if err == nil {
		return nil
	}
	atEnd := errors.Is(err, io.EOF)
	if !atEnd && !errors.Is(err, ErrDamaged) {
		return err // the payload cannot be read
	}
	if d.asSent || atEnd && d.chunks.state == chunkTrailer {
		return io.EOF
	}
	if atEnd {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Layer: "chunked", At: d.count.read - int64(d.in.Buffered()), Usable: true, Err: err}
}
