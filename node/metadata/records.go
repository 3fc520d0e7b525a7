package metadata

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"holdfast/cdx"
	"holdfast/index/jobset"
	"holdfast/index/shelf"
	"holdfast/internal/disk"
	"holdfast/internal/sorter"
	"holdfast/warc"
)

// ErrUnread reports that records which were asked for cannot be read, or are not what they were.
var ErrUnread = errors.New("records cannot be read")

// Selection says which records of a job are wanted. An expression that is nil matches all.
type Selection struct {
	URL  *regexp.Regexp
	Type *regexp.Regexp // the media type
	Gate cdx.Gate       // only records that it lets pass; nil: all
}

func (s Selection) has(v *visit) bool {
	return (s.URL == nil || s.URL.MatchString(v.url)) && (s.Type == nil || s.Type.MatchString(v.kind)) &&
		s.passes(v)
}

// passes asks the gate. What cannot be put to it does not pass.
func (s Selection) passes(v *visit) bool {
	if s.Gate == nil {
		return true
	}
	key, err := cdx.Key(v.url)
	return err == nil && len(v.date) == 14 && s.Gate.Passes(&cdx.Capture{Key: key, Timestamp: v.date, URL: v.url})
}

// Extractor copies records of a job out of its files.
type Extractor struct {
	Jobs    Jobs
	Records Records
	Indexes *jobset.Cache
	Dir     string // for sorting, and for large records while they are read
	Disk    disk.Disk
	Room    func() (int64, error) // bytes that may still be written there
	Memory  int                   // bytes for sorting
	Version string                // of this program
}

// Extraction is the records of a job that were selected. It must be closed.
type Extraction struct {
	from  Extractor
	ctx   context.Context // of the request, whose answer this is
	job   uint64
	lines *jobset.Lines
	want  Selection
	dir   string
	spool *os.File // nil until a record is large
}

// Open begins to select records by the CDX of a job's metadata files. An error that wraps jobset.ErrNone says that no
// metadata file of the job can be read now.
func (e Extractor) Open(ctx context.Context, job uint64, want Selection) (_ *Extraction, err error) {
	lines, used, err := e.Indexes.Open(ctx, jobset.CDX, []uint64{job})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lines.Close())
		}
	}()
	if len(used) == 0 {
		return nil, fmt.Errorf("job %d: %w", job, jobset.ErrNone)
	}
	dir, err := os.MkdirTemp(e.Dir, "sort-records-*") // a shelf removes what is left after a crash
	if err != nil {
		return nil, err
	}
	return &Extraction{from: e, ctx: ctx, job: job, lines: lines, want: want, dir: dir}, nil
}

// Close removes the temporary files.
func (x *Extraction) Close() error {
	err := x.lines.Close()
	if x.spool != nil {
		err = errors.Join(err, x.spool.Close())
	}
	return errors.Join(err, os.RemoveAll(x.dir))
}

// mostNamed is how many records that cannot be read are named; the others are counted.
const mostNamed = 10_000

// WriteTo writes a WARC file: a warcinfo record, and the selected records by file and offset, byte for byte as they are
// stored. Each was read to its end, and compared with its digest, before it is written. If some cannot be read, the
// others are written, then a metadata record that names them, and the error wraps ErrUnread.
func (x *Extraction) WriteTo(to io.Writer) (n int64, err error) {
	out := &counter{to: to}
	sorted := sorter.New(x.from.Dir, x.from.Memory)
	defer func() { err = errors.Join(err, sorted.Close()) }()
	if err := x.choose(sorted); err != nil {
		return 0, err
	}
	about := fmt.Sprintf("records of job %d", x.job)
	if err := x.own(out, about); err != nil {
		return out.n, err
	}
	var unread strings.Builder
	bad, err := x.lost(&unread)
	if err != nil {
		return out.n, err
	}
	for entry, err := range sorted.Sorted() {
		if err == nil {
			err = x.ctx.Err()
		}
		if err != nil {
			return out.n, err
		}
		at, url := chosen(entry)
		err = x.read(at, url, out)
		if out.err != nil || x.ctx.Err() != nil {
			return out.n, errors.Join(out.err, x.ctx.Err())
		}
		if err != nil {
			if bad++; bad <= mostNamed {
				fmt.Fprintf(&unread, "unread: %s %d %s: %s\r\n", at.file, at.offset, url, oneLine(err.Error()))
			}
		}
	}
	if bad == 0 {
		return out.n, nil
	}
	fmt.Fprintf(&unread, "unread-count: %d\r\n", bad)
	text := unread.String()
	err = x.own(out, about, warc.Draft{Type: warc.TypeMetadata, TargetURI: UnreadURI, Size: int64(len(text)),
		ContentType: "application/warc-fields", Block: strings.NewReader(text)})
	if err == nil {
		err = fmt.Errorf("%w: %d of job %d", ErrUnread, bad, x.job)
	}
	return out.n, err
}

// lost names the metadata files that are lost: which records they named is not known. It returns how many there are.
func (x *Extraction) lost(to io.Writer) (n int, err error) {
	attempts, err := x.from.Jobs.Lost(x.job)
	for _, attempt := range attempts {
		_, _ = fmt.Fprintf(to, "unread: %s 0 -: the file is lost, and with it which records attempt %d wrote\r\n",
			Name(x.job, attempt), attempt)
	}
	return len(attempts), err
}

// UnreadURI is that of the record that names what cannot be read.
const UnreadURI = "urn:holdfast:unread"

