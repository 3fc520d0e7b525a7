package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"holdfast/cdx"
	"holdfast/warc"
)

// inMemory is up to which stored length a record is kept in memory while it is looked through.
const inMemory = 1 << 20

// spoolLimit is how many bytes of larger records are kept on disk at once, for all readers together. Records beyond are
// read from the archive twice.
const spoolLimit = 256 << 20

// whole is a record that was read to its end once: its compression is whole, and its block was compared with the digest
// that the record has of it.
type whole struct {
	*warc.Record
	block  io.Reader // the rest of the record's block; ends cleanly only where the first reading ended
	flaw   string    // how the record's own digest differs from its block; "" if it does not
	closer io.Closer
}

func (w *whole) Close() error { return w.closer.Close() }

// record reads the record of a capture to its end, and opens it again. A record that is damaged, or does not match
// its own digest, is read once more if that may give other bytes. If its digest is wrong again, it is shown with that
// flaw.
func (h *Handler) record(ctx context.Context, c cdx.Capture) (*whole, error) {
	for again := true; ; again = false {
		s, err := h.stored(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("open record in %s at %d: %w", c.File, c.Offset, err)
		}
		found, err := s.check(ctx, c)
		if again && (err != nil || found.flaw != "") && s.doubt() {
			h.log.Warn("record is read again from another copy", "file", c.File, "offset", c.Offset, "error", err,
				"digest", found.flaw)
			s.Close()
			continue
		}
		var rec *whole
		if err == nil {
			rec, err = s.open(ctx, c, found)
		}
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("read record in %s at %d: %w", c.File, c.Offset, err)
		}
		if rec.flaw != "" {
			h.log.Info("record's digest does not match its block", "url", c.URL, "time", c.Timestamp, "file", c.File,
				"offset", c.Offset, "digest", rec.flaw)
		}
		return rec, nil
	}
}

// memoryLimit bounds how many bytes of smaller records are kept in memory at once, for all readers together, because
// slow readers keep theirs for long. Beyond it, records are kept on disk as larger ones are.
const memoryLimit = 128 << 20

// stored is a record's bytes as stored, to be read more than once: in memory, in a file, or from the archive each time.
type stored struct {
	h      *Handler
	source io.ReadCloser // as the archive gave it; closed once the bytes are kept
	kept   io.ReaderAt   // nil: asked for each time
	length int64
	file   *os.File
	memory bool // the bytes are kept in memory

	dictionary *warc.Dictionary // that they are compressed with; nil: none
}

