package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/cdx"
	"holdfast/client"
	"holdfast/index"
	"holdfast/internal/sorter"
	"holdfast/node"
	"holdfast/wacz"
	"holdfast/warc"
)

// records copies the records of a query into one WARC file, then those that revisits among them repeat.
func (e *exporting) records(ctx context.Context, q cdx.Query, name string) (err error) {
	written, wanted := sorter.New(e.dir, sortRoom/4), sorter.New(e.dir, sortRoom/4)
	defer func() { err = errors.Join(err, written.Close(), wanted.Close()) }()
	if err := e.info(name); err != nil {
		return err
	}
	progress := e.a.bars()
	defer progress.wait()
	bar := progress.count("records", 0)
	for c, err := range e.archive.Captures(ctx, q) {
		if err != nil {
			bar.end(false)
			return fmt.Errorf("find captures: %w", err)
		}
		bar.on(c.URL)
		if err := e.copy(ctx, c, name); err != nil {
			bar.end(false)
			return err
		}
		bar.set(int64(e.captures), 0)
		if err := written.Add(place(c), ""); err != nil {
			return err
		}
		if c.MIME != cdx.RevisitMIME {
			continue
		}
		original, found, err := e.original(ctx, c)
		if err != nil {
			return fmt.Errorf("find the capture that %s of %s repeats: %w", c.URL, c.Timestamp, err)
		}
		if !found {
			e.missing++
			continue
		}
		text, err := json.Marshal(original)
		if err != nil {
			return err
		}
		if err := wanted.Add(place(original), string(text)); err != nil {
			return err
		}
	}
	bar.end(true)
	if e.captures == 0 {
		return fmt.Errorf("the archive has no capture of %s that you may read", e.URL)
	}
	return e.originals(ctx, wanted, written, name)
}

// place tells one record of the archive from all others.
func place(c wire.Capture) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(c.File), 0), uint64(c.Offset))
}

// originals copies the wanted records that are not written yet. Both are in order of their places.
func (e *exporting) originals(ctx context.Context, wanted, written *sorter.Sorter, name string) error {
	next, stop := iter.Pull2(written.Sorted())
	defer stop()
	have, err, more := next()
	var last []byte
	for entry, failed := range wanted.Sorted() {
		if failed != nil {
			return failed
		}
		end := bytes.IndexByte(entry, 0) + 9
		at := entry[:end]
		for more && err == nil && bytes.Compare(have, at) < 0 {
			have, err, more = next()
		}
		if err != nil {
			return err
		}
		if more && bytes.Equal(have, at) || bytes.Equal(last, at) {
			continue
		}
		last = bytes.Clone(at)
		var c wire.Capture
		if err := json.Unmarshal(entry[end:], &c); err != nil {
			return err
		}
		if err := e.copy(ctx, c, name); err != nil {
			return err
		}
	}
	return nil
}

// original finds the capture that a revisit repeats: the one that it names, else the nearest of the same URL and
// content.
func (e *exporting) original(ctx context.Context, revisit wire.Capture) (wire.Capture, bool, error) {
	for _, try := range []struct{ url, timestamp string }{{revisit.RefersURL, revisit.RefersTimestamp},
		{revisit.URL, revisit.Timestamp}} {
		if try.url == "" {
			continue
		}
		if try.timestamp == "" {
			try.timestamp = revisit.Timestamp
		}
		q := cdx.Query{URL: try.url, Sort: cdx.Closest, Closest: try.timestamp, Limit: 20,
			Filters: []string{"!=mime:" + cdx.RevisitMIME}}
		if revisit.Digest != "" {
			q.Filters = append(q.Filters, "=digest:"+revisit.Digest)
		}
		for c, err := range e.archive.Captures(ctx, q) {
			return c, err == nil, err
		}
	}
	return wire.Capture{}, false, nil
}

// inMemoryExport is up to which length a record is held in memory until it is verified; longer ones lie in a temporary
// file.
const inMemoryExport = 4 << 20

// copy appends one record to the WARC file: the bytes as they are stored where that is gzip, else compressed again. No
// byte of a record that is damaged is written.
func (e *exporting) copy(ctx context.Context, c wire.Capture, name string) error {
	at := e.at
	length, err := e.append(ctx, c)
	if err != nil {
		return fmt.Errorf("read the record of %s in %s at %d: %w", c.URL, c.File, c.Offset, err)
	}
	e.at += length
	e.captures++
	return e.note(&cdx.Capture{Key: c.Key, Timestamp: c.Timestamp, URL: c.URL, MIME: c.MIME, Status: c.Status,
		Digest: c.Digest, Redirect: c.Redirect, File: name, Offset: at, Length: length})
}

// append appends the record, and returns how many bytes that took.
func (e *exporting) append(ctx context.Context, c wire.Capture) (int64, error) {
	from := &windowed{read: func(p []byte, offset int64) (int, error) {
		if c.Length > 0 {
			p = p[:min(int64(len(p)), max(c.Offset+c.Length-offset, 1))]
		}
		return e.archive.Files().ReadAt(ctx, c.File, p, offset)
	}}
	record, err := warc.ReadAt(from, c.File, c.Offset, c.Length)
	if err != nil {
		return 0, errors.Join(from.failed, err)
	}
	packed := &spooled{dir: e.dir}
	defer packed.close()
	z := gzip.NewWriter(packed)
	if err := writeRecord(z, record, false, false, false); err != nil && !errors.Is(err, warc.ErrTrailer) {
		return 0, errors.Join(from.failed, err)
	}
	if _, err := io.WriteString(z, "\r\n\r\n"); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return packed.writeTo(e.to)
}

