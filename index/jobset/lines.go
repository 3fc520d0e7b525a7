package jobset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged reports a file of lines that is not as it was written.
var ErrDamaged = errors.New("damaged file of lines")

// A file of lines is blocks of whole lines, in order. All numbers are big-endian.
//
//	magic    8 bytes
//	blocks   for each: length uint32, zstd frame with a checksum
//	end      length 0 uint32, lines uint64, magic
const (
	linesMagic = "HFLINES1"
	blockSize  = 256 << 10 // of lines, before a block ends
	maxLine    = 4 << 20   // bytes of a line; a longer one is left out
	maxBlock   = blockSize + maxLine + 1
)

// writer writes a file of lines.
type writer struct {
	out    *bufio.Writer
	frames *zstd.Encoder
	lines  []byte // of the block that is being filled
	frame  []byte
	count  uint64
}

func newWriter(to io.Writer) (*writer, error) {
	frames, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	w := &writer{out: bufio.NewWriter(to), frames: frames}
	_, _ = w.out.WriteString(linesMagic) // an error stays, and the last Flush returns it
	return w, nil
}

// add writes a line, which has no end.
func (w *writer) add(line []byte) error {
	w.lines = append(append(w.lines, line...), '\n')
	w.count++
	if len(w.lines) < blockSize {
		return nil
	}
	return w.endBlock()
}

func (w *writer) endBlock() error {
	w.frame = w.frames.EncodeAll(w.lines, w.frame[:0])
	w.lines = w.lines[:0]
	_, _ = w.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(w.frame))))
	_, err := w.out.Write(w.frame)
	return err
}

func (w *writer) end() error {
	if len(w.lines) > 0 {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	end := binary.BigEndian.AppendUint64(make([]byte, 4), w.count)
	_, _ = w.out.Write(append(end, linesMagic...))
	return w.out.Flush()
}

// Lines are the lines of a set of jobs, in the order of their bytes. They must be closed.
type Lines struct {
	file   *os.File
	in     *bufio.Reader
	frames *zstd.Decoder
	frame  []byte
	block  []byte
	ended  bool
	count  uint64
}

// openLines opens a file of lines. An error that wraps ErrDamaged says that it is none.
func openLines(path string) (_ *Lines, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Lines{file: f, in: bufio.NewReaderSize(f, 64<<10)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", path, err), l.Close())
		}
	}()
	if l.frames, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxBlock)); err != nil {
		return nil, err
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	ends := make([]byte, len(linesMagic))
	if _, err := f.ReadAt(ends, max(stat.Size()-int64(len(ends)), 0)); err != nil || string(ends) != linesMagic {
		return nil, fmt.Errorf("%w: it does not end as one does", ErrDamaged)
	}
	if _, err := io.ReadFull(l.in, ends); err != nil || string(ends) != linesMagic {
		return nil, fmt.Errorf("%w: the header of the index file is wrong", ErrDamaged)
	}
	return l, nil
}

// Close closes the file.
func (l *Lines) Close() error {
	if l.frames != nil {
		l.frames.Close()
	}
	return l.file.Close()
}

// Block returns the next lines, each with its end, as they were written: what is damaged is not returned. They are
// valid until the next call. The error is io.EOF when all were returned.
func (l *Lines) Block() ([]byte, error) {
	if l.ended {
		return nil, io.EOF
	}
	var length uint32
	if err := binary.Read(l.in, binary.BigEndian, &length); err != nil {
		return nil, cut(err)
	}
	if length == 0 {
		return nil, l.end()
	}
	if length > 2*maxBlock {
		return nil, fmt.Errorf("%w: a block of %d bytes", ErrDamaged, length)
	}
	if cap(l.frame) < int(length) {
		l.frame = make([]byte, length)
	}
	l.frame = l.frame[:length]
	if _, err := io.ReadFull(l.in, l.frame); err != nil {
		return nil, cut(err)
	}
	block, err := l.frames.DecodeAll(l.frame, l.block[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	l.block = block
	if len(block) == 0 || block[len(block)-1] != '\n' {
		return nil, fmt.Errorf("%w: a line has no end", ErrDamaged)
	}
	for _, c := range block {
		if c == '\n' {
			l.count++
		}
	}
	return block, nil
}

// end checks what stands behind the last block.
func (l *Lines) end() error {
	var count uint64
	if err := binary.Read(l.in, binary.BigEndian, &count); err != nil {
		return cut(err)
	}
	if count != l.count {
		return fmt.Errorf("%w: %d lines, and %d were said", ErrDamaged, l.count, count)
	}
	l.ended = true
	return io.EOF
}

// WriteTo writes all lines. An error after the first bytes says that they are not all.
func (l *Lines) WriteTo(to io.Writer) (n int64, err error) {
	for {
		block, err := l.Block()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		m, err := to.Write(block)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
}

// cut makes an end in the middle the damage that it is.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return err
}