// choose puts what is wanted in the order of its files.
func (x *Extraction) choose(to *sorter.Sorter) error {
	for {
		block, err := x.lines.Block()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = x.ctx.Err()
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(block) {
			v, ok := parseCDX(line[:len(line)-1])
			if !ok || !x.want.has(v) {
				continue
			}
			key := append([]byte(v.own.file), 0)
			key = binary.BigEndian.AppendUint64(key, uint64(v.own.offset))
			if err := to.Add(key, v.url); err != nil {
				return err
			}
		}
	}
}

// chosen reads what choose wrote.
func chosen(entry []byte) (at place, url string) {
	end := bytes.IndexByte(entry, 0)
	at.file = string(entry[:end])
	at.offset = int64(binary.BigEndian.Uint64(entry[end+1:]))
	return at, string(entry[end+9:])
}

// own writes records of this node: a warcinfo record, and others.
func (x *Extraction) own(to io.Writer, about string, more ...warc.Draft) error {
	path := filepath.Join(x.dir, "own.warc.gz")
	info := []warc.Field{{Name: "software", Value: "Holdfast/" + x.from.Version},
		{Name: "description", Value: about}, {Name: "isPartOf", Value: strconv.FormatUint(x.job, 10)}}
	w, err := warc.NewFile(x.from.Disk, path, warc.FilesConfig{Info: info}, nil)
	if err != nil {
		return err
	}
	_, err = w.Write(more...)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = to.Write(text)
	}
	return errors.Join(err, os.Remove(path))
}

// read writes one record, which is tried again if other copies may be better.
func (x *Extraction) read(at place, url string, to io.Writer) error {
	for again := true; ; again = false {
		doubt, err := x.readOnce(at, url, to)
		if err == nil || !again || !doubt || x.ctx.Err() != nil {
			return err
		}
	}
}

// inMemory is up to which stored length a record is kept in memory while it is read.
const inMemory = 1 << 20

func (x *Extraction) readOnce(at place, url string, to io.Writer) (doubt bool, err error) {
	file, err := x.from.Records.Open(x.ctx, at.file, at.offset, 0)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	kept := &spool{file: x.temporary, room: x.from.Room}
	length, err := whole(io.TeeReader(file, kept), at, url)
	if err == nil {
		return false, kept.copy(to, length)
	}
	d, ok := file.(interface{ Doubt() bool })
	return ok && d.Doubt(), err
}

// whole reads a record to its end, compares it with its digest, and returns its stored length.
func whole(in io.Reader, at place, url string) (int64, error) {
	records, err := warc.NewReader(in, at.file)
	if err != nil {
		return 0, err
	}
	rec, err := records.Next()
	if err != nil {
		return 0, err
	}
	if strings.Map(printable, rec.TargetURI()) != url {
		return 0, fmt.Errorf("the record there is of %s", rec.TargetURI())
	}
	own, known := warc.ParseDigest(rec.Header.Get("WARC-Block-Digest"))
	sum := own.Algorithm.New()
	if _, err := io.Copy(sum, rec.Block); err != nil && !errors.Is(err, warc.ErrTrailer) {
		return 0, err
	}
	if got := warc.DigestOf(own.Algorithm, sum); known == nil && !got.Equal(own) {
		return 0, fmt.Errorf("its block has the digest %s, and not %s", got, own)
	}
	where, err := rec.Position()
	if err != nil && !errors.Is(err, warc.ErrTrailer) {
		return 0, err
	}
	if where.Length <= 0 {
		return 0, errors.New("it shares its compressed part of the file with others")
	}
	return where.Length, nil
}

// printable drops what a CDX leaves out of a URL.
func printable(r rune) rune {
	if r <= ' ' || r == 0x7f {
		return -1
	}
	return r
}

// temporary is the empty file for a large record.
func (x *Extraction) temporary() (*os.File, error) {
	if x.spool == nil {
		f, err := os.Create(filepath.Join(x.dir, "record"))
		if err != nil {
			return nil, err
		}
		x.spool = f
	}
	if err := x.spool.Truncate(0); err != nil {
		return nil, err
	}
	_, err := x.spool.Seek(0, io.SeekStart)
	return x.spool, err
}

// spool keeps bytes: in memory, or, when they are many, in a file.
type spool struct {
	file   func() (*os.File, error)
	room   func() (int64, error)
	memory bytes.Buffer
	large  *os.File
	to     io.Writer // large, as long as there is room
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (n int, err error) {
	if s.large == nil && s.memory.Len()+len(p) > inMemory {
		if s.large, err = s.file(); err != nil {
			return 0, err
		}
		s.to = shelf.Roomy(s.large, s.room)
		if _, err := s.to.Write(s.memory.Bytes()); err != nil {
			return 0, err
		}
	}
	if s.large != nil {
		return s.to.Write(p)
	}
	return s.memory.Write(p)
}

// content is what was written.
func (s *spool) content() io.ReaderAt {
	if s.large != nil {
		return s.large
	}
	return bytes.NewReader(s.memory.Bytes())
}

// errPacked reports a record that is not packed as the others are.
var errPacked = errors.New("it is not a gzip member of its own")

// copy writes the first bytes.
func (s *spool) copy(to io.Writer, length int64) error {
	from := s.content()
	magic := make([]byte, 2)
	if _, err := from.ReadAt(magic, 0); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return errPacked
	}
	_, err := io.Copy(to, io.NewSectionReader(from, 0, length))
	return err
}

// counter counts bytes, and keeps the error of writing, to tell it from those of reading.
type counter struct {
	to  io.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// oneLine makes line ends blanks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
