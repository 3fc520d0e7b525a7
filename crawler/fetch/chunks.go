package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on what stands around the data of chunks.
const (
	maxChunkLine = 4 << 10
	maxTrailer   = 64 << 10
	maxFraming   = 1 << 20 // of all that is not data,
	perByte      = 16      // and as much more for each byte of data
)

var errChunk = errors.New("broken chunked coding")

// Where a chunkReader stands.
type chunkState int

const (
	chunkSize chunkState = iota
	chunkData
	chunkDataEnd
	chunkTrailer
)

// chunkReader takes the chunked coding off a body that comes in pieces.
type chunkReader struct {
	state   chunkState
	left    int64  // of the chunk's data
	line    []byte // of a line that is not whole
	trailer int
	framing int64 // bytes of lines so far
	data    int64 // bytes of data so far
	ended   bool
}

// feed takes the next bytes, writes the data in them to payload and returns how many it used: all, but for what follows the end.
func (c *chunkReader) feed(p []byte, payload io.Writer) (int, error) {
	for i := 0; i < len(p); {
		if c.ended {
			return i, nil
		}
		if c.state == chunkData {
			n := int(min(c.left, int64(len(p)-i)))
			if _, err := payload.Write(p[i : i+n]); err != nil {
				return i, err
			}
			c.left -= int64(n)
			c.data += int64(n)
			i += n
			if c.left == 0 {
				c.state = chunkDataEnd
			}
			continue
		}
		j := bytes.IndexByte(p[i:], '\n')
		if j < 0 {
			if len(c.line)+len(p)-i > maxChunkLine {
				return len(p), fmt.Errorf("%w: line longer than %d bytes", errChunk, maxChunkLine)
			}
			c.line = append(c.line, p[i:]...)
			return len(p), nil
		}
		line := p[i : i+j]
		if len(c.line) > 0 {
			c.line = append(c.line, line...)
			line = c.line
		}
		i += j + 1
		if c.framing += int64(len(line)); c.framing-perByte*c.data > maxFraming {
			return len(p), fmt.Errorf("%w: more than %d bytes around the data", errChunk, maxFraming)
		}
		err := c.oneLine(bytes.TrimSuffix(line, []byte{'\r'}))
		c.line = c.line[:0]
		if err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

func (c *chunkReader) oneLine(line []byte) error {
	switch c.state {
	case chunkDataEnd:
		if len(line) != 0 {
			return fmt.Errorf("%w: %.20q where a chunk should end", errChunk, line)
		}
		c.state = chunkSize
	case chunkSize:
		n, ok := parseChunkSize(line)
		if !ok {
			return fmt.Errorf("%w: size %.20q", errChunk, line)
		}
		c.left, c.state = n, chunkData
		if n == 0 {
			c.state = chunkTrailer
		}
	case chunkTrailer:
		if c.trailer += len(line); c.trailer > maxTrailer {
			return fmt.Errorf("%w: trailer longer than %d bytes", errChunk, maxTrailer)
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
