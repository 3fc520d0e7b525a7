package warc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/disk"
)

// Span is a stretch of a file, from Offset up to End.
type Span struct{ Offset, End int64 }

// MinHole is how long a hole must be for Patch to fill it. A member of a response is longer.
const MinHole = 320

// ErrHole reports that a hole is too short to be filled, or that holes are not in order.
var ErrHole = errors.New("hole that cannot be filled")

// Patch writes to dst the .warc.gz file at src up to size, but replaces the holes, which are given in order. Each
// hole is replaced by one record of the same length, with the note and the hole's position: a warcinfo record at the
// beginning of the file, else a metadata record. Every offset outside the holes therefore stays right. There must be
// whole members between the holes. When Patch returns nil, dst is on stable storage; src is not changed.
func Patch(d disk.Disk, src, dst string, size int64, holes []Span, note string) error {
	in, err := os.Open(src)
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	defer in.Close()
	err = d.WriteFile(dst, func(w io.Writer) error {
		at := int64(0)
		for _, h := range append(holes[:len(holes):len(holes)], Span{size, size}) {
			if h.Offset < at || h.End < h.Offset || h.End > size {
				return fmt.Errorf("%d to %d: %w", h.Offset, h.End, ErrHole)
			}
			if n, err := io.Copy(w, io.NewSectionReader(in, at, h.Offset-at)); err != nil || n < h.Offset-at {
				return errors.Join(err, fmt.Errorf("%s ends at %d", src, at+n))
			}
			if at = h.End; h.End == h.Offset {
				continue
			}
			if err := fill(w, h, note, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("patch %s: %w", src, err)
	}
	return nil
}

// Stored blocks of deflate: each has a head of 5 bytes.
const (
	storedMost = 65535
	storedHead = 5
	gzipFrame  = 18 // head and trailer of a member
)

// fill writes a gzip member that is exactly as long as the hole: it is stored, not deflated, and its record's block is
// filled up with blanks.
func fill(w io.Writer, h Span, note string, now time.Time) error {
	room := h.End - h.Offset - gzipFrame
	blocks := room/(storedMost+storedHead) + 1
	text := room - blocks*storedHead
	note = fmt.Sprintf("software: holdfast\r\ndescription: %s (%d bytes, from offset %d)", note, h.End-h.Offset,
		h.Offset)
	kind := TypeMetadata
	if h.Offset == 0 {
		kind = TypeWarcinfo
	}
	head, size, ok := fillerHead(text, kind, now)
	if !ok || h.End-h.Offset < MinHole {
		return fmt.Errorf("%d bytes at %d: %w", h.End-h.Offset, h.Offset, ErrHole)
	}
	size -= int64(len("\r\n"))
	note = note[:min(int64(len(note)), size)]
	z := storedWriter{w: w}
	if err := z.head(); err != nil {
		return err
	}
	content := io.MultiReader(strings.NewReader(head+note), io.LimitReader(blanks{}, size-int64(len(note))),
		strings.NewReader("\r\n\r\n\r\n"))
	buf := make([]byte, storedMost)
	for i := range blocks {
		n, err := io.ReadFull(content, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if err := z.block(buf[:n], i == blocks-1); err != nil {
			return err
		}
	}
	return z.end()
}

// fillerHead returns the header of a record that is exactly that many bytes long, its end included, and the length of
// its block.
func fillerHead(length int64, kind string, now time.Time) (head string, block int64, ok bool) {
	// In two lengths: no block fits where a longer number for its length takes the byte that made it longer.
	for _, date := range []string{"2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"} {
		head = "WARC/1.1\r\nWARC-Type: " + kind + "\r\nWARC-Record-ID: " + NewID() + "\r\nWARC-Date: " +
			now.UTC().Format(date) +
			"\r\nContent-Type: " + fieldsType + "\r\nContent-Length: "
		room := length - int64(len(head)) - int64(len("\r\n\r\n\r\n\r\n"))
		for digits := int64(1); digits < room; digits++ {
			n := strconv.FormatInt(room-digits, 10)
			if int64(len(n)) == digits {
				return head + n + "\r\n\r\n", room - digits, true
			}
			if int64(len(n)) < digits {
				break
			}
		}
	}
	return "", 0, false
}

// blanks reads as blanks without end.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// storedWriter writes a gzip member of stored blocks.
type storedWriter struct {
	w    io.Writer
	sum  uint32
	size uint32
}

func (z *storedWriter) head() error {
	_, err := z.w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255})
	return err
}

func (z *storedWriter) block(p []byte, last bool) error {
	head := []byte{0, byte(len(p)), byte(len(p) >> 8), byte(^len(p)), byte(^len(p) >> 8)}
	if last {
		head[0] = 1
	}
	if _, err := z.w.Write(head); err != nil {
		return err
	}
	z.sum = crc32.Update(z.sum, crc32.IEEETable, p)
	z.size += uint32(len(p))
	_, err := z.w.Write(p)
	return err
}

func (z *storedWriter) end() error {
	_, err := z.w.Write(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, z.sum), z.size))
	return err
}
