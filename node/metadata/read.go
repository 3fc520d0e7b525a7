package metadata

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"os"

	"holdfast/warc"
)

// Reader reads metadata files out of the archive.
type Reader struct {
	Records Records
	Dir     string                // must be there; for files that are large, while they are read
	Room    func() (int64, error) // bytes that may still be written there
	Log     *slog.Logger
}

// File is a metadata file of which all was compared. It must be closed. One goroutine uses it.
type File struct {
	name string
	size int64
	kept *spool
}

// What is wrong with a metadata file.
var (
	errUnlike = errors.New("a record does not match its digest")
	errEmpty  = errors.New("no record is in it")
)

// Read reads a metadata file to its end, and compares each of its records with the digests in the record's header,
// before any of it is given. If a copy is damaged, another one is read. An error that wraps disk.ErrFull says that
// there is no room here.
func (r Reader) Read(ctx context.Context, name string) (*File, error) {
	for again := true; ; again = false {
		f, other, err := r.readOnce(ctx, name)
		if err == nil {
			return f, nil
		}
		if !again || !other {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		r.Log.Warn("metadata file is read again from another copy", "file", name, "error", err)
	}
}

// readOnce reads a copy. After an error it says whether another copy may have other bytes.
func (r Reader) readOnce(ctx context.Context, name string) (_ *File, other bool, err error) {
	in, err := r.Records.Open(ctx, name, 0, 0)
	if err != nil {
		return nil, false, err
	}
	kept := &spool{file: r.temporary, room: r.Room}
	to := &counter{to: kept}
	f := &File{name: name, kept: kept}
	err = compareAll(ctx, io.TeeReader(in, to), name)
	f.size = to.n
	if err != nil && to.err == nil && ctx.Err() == nil {
		doubtful, ok := in.(interface{ Doubt() bool })
		other = ok && doubtful.Doubt()
	}
	if err = errors.Join(err, to.err, in.Close()); err != nil {
		return nil, other, errors.Join(err, f.Close())
	}
	return f, false, nil
}

// temporary is a file for what is read.
func (r Reader) temporary() (*os.File, error) {
	return os.CreateTemp(r.Dir, "sort-metadata-*") // a shelf removes what is left after a crash
}

// compareAll reads a file to its end, and compares each record.
func compareAll(ctx context.Context, in io.Reader, name string) error {
	found := false
	err := eachRecord(ctx, in, name, func(rec *warc.Record) error {
		found = true
		if err := compare(rec); err != nil {
			return fmt.Errorf("%s: %w", rec.TargetURI(), err)
		}
		return nil
	})
	if err == nil && !found {
		err = errEmpty
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in) // the archive compares the whole file, too
	return err
}

// eachRecord gives the records of a file.
func eachRecord(ctx context.Context, in io.Reader, name string, take func(*warc.Record) error) error {
	records, err := warc.NewReader(in, name)
	if err != nil {
		return err
	}
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = take(rec)
		}
		if err != nil {
			return err
		}
	}
}

// compare reads a record to its end, and compares it with the digests that it has. What is no answer of HTTP is its own
// payload.
func compare(rec *warc.Record) error {
	var wants []warc.Digest
	var sums []hash.Hash
	var to []io.Writer
	for _, name := range []string{"WARC-Block-Digest", "WARC-Payload-Digest"} {
		text := rec.Header.Get(name)
		if text == "" || name == "WARC-Payload-Digest" && rec.IsHTTP() {
			continue
		}
		want, err := warc.ParseDigest(text)
		if err != nil {
			return err
		}
		sum := want.Algorithm.New()
		wants, sums, to = append(wants, want), append(sums, sum), append(to, sum)
	}
	if _, err := io.Copy(io.MultiWriter(to...), rec.Block); err != nil {
		return err
	}
	for i, want := range wants {
		if got := warc.DigestOf(want.Algorithm, sums[i]); !got.Equal(want) {
			return fmt.Errorf("%w: %s instead of %s", errUnlike, got, want)
		}
	}
	return nil
}

// Each gives the records in their order. What a record says is valid until take returns.
func (f *File) Each(ctx context.Context, take func(*warc.Record) error) error {
	return eachRecord(ctx, f.bytes(), f.name, take)
}

func (f *File) bytes() io.Reader { return io.NewSectionReader(f.kept.content(), 0, f.size) }

// block returns the first record of that path; nil if there is none. It is valid until the file is closed.
func (f *File) block(path string) (io.Reader, error) {
	records, err := warc.NewReader(f.bytes(), f.name)
	for err == nil {
		var rec *warc.Record
		if rec, err = records.Next(); err == nil && PathOf(rec) == path {
			return rec.Block, nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return nil, err
}

// Close removes what was kept of the file.
func (f *File) Close() error {
	large := f.kept.large
	if large == nil {
		return nil
	}
	return errors.Join(large.Close(), os.Remove(large.Name()))
}
