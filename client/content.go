package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/api/wire"
)

// Upload is a file to be put into the archive.
type Upload struct {
	Name       string
	Collection string
	Size       int64
	SHA256     string                        // of the bytes; they are refused if they differ
	Open       func() (io.ReadCloser, error) // the bytes from their start; again when a broken upload is repeated
}

// tries is how often a transfer is taken up again without a byte having moved.
const tries = 5

// Put uploads a file and returns its entry. A broken connection is followed by another try with growing pauses; when
// the file is there already, no byte is sent.
func (f Files) Put(ctx context.Context, up Upload) (wire.File, error) {
	for try := 1; ; try++ {
		file, err := f.put(ctx, up)
		if err == nil || try == tries || !errors.Is(err, wire.ErrUnavailable) || ctx.Err() != nil {
			return file, err
		}
		if pause(ctx, try) != nil {
			return wire.File{}, err
		}
	}
}

func (f Files) put(ctx context.Context, up Upload) (wire.File, error) {
	body, err := up.Open()
	if err != nil {
		return wire.File{}, err
	}
	defer body.Close()
	sent := &counted{from: body, left: up.Size}
	r, err := f.c.request(ctx, http.MethodPut, sent, nil, "files", up.Name, "content")
	if err != nil {
		return wire.File{}, err
	}
	r.ContentLength = up.Size
	if up.Size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Expect", "100-continue")
	r.Header.Set(wire.DigestHeader, up.SHA256)
	if up.Collection != "" {
		r.Header.Set(wire.CollectionHeader, up.Collection)
	}
	answer, err := f.c.do(r)
	if sent.err != nil { // the file on our side, not the connection
		return wire.File{}, fmt.Errorf("read %s: %w", up.Name, sent.err)
	}
	if err != nil {
		return wire.File{}, err
	}
	defer answer.Body.Close()
	var file wire.File
	if err := json.NewDecoder(answer.Body).Decode(&file); err != nil {
		return wire.File{}, fmt.Errorf("read the answer of %s: %w", f.c.base.Host, err)
	}
	return file, nil
}

// errChanged reports a file that is longer or shorter than it was when its upload began.
var errChanged = errors.New("it changed while it was read")

// counted reads exactly that many bytes. It remembers why reading failed, because net/http reports every failure as a
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

// Content describes the bytes that Get writes.
type Content struct {
	Size   int64  // of the whole file
	SHA256 string // of the whole file, 64 hexadecimal digits
}

// Get writes a file's bytes from the offset on to w, and continues where it was if the connection breaks. The caller
// compares the result with the SHA-256: only the caller has seen the bytes before the offset.
func (f Files) Get(ctx context.Context, name string, offset int64, w io.Writer) (Content, error) {
	return f.GetCopy(ctx, name, "", offset, w)
}

// GetCopy is Get from one replica's copy alone, which is refused when it is not good.
func (f Files) GetCopy(ctx context.Context, name, replica string, offset int64, w io.Writer) (Content, error) {
	var known Content
	for try := 1; ; try++ {
		n, content, err := f.get(ctx, name, replica, offset, known, w)
		offset += n
		if content != (Content{}) {
			known = content
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, wire.ErrUnavailable) {
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

func (f Files) get(ctx context.Context, name, replica string, offset int64, known Content, w io.Writer) (int64, Content,
	error) {
	r, err := f.c.request(ctx, http.MethodGet, nil, asked(map[string]string{"replica": replica}), "files", name,
		"content")
	if err != nil {
		return 0, Content{}, err
	}
	if offset > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	answer, err := f.c.do(r)
	var problem *wire.Error
	if errors.As(err, &problem) && problem.Status == http.StatusRequestedRangeNotSatisfiable {
		return 0, known, fmt.Errorf("%w: %s has no byte %d", wire.ErrInvalid, name, offset)
	}
	if err != nil {
		return 0, Content{}, err
	}
	defer answer.Body.Close()
	content, err := describedBy(answer, offset)
	if err == nil && known != (Content{}) && known != content {
		err = fmt.Errorf("%w: the file is not the one that was begun", wire.ErrDigest)
	}
	if err != nil {
		return 0, Content{}, fmt.Errorf("answer of %s: %w", f.c.base.Host, err)
	}
	out := &failingWriter{to: w}
	n, err := io.Copy(out, answer.Body)
	switch {
	case out.err != nil:
		return n, content, out.err
	case err != nil:
		return n, content, fmt.Errorf("get %s: %w: %w", name, wire.ErrUnavailable, err)
	}
	return n, content, nil
}

// describedBy reads what an answer says of the file that it has the bytes of, from the offset on.
func describedBy(answer *http.Response, offset int64) (Content, error) {
	digest := strings.ToLower(answer.Header.Get(wire.DigestHeader))
	if sum, err := hex.DecodeString(digest); err != nil || digest != "" && len(sum) != sha256.Size {
		return Content{}, fmt.Errorf("%w: its SHA-256 is %q", wire.ErrInvalid, digest)
	}
	begins := answer.Header.Get("Content-Range")
	there := strings.HasPrefix(begins, fmt.Sprintf("bytes %d-", offset))
	if offset > 0 && (answer.StatusCode != http.StatusPartialContent || !there) {
		return Content{}, fmt.Errorf("%w: it does not begin at byte %d", wire.ErrInvalid, offset)
	}
	return Content{Size: answer.ContentLength + offset, SHA256: digest}, nil
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
