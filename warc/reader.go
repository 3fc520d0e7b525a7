package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads the records of one WARC or ARC file in order.
type Reader struct {
	name string
	src  *source
	pack members // nil: not compressed
	text *bufio.Reader
	arc  bool

	inside  bool  // a member is open
	member  int64 // where it starts
	drawn   int64 // decompressed bytes that text took from it
	opened  int   // members so far
	cur     *Record
	lost    bool   // the start of the next record has to be searched for
	over    bool   // there is nothing more to find
	say     note   // nil: what can be tolerated is
	scratch []byte // for the header of a record
}

// NewReader returns a reader of the file; the name is for errors and positions. It recognises WARC and ARC, and gzip,
// zstd or no compression, by content. If the file is none of them, the error is ErrNotArchive (in an *Error).
func NewReader(r io.Reader, name string) (*Reader, error) {
	return newReader(r, name, 0, 256<<10, nil)
}

// newReader reads from in, which begins at offset base of the file. shared, if not nil, is
// the decoder for zstd.
func newReader(in io.Reader, name string, base int64, buffer int, shared *zstd.Decoder) (*Reader, error) {
	r := &Reader{name: name, src: newSource(in, base, max(buffer, MaxLine))}
	head, err := r.src.buf.Peek(4)
	if err != nil && err != io.EOF {
		return nil, &Error{File: name, Offset: base, Err: err}
	}
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		r.pack = &gzipMembers{src: r.src}
	case len(head) == 4 && isZstd(binary.LittleEndian.Uint32(head)):
		r.pack = &zstdFrames{src: r.src, z: shared}
	}
	r.text = r.src.buf
	if r.pack != nil {
		r.text = bufio.NewReaderSize(memberText{r}, MaxLine)
	}
	if err := r.recognise(); err != nil {
		return nil, err
	}
	return r, nil
}

func isZstd(magic uint32) bool { return magic == zstdMagic || magic&^0xf == skippableMagic }

// memberText is the source of the text buffer.
type memberText struct{ r *Reader }

func (m memberText) Read(p []byte) (int, error) {
	n, err := m.r.pack.Read(p)
	m.r.drawn += int64(n)
	return n, err
}

// recognise looks whether the file begins as a WARC or as an ARC file does. An empty
// file is accepted; so is one whose first record is damaged but has its name.
func (r *Reader) recognise() error {
	err := r.start()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return r.fail(r.here(), err)
	}
	head, err := r.text.Peek(5)
	if err != nil && err != io.EOF {
		return r.fail(r.here(), err)
	}
	if bytes.EqualFold(head, []byte("WARC/")) {
		return nil
	}
	if line, ok := r.lineAhead(); ok {
		if _, err := parseARCLine(line); err == nil || bytes.HasPrefix(line, []byte("filedesc:")) {
			r.arc = true
			return nil
		}
	}
	return &Error{File: r.name, Offset: r.here(), Err: fmt.Errorf("%w: it begins %.20q", ErrNotArchive, head)}
}

// lineAhead returns the line that comes next without moving.
func (r *Reader) lineAhead() ([]byte, bool) {
	for n := 1; n <= MaxLine; n = r.text.Buffered() + 1 {
		p, err := r.text.Peek(n)
		if err == nil {
			p, err = r.text.Peek(r.text.Buffered())
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			return p[:i], true
		}
		if err != nil {
			return p, len(p) > 0
		}
	}
	return nil, false
}

