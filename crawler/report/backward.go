package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// blockSize is how much of a log is read at a time.
const blockSize = 64 << 10

// maxKept is how much of a line is kept; the rest of a longer one is passed over.
const maxKept = 64 << 10

// CopyTail writes the last n lines of the log at path to out, or with n 0 the whole of it.
func CopyTail(out io.Writer, path string, n int) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	if n > 0 {
		info, err := log.Stat()
		if err != nil {
			return err
		}
		from, err := lastLines(log, info.Size(), n)
		if err != nil {
			return err
		}
		if _, err := log.Seek(from, io.SeekStart); err != nil {
			return err
		}
	}
	_, err = io.Copy(out, log)
	return err
}

// lastLines returns where the last n lines of a log of the given size begin.
func lastLines(log io.ReaderAt, size int64, n int) (int64, error) {
	r := backward{file: log, at: size}
	for range n {
		if _, _, err := r.next(); err == io.EOF {
			break
		} else if err != nil {
			return 0, fmt.Errorf("find the last lines of a log: %w", err)
		}
	}
	return r.at, nil
}

// backward reads the lines of a file from its end. It keeps two blocks and a line in memory.
type backward struct {
	file io.ReaderAt
	at   int64 // up to where lines were given
	buf  []byte
	from int64 // offset of buf in the file; buf ends at at or beyond
}

// next returns the line before the last that was given, its end included, and its offset. Of a line longer than
// maxKept it returns the beginning. It is valid until the next call. After the first line it returns io.EOF.
func (r *backward) next() (line []byte, at int64, err error) {
	if r.at <= 0 {
		return nil, 0, io.EOF
	}
	end := r.at
	search := end - 1 // the line's own newline is not the one before it
	for search > 0 {
		if err := r.load(search); err != nil {
			return nil, 0, err
		}
		part := r.buf[:search-r.from]
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return r.take(r.from+int64(i)+1, end)
		}
		search = r.from
	}
	return r.take(0, end)
}

// take returns the line from start to end.
func (r *backward) take(start, end int64) ([]byte, int64, error) {
	r.at = start
	if start >= r.from && end <= r.from+int64(len(r.buf)) && end-start <= maxKept {
		return r.buf[start-r.from : end-r.from], start, nil
	}
	line := make([]byte, min(end-start, maxKept))
	n, err := r.file.ReadAt(line, start)
	if n < len(line) {
		return nil, 0, cut(err)
	}
	return line, start, nil
}

// load makes buf hold the byte before end.
func (r *backward) load(end int64) error {
	if len(r.buf) > 0 && r.from < end && end <= r.from+int64(len(r.buf)) {
		return nil
	}
	from := max(0, end-blockSize)
	if cap(r.buf) == 0 {
		r.buf = make([]byte, 0, blockSize)
	}
	buf := r.buf[:end-from]
	n, err := r.file.ReadAt(buf, from)
	if n < len(buf) {
		return cut(err)
	}
	r.buf, r.from = buf, from
	return nil
}

// cut is the error of a read that ended too early: the file was cut while it was read.
func cut(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
