package warc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"holdfast/internal/disk"
)

// Convert copies the records of the WARC file src to a new file dst, packed in another
// way: each in a member of its own, headers and blocks byte for byte. The file appears,
// durably, once it is whole; damage in src is an error and leaves nothing.
// Level 0 is the compression's default.
func Convert(src, dst string, c Compression, level int) (Finished, error) {
	in, err := os.Open(src)
	if err != nil {
		return Finished{}, fmt.Errorf("convert: %w", err)
	}
	defer in.Close()
	return convert(disk.New(), in, src, dst, c, level, -1)
}

// convert copies the first n records, or all when n is negative.
func convert(d disk.Disk, in io.Reader, name, dst string, c Compression, level, n int) (Finished, error) {
	e, err := newEncoder(Format{}, c, level)
	if err != nil {
		return Finished{}, err
	}
	done := Finished{Path: dst}
	sum := sha256.New()
	err = d.WriteFile(dst, func(w io.Writer) error {
		e.spill = func(p []byte) error {
			n, err := w.Write(p)
			sum.Write(p[:n])
			done.Size += int64(n)
			return err
		}
		if err := e.copyRecords(in, name, n, &done.Records); err != nil {
			return err
		}
		return e.spill(e.out)
	})
	sum.Sum(done.SHA256[:0])
	return done, err
}

func (e *encoder) copyRecords(in io.Reader, name string, n int, count *int) error {
	r, err := NewReader(in, name)
	if err != nil {
		return err
	}
	if r.arc {
		return &Error{File: name, Err: fmt.Errorf("ARC files cannot be converted: %w", errors.ErrUnsupported)}
	}
	for ; n < 0 || *count < n; *count++ {
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := e.verbatim(rec.head, rec.Block, rec.Size); err != nil {
			return err
		}
	}
	return nil
}