// spooled keeps a record until it is known to be right.
type spooled struct {
	dir  string
	buf  bytes.Buffer
	file *os.File
}

func (s *spooled) Write(p []byte) (int, error) {
	if s.file == nil && s.buf.Len()+len(p) > inMemoryExport {
		f, err := os.CreateTemp(s.dir, ".export-*")
		if err != nil {
			return 0, err
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return 0, err
		}
		if _, err := s.buf.WriteTo(f); err != nil {
			return 0, err
		}
	}
	if s.file != nil {
		return s.file.Write(p)
	}
	return s.buf.Write(p)
}

func (s *spooled) writeTo(w io.Writer) (int64, error) {
	if s.file == nil {
		return s.buf.WriteTo(w)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, s.file)
}

func (s *spooled) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// info begins the WARC file with a record that says where it comes from.
func (e *exporting) info(name string) error {
	block := fmt.Sprintf("software: holdfast %s\r\nformat: WARC File Format 1.1\r\n"+
		"description: captures of %s, exported\r\n", node.Version(), e.URL)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: %s\r\nWARC-Date: %s\r\nWARC-Filename: %s\r\n"+
		"WARC-Block-Digest: sha256:%x\r\nContent-Type: application/warc-fields\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		warc.NewID(), warc.FormatDate(time.Now()), filepath.Base(name), sha256.Sum256([]byte(block)), len(block), block)
	if err := z.Close(); err != nil {
		return err
	}
	n, err := e.to.Write(b.Bytes())
	e.at += int64(n)
	return err
}

// note takes a capture into the index, and into the pages if it is one.
func (e *exporting) note(c *cdx.Capture) error {
	if err := e.lines.Add(appendPlace(nil, c), string(append(c.AppendCDXJ(nil), '\n'))); err != nil {
		return err
	}
	if c.Status != 200 || c.MIME != "text/html" && c.MIME != "application/xhtml+xml" {
		return nil
	}
	return e.pages.Add([]byte(c.Timestamp), c.URL)
}

func (e *exporting) sortedLines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for entry, err := range e.lines.Sorted() {
			if err == nil {
				entry = entry[lineOf(entry):]
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

func (e *exporting) sortedPages() iter.Seq2[wacz.Page, error] {
	return func(yield func(wacz.Page, error) bool) {
		for entry, err := range e.pages.Sorted() {
			var p wacz.Page
			if err == nil {
				p.URL = string(entry[14:])
				p.Time, err = cdx.ParseTimestamp(string(entry[:14]), cdx.Low)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// job copies all WARC files of a job.
func (e *exporting) job(ctx context.Context, w *wacz.Writer) error {
	progress := e.a.bars()
	defer progress.wait()
	for f, err := range e.archive.Files().Search(ctx, client.FileQuery{Job: e.Job}) {
		if err != nil {
			return err
		}
		if !isArchive(f.Name) {
			continue
		}
		if gone(f) {
			e.left(f.Name)
			continue
		}
		to, err := w.Archive(f.Name)
		if err != nil {
			return err
		}
		bar := progress.bytes(f.Name, f.Size)
		err = e.file(ctx, f, to)
		bar.end(err == nil)
		if err != nil {
			return fmt.Errorf("export %s: %w", f.Name, err)
		}
		e.files++
	}
	for f, err := range e.archive.Files().Search(ctx, client.FileQuery{Job: e.Job, State: "hidden"}) {
		if err != nil {
			return err
		}
		if isArchive(f.Name) {
			e.left(f.Name)
		}
	}
	if e.files == 0 {
		return fmt.Errorf("job %d made no WARC file that the archive has", e.Job)
	}
	return nil
}

// left notes a file of the job that the archive does not have any more.
func (e *exporting) left(name string) {
	fmt.Fprintf(e.a.stderr, "holdfast: %s was removed or is lost: it is not in the export\n", name)
	e.gone++
}

// file copies one file, indexes it on the way, and compares its SHA-256.
func (e *exporting) file(ctx context.Context, f wire.File, to io.Writer) error {
	indexed, through := io.Pipe()
	result := make(chan error, 1)
	go func() {
		err := e.indexFile(indexed, f.Name)
		indexed.CloseWithError(err) // nil: what is left is not needed
		result <- err
	}()
	sum := sha256.New()
	_, err := e.archive.Files().Get(ctx, f.Name, 0, io.MultiWriter(to, sum, through))
	through.CloseWithError(err)
	if indexing := <-result; err == nil || errors.Is(err, io.ErrClosedPipe) {
		err = indexing
	}
	if have := fmt.Sprintf("%x", sum.Sum(nil)); err == nil && !strings.EqualFold(have, f.SHA256) {
		err = fmt.Errorf("its bytes have SHA-256 %s, the archive says %s", have, f.SHA256)
	}
	return err
}

// indexFile takes the captures of a file. Damage in it is no error: the file is exported as it is.
func (e *exporting) indexFile(in io.Reader, name string) error {
	r, err := warc.NewReader(in, name)
	if err == nil {
		for c, err := range index.Captures(r, name) {
			if err != nil {
				fmt.Fprintf(e.a.stderr, "holdfast: %s: %v\n", name, err)
				continue
			}
			if err := e.note(&c); err != nil {
				return err
			}
			e.captures++
		}
	} else if !errors.Is(err, warc.ErrNotArchive) {
		fmt.Fprintf(e.a.stderr, "holdfast: %s: %v\n", name, err)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
