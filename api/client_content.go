package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/catalog"
)

// Upload is a file to be put into the archive.
type Upload struct {
	Name       string
	Collection string
	Size       int64
	SHA256     string                        // of the bytes; they are refused if they differ
	Open       func() (io.ReadCloser, error) // the bytes from their start; called again when a broken upload is repeated
}

// tries is how often a transfer is taken up again without a byte having moved.
const tries = 5

// Put uploads a file and returns its entry. A broken connection is followed by another try with growing pauses; when
// the file is there already, no byte is sent.
func (c *Client) Put(ctx context.Context, up Upload) (File, error) {
	for try := 1; ; try++ {
		file, err := c.put(ctx, up)
		if err == nil || try == tries || !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return file, err
		}
		if pause(ctx, try) != nil {
			return File{}, err
		}
	}
}

func (c *Client) put(ctx context.Context, up Upload) (File, error) {
	body, err := up.Open()
	if err != nil {
		return File{}, err
	}
	defer body.Close()
	sent := &counted{from: body, left: up.Size}
	r, err := c.request(ctx, http.MethodPut, sent, nil, "files", up.Name, "content")
	if err != nil {
		return File{}, err
	}
	r.ContentLength = up.Size
	if up.Size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Expect", "100-continue")
	r.Header.Set(digestHeader, up.SHA256)
	if up.Collection != "" {
		r.Header.Set(collectionHeader, up.Collection)
	}
	answer, err := c.do(r)
	if sent.err != nil { // the file on our side, not the connection
		return File{}, fmt.Errorf("read %s: %w", up.Name, sent.err)
	}
	if err != nil {
		return File{}, err
	}
	defer answer.Body.Close()
	var file File
	if err := json.NewDecoder(answer.Body).Decode(&file); err != nil {
		return File{}, fmt.Errorf("read the answer of %s: %w", c.base.Host, err)
	}
	return file, nil
}

// errChanged reports a file that is longer or shorter than it was when its upload began.
var errChanged = errors.New("it changed while it was read")

// counted reads so many bytes, no fewer and no more, and remembers why that failed, which net/http tells like a
// broken connection.
type counted struct {
	from io.Reader
	left int64
	err  error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.left -= int64(n)
	switch {
	case c.left < 0, err == io.EOF && c.left > 0:
		c.err = errChanged
	case err != nil && err != io.EOF:
		c.err = err
	}
	if c.err != nil {
		return n, c.err
	}
	return n, err
}

// Content is what is known of the bytes that Get writes.
type Content struct {
	Size   int64          // of the whole file
	SHA256 catalog.Digest // of the whole file
}

// Get writes a file's bytes from the offset on to w and goes on where it was when the connection breaks. The caller
// compares what it has with the SHA-256: only it has seen the bytes before the offset.
func (c *Client) Get(ctx context.Context, name string, offset int64, w io.Writer) (Content, error) {
	var known Content
	for try := 1; ; try++ {
		n, content, err := c.get(ctx, name, offset, known, w)
		offset += n
		if content != (Content{}) {
			known = content
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return known, err
		}
		if n > 0 {
			try = 0
		}
		if try == tries || pause(ctx, try) != nil {
			return known, err
		}
	}
}

func (c *Client) get(ctx context.Context, name string, offset int64, known Content, w io.Writer) (int64, Content, error) {
	r, err := c.request(ctx, http.MethodGet, nil, nil, "files", name, "content")
	if err != nil {
		return 0, Content{}, err
	}
	if offset > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	answer, err := c.do(r)
	var problem *Error
	if errors.As(err, &problem) && problem.Status == http.StatusRequestedRangeNotSatisfiable {
		return 0, known, fmt.Errorf("%w: %s has no byte %d", ErrInvalid, name, offset)
	}
	if err != nil {
		return 0, Content{}, err
	}
	defer answer.Body.Close()
	content := Content{Size: answer.ContentLength + offset}
	if err := content.SHA256.UnmarshalText([]byte(answer.Header.Get(digestHeader))); err != nil {
		return 0, Content{}, fmt.Errorf("answer of %s: %w", c.base.Host, err)
	}
	if offset > 0 && (answer.StatusCode != http.StatusPartialContent || !strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset))) {
		return 0, Content{}, fmt.Errorf("answer of %s: %w: it does not begin at byte %d", c.base.Host, ErrInvalid, offset)
	}
	if known != (Content{}) && known != content {
		return 0, Content{}, fmt.Errorf("answer of %s: %w: the file is not the one that was begun", c.base.Host, ErrDigest)
	}
	out := &failingWriter{to: w}
	n, err := io.Copy(out, answer.Body)
	switch {
	case out.err != nil:
		return n, content, out.err
	case err != nil:
		return n, content, fmt.Errorf("get %s: %w: %w", name, ErrUnavailable, err)
	}
	return n, content, nil
}

// failingWriter remembers why writing failed, to tell it from a broken connection.
type failingWriter struct {
	to  io.Writer
	err error
}

func (f *failingWriter) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}

// pause waits longer with each try.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(200 * time.Millisecond << try)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
