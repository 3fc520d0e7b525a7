package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"holdfast/api/wire"
)

// ReadAt reads len(p) bytes of a file from the offset on, as io.ReaderAt does: fewer bytes come with an error, io.EOF
// when the file ends. The node sends only bytes that it has verified, and cuts the connection otherwise.
func (f Files) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for try := 1; ; try++ {
		got, err := f.readAt(ctx, name, p[n:], offset+int64(n))
		n += got
		if n == len(p) {
			return n, nil
		}
		if err == nil {
			return n, io.EOF
		}
		if got > 0 {
			try = 0
		}
		if ctx.Err() != nil || !errors.Is(err, wire.ErrUnavailable) || try == tries || pause(ctx, try) != nil {
			return n, err
		}
	}
}

// readAt makes one request. It ends without an error and with fewer bytes where the file ends.
func (f Files) readAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	r, err := f.c.request(ctx, http.MethodGet, nil, nil, "files", name, "content")
	if err != nil {
		return 0, err
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+int64(len(p))-1))
	answer, err := f.c.do(r)
	var problem *wire.Error
	if errors.As(err, &problem) && problem.Status == http.StatusRequestedRangeNotSatisfiable {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusPartialContent {
		if answer.StatusCode == http.StatusOK && answer.ContentLength == 0 {
			return 0, nil // an empty file has no ranges
		}
		return 0, fmt.Errorf("answer of %s: %w: it is no range", f.c.base.Host, wire.ErrInvalid)
	}
	if _, err := describedBy(answer, offset); err != nil {
		return 0, fmt.Errorf("answer of %s: %w", f.c.base.Host, err)
	}
	if answer.ContentLength < 0 || answer.ContentLength > int64(len(p)) {
		return 0, fmt.Errorf("answer of %s: %w: %d bytes for %d", f.c.base.Host, wire.ErrInvalid, answer.ContentLength,
			len(p))
	}
	n, err := io.ReadFull(answer.Body, p[:answer.ContentLength])
	if err != nil {
		return n, fmt.Errorf("read %s: %w: %w", name, wire.ErrUnavailable, err)
	}
	return n, nil
}
