package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/warc"
)

type fileRecordCmd struct {
	Name    string        `arg:"" help:"A WARC or ARC file of the archive."`
	Offset  int64         `arg:"" help:"Where the record begins in it, as warc list, cdx and captures say."`
	Block   bool          `xor:"what" help:"Only the block, without the record's header."`
	Payload bool          `xor:"what" help:"Only the payload, without the HTTP header, as it was sent."`
	Content bool          `xor:"what" help:"Only the payload, its transfer and content encodings undone."`
	Out     string        `short:"o" default:"-" placeholder:"PATH" help:"Write to this new file; - is stdout."`
	Wait    time.Duration `default:"1m" help:"Give up after this long." placeholder:"TIME"`
}

// exitTimedOut ends a command that gave up. EX_TEMPFAIL.
const exitTimedOut = 75

func (fileRecordCmd) Help() string {
	return "Only the record's bytes are sent, from a verified copy. The record is read as a whole before a byte of\n" +
		"it is printed, with its checksums; where its own digest does not match, this is said, and it is\n" +
		"printed all the same. " +
		"When no copy can be read now, the command ends with 69."
}

func (fileRecordCmd) exits() []string {
	return []string{"0   the record was printed",
		"1   there is no such file, or no record begins at this offset",
		"2   the record is damaged",
		"75  it did not come within --wait"}
}

func (c *fileRecordCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, c.Wait)
		defer cancel()
		err := c.run(ctx, a, archive)
		if err != nil && a.ctx.Err() == nil && ctx.Err() != nil {
			return exitError{exitTimedOut, fmt.Errorf("the record did not come within %v", c.Wait)}
		}
		return err
	})
}

// errNoRecord is an offset at which no record begins.
var errNoRecord = errors.New("no record begins there")

func (c *fileRecordCmd) run(ctx context.Context, a *app, archive *client.Client) error {
	f, err := archive.Files().Show(ctx, c.Name)
	switch {
	case err != nil:
		return err
	case !f.Removed.IsZero():
		return fmt.Errorf("file %s was removed: %s: %w", f.Name, f.Reason, wire.ErrNotFound)
	case c.Offset < 0 || c.Offset >= f.Size:
		return fmt.Errorf("file %s has %d bytes, none at %d: %w", f.Name, f.Size, c.Offset, errNoRecord)
	}
	from := &windowed{read: func(p []byte, offset int64) (int, error) {
		return archive.Files().ReadAt(ctx, c.Name, p, offset)
	}}
	// A first reading finds damage before anything is printed; a record of any size is not held in memory.
	if err := c.verify(a, from); err != nil {
		return err
	}
	if c.Out == "-" {
		return c.print(from, a.stdout)
	}
	out, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(c.print(from, out), out.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Out))
	}
	return nil
}

// verify reads the record to its end, and says so where it is not what its own digest says.
func (c *fileRecordCmd) verify(a *app, from *windowed) error {
	record, err := c.record(from)
	if err != nil {
		return err
	}
	digest, err := warc.ParseDigest(record.Header.Get("WARC-Block-Digest"))
	known := err == nil
	h := sha256.New()
	if known {
		h = digest.Algorithm.New()
	}
	if _, err := io.Copy(h, record.Block); err != nil {
		return c.damaged(from, err)
	}
	if known && !warc.DigestOf(digest.Algorithm, h).Equal(digest) {
		fmt.Fprintf(a.stderr, "the record's digest is %s, its block has %s; the file's bytes are the archive's\n",
			digest, warc.DigestOf(digest.Algorithm, h))
	}
	return nil
}

func (c *fileRecordCmd) record(from *windowed) (*warc.Record, error) {
	record, err := warc.ReadAt(from, c.Name, c.Offset, 0)
	if err != nil && from.failed != nil {
		return nil, from.failed
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoRecord, err)
	}
	return record, nil
}

// damaged is the answer for a record that broke off, or that the archive could not give.
func (c *fileRecordCmd) damaged(from *windowed, err error) error {
	if from.failed != nil {
		return from.failed
	}
	return exitError{exitUnreadable, fmt.Errorf("the record in %s at %d is damaged: %w", c.Name, c.Offset, err)}
}

// print writes what is asked of the record to w.
func (c *fileRecordCmd) print(from *windowed, w io.Writer) error {
	record, err := c.record(from)
	if err != nil {
		return err
	}
	if err := writeRecord(w, record, c.Block, c.Payload, c.Content); err != nil {
		return c.damaged(from, err)
	}
	return nil
}

// writeRecord writes a record, or a part of it.
func writeRecord(w io.Writer, record *warc.Record, block, payload, content bool) (err error) {
	from := record.Block
	switch {
	case payload:
		from, err = record.Payload()
	case content:
		var body io.ReadCloser
		if body, err = record.Content(); err == nil {
			defer body.Close()
			from = body
		}
	case !block:
		_, err = w.Write(headerOf(record))
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	return err
}

// headerOf is the header of a record as WARC has it. One of an ARC file gets an id, which is always the same.
func headerOf(record *warc.Record) []byte {
	var fields []byte
	for _, field := range record.Header {
		fields = fmt.Appendf(fields, "%s: %s\r\n", field.Name, field.Value)
	}
	version := record.Version
	if strings.HasPrefix(version, "ARC/") {
		id := uuidOf(sha256.Sum256(fmt.Appendf(nil, "%s %d", fields, record.Offset)))
		version, fields = "1.1", fmt.Appendf(fields, "WARC-Record-ID: <urn:uuid:%s>\r\n", id)
	}
	return fmt.Appendf(nil, "WARC/%s\r\n%s\r\n", version, fields)
}

// windowed reads a file of the archive a window at a time, each larger than the one before up to a bound, since most
// records are small.
type windowed struct {
	read   func(p []byte, offset int64) (int, error)
	failed error // of the last reading

	bytes []byte
	at    int64
	next  int
}

// Sizes of the windows.
const (
	firstWindow = 64 << 10
	mostWindow  = 4 << 20
)

// ReadAt implements io.ReaderAt, for one goroutine.
func (w *windowed) ReadAt(p []byte, offset int64) (int, error) {
	done := 0
	for done < len(p) {
		at := offset + int64(done)
		if at < w.at || at >= w.at+int64(len(w.bytes)) {
			w.next = min(max(2*w.next, firstWindow), mostWindow)
			buf := make([]byte, w.next)
			n, err := w.read(buf, at)
			w.at, w.bytes = at, buf[:n]
			if n == 0 {
				if err == nil {
					err = io.EOF
				}
				if err != io.EOF {
					w.failed = err
				}
				return done, err
			}
			if err != nil && err != io.EOF {
				w.failed = err
				return done, err
			}
		}
		done += copy(p[done:], w.bytes[at-w.at:])
	}
	return done, nil
}