// stored opens the record's bytes and keeps them where they have room.
func (h *Handler) stored(ctx context.Context, c cdx.Capture) (*stored, error) {
	dictionary, err := h.dictionary(ctx, c.File, c.Offset)
	if err != nil {
		return nil, err
	}
	in, err := h.records.Open(ctx, c.File, c.Offset, c.Length)
	if err != nil {
		return nil, err
	}
	s := &stored{h: h, source: in, length: c.Length, dictionary: dictionary}
	switch {
	case c.Length <= 0:
	case c.Length <= inMemory && h.memory.take(c.Length):
		s.memory = true
		b := make([]byte, c.Length)
		if _, err = io.ReadFull(in, b); err == nil {
			s.kept = bytes.NewReader(b)
		}
	case h.spool.take(c.Length):
		if s.file, err = h.spool.create(); err != nil {
			h.log.Warn("cannot create a temporary file; the record will be read twice", "error", err)
			h.spool.give(c.Length)
			s.file, err = nil, nil
			break
		}
		if _, err = io.CopyN(s.file, in, c.Length); err == nil {
			s.kept = s.file
			break
		}
		h.log.Warn("cannot write a record to a temporary file; the record will be read twice", "error", err)
		s.Close()
		s.file = nil
		s.source, err = h.records.Open(ctx, c.File, c.Offset, c.Length)
		if err != nil {
			return nil, err
		}
	}
	if err == nil && s.kept != nil {
		err = s.source.Close() // nothing is held in the archive while a reader takes his time
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases what the record holds.
func (s *stored) Close() error {
	if s.file != nil {
		s.file.Close()
		s.h.spool.give(s.length)
	}
	if s.memory {
		s.h.memory.give(s.length)
	}
	if s.kept != nil {
		return nil
	}
	return s.source.Close()
}

// doubt reports to the archive that the bytes are not right, and returns whether others may be available.
func (s *stored) doubt() bool {
	d, ok := s.source.(interface{ Doubt() bool })
	return ok && d.Doubt()
}

// checked is the result of the first reading of a record.
type checked struct {
	algorithm warc.Algorithm
	sum       warc.Digest // of the block; without a sum where there is nothing to compare it with
	flaw      string
}

// check reads the record to its end.
func (s *stored) check(ctx context.Context, c cdx.Capture) (checked, error) {
	var in io.Reader = s.source
	if s.kept != nil {
		in = io.NewSectionReader(s.kept, 0, s.length)
	}
	rec, err := findRecord(in, c, s.dictionary)
	if err != nil {
		return checked{}, err
	}
	own, err := warc.ParseDigest(rec.Header.Get("WARC-Block-Digest"))
	found := checked{algorithm: own.Algorithm}
	sum, to := found.algorithm.New(), io.Discard
	counts := err == nil || s.length <= 0 || s.length > inMemory
	if counts {
		to = sum
	}
	if _, copied := io.Copy(to, rec.Block); copied != nil && !errors.Is(copied, warc.ErrTrailer) {
		return checked{}, copied
	}
	if counts {
		found.sum = warc.DigestOf(found.algorithm, sum)
	}
	if err == nil && !found.sum.Equal(own) {
		found.flaw = fmt.Sprintf("recorded %s, found %s", own, found.sum)
	}
	return found, ctx.Err()
}

// open opens the record again, after check.
func (s *stored) open(ctx context.Context, c cdx.Capture, found checked) (*whole, error) {
	var in io.Reader
	if s.kept != nil {
		in = io.NewSectionReader(s.kept, 0, s.length)
	} else {
		again, err := s.h.records.Open(ctx, c.File, c.Offset, c.Length)
		if err != nil {
			return nil, err
		}
		s.source.Close()
		s.source, in = again, again
	}
	rec, err := findRecord(in, c, s.dictionary)
	if err != nil {
		return nil, err
	}
	return &whole{Record: rec, block: &guarded{in: rec.Block, left: rec.Size, found: found, sum: found.algorithm.New()},
		flaw: found.flaw, closer: s}, nil
}

// HTTP reads start line and header off the block.
func (w *whole) HTTP() (*warc.HTTPHead, error) {
	head, err := w.Record.HTTP()
	if g, ok := w.block.(*guarded); ok && err == nil && !g.begun {
		g.begun = true
		g.left -= int64(len(head.Raw))
		io.WriteString(g.sum, head.Raw)
	}
	return head, err
}

// errOther reports a record that was not the same when it was read again.
var errOther = errors.New("record changed between two reads")

// guarded reads a block for the second time. It gives the last bytes only if all of them were those of the first time.
type guarded struct {
	in    io.Reader
	left  int64
	found checked
	sum   hash.Hash
	begun bool // the HTTP head is in sum
}

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, g.end()
	}
	n, err := g.in.Read(p[:min(int64(len(p)), g.left)])
	g.sum.Write(p[:n])
	if g.left -= int64(n); g.left > 0 || n == 0 {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	if err := g.end(); err != io.EOF {
		g.left = 1 // nothing more is given
		return 0, err
	}
	return n, nil
}

// end reads the end of the record and compares what was read.
func (g *guarded) end() error {
	var none [1]byte
	if n, err := g.in.Read(none[:]); n > 0 || err != io.EOF && !errors.Is(err, warc.ErrTrailer) {
		return errors.Join(errOther, err)
	}
	if g.found.sum.Sum != nil && !warc.DigestOf(g.found.algorithm, g.sum).Equal(g.found.sum) {
		return errOther
	}
	return io.EOF
}

// spool is the room on disk for records that are looked through before they are shown.
type spool struct {
	dir   string
	limit int64
	room  func(int64) bool // whether the disk has room for that many bytes; nil: always
	used  atomic.Int64
}

// take sets room aside, if there is some.
func (s *spool) take(n int64) bool {
	if s.used.Add(n) <= s.limit && (s.room == nil || s.room(n)) {
		return true
	}
	s.used.Add(-n)
	return false
}

func (s *spool) give(n int64) { s.used.Add(-n) }

// create makes a file without a name, so that nothing is left of it, whatever happens.
func (s *spool) create() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, ".replay-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