// Next skips the rest of the current record and returns the next one, or io.EOF. Any other error is an *Error that
// names file and offset, and is returned once: a further call continues with the next record that can be found, or
// returns io.EOF.
func (r *Reader) Next() (*Record, error) {
	if cur := r.cur; cur != nil {
		r.cur = nil
		if err := cur.block.skip(); err != nil {
			return nil, err
		}
	}
	if r.over {
		return nil, io.EOF
	}
	if r.lost {
		if err := r.search(); err != nil {
			r.over = true
			return nil, err
		}
		r.lost = false
	}
	if err := r.start(); err != nil {
		if err == io.EOF {
			r.over = true
			return nil, err
		}
		return nil, r.fail(r.here(), err)
	}
	rec := &Record{Offset: r.here()}
	if r.pack != nil {
		rec.Inner = r.drawn - int64(r.text.Buffered())
		if rec.Inner > 0 {
			r.tell("member-not-per-record", "record does not start at a member's start")
		}
	}
	read := r.readHeader
	if r.arc {
		read = r.readARCHeader
	}
	if err := read(rec); err != nil {
		return nil, r.fail(rec.Offset, err)
	}
	rec.block = &block{r: r, rec: rec, left: rec.Size}
	rec.Block = rec.block
	r.cur = rec
	return rec, nil
}

// here returns the offset of what comes next: of its member, if there are members.
func (r *Reader) here() int64 {
	if r.pack == nil {
		return r.src.offset()
	}
	return r.member
}

// start goes to where the next record begins, over members that end and blank lines.
func (r *Reader) start() error {
	blanks := 0
	for {
		if r.pack != nil && !r.inside {
			if err := r.open(); err != nil {
				return err
			}
		}
		b, err := r.text.Peek(1)
		switch {
		case err == io.EOF && r.pack != nil:
			r.inside = false
		case err != nil:
			return err
		case b[0] != '\r' && b[0] != '\n':
			if blanks > 0 && !r.arc {
				r.tell("extra-blank-lines", "between records")
			}
			return nil
		default:
			blanks++
			if _, err := r.text.Discard(1); err != nil {
				return err
			}
		}
	}
}

// open goes to the next member; io.EOF if there is none.
func (r *Reader) open() error {
	if b, _ := r.src.buf.Peek(1); len(b) == 1 && b[0] == 0 && r.opened > 0 {
		return r.padding()
	}
	start, err := r.pack.next()
	r.member = start
	if err != nil {
		return err
	}
	r.inside = true
	r.drawn = 0
	r.opened++
	r.text.Reset(memberText{r})
	return nil
}

// padding accepts zero bytes up to the end of the file, as tapes and crashed machines leave them.
func (r *Reader) padding() error {
	r.member = r.src.offset()
	for {
		b, err := r.src.buf.ReadByte()
		if err == io.EOF {
			r.tell("gzip", "zero padding after the last member")
			return err
		}
		if err != nil {
			return err
		}
		if b != 0 {
			return fmt.Errorf("bytes after zero padding: %w", ErrCompressed)
		}
	}
}

// search goes to the next line that begins as a record does. Damage in compressed data
// ends the search: what lies behind could be part of a block, and not be records at all.
func (r *Reader) search() error {
	for {
		if r.pack != nil && !r.inside {
			if err := r.open(); err != nil {
				return io.EOF
			}
		}
		if r.recordAhead() {
			return nil
		}
		_, err := r.text.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && r.pack != nil:
			r.inside = false
		default:
			return io.EOF
		}
	}
}

// recordAhead reports whether what comes next looks like a record.
func (r *Reader) recordAhead() bool {
	if !r.arc {
		b, _ := r.text.Peek(5)
		return bytes.EqualFold(b, []byte("WARC/"))
	}
	line, ok := r.lineAhead()
	if !ok {
		return false
	}
	_, err := parseARCLine(line)
	return err == nil
}

// fail makes the *Error for a fault in the record or member at offset.
func (r *Reader) fail(offset int64, err error) error {
	r.lost = true
	if errors.Is(err, ErrCompressed) || r.src.err != nil || r.pack != nil && !r.inside {
		r.over = true
	}
	if r.pack != nil && errors.Is(err, ErrTruncated) && !r.memberHolds() {
		r.over = true
	}
	if r.src.err != nil {
		err = r.src.err
	}
	return &Error{File: r.name, Offset: offset, Err: err}
}

// memberHolds reports whether there is more to read in the open member.
func (r *Reader) memberHolds() bool {
	if !r.inside {
		return false
	}
	b, _ := r.text.Peek(1)
	return len(b) > 0
}

func (r *Reader) tell(code, message string) {
	if r.say != nil {
		r.say(code, message)
	}
}
