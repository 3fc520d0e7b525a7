package inprocess

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
)

// piece is how much of a request's body is read at once.
const piece = 32 << 10

// errLonger reports a body that does not end where its length says.
var errLonger = errors.New("the request's body is longer than its Content-Length")

// upload is the body of a request as the handler reads it. The source is read by a goroutine of its own, which begins
// with the handler's first Read: a source that says nothing does not hold a handler whose request has ended.
type upload struct {
	ctx     context.Context
	source  io.ReadCloser // nil: no body
	length  int64         // -1: not known
	sent    http.Header   // the trailer of the request that was sent, whole at the source's end
	trailer http.Header   // of the request that the handler has

	mu    sync.Mutex // held while the handler reads
	begun bool       // the goroutine closes the source; before, end does
	taken int64      // how much the handler has read
	over  error      // what all further reads return
	asks  chan int
	reads chan read
	bytes []byte
}

// read is what a Read of the source returned.
type read struct {
	n       int
	err     error
	trailer http.Header
}

func newUpload(ctx context.Context, r *http.Request) *upload {
	u := &upload{ctx: ctx, source: r.Body, length: -1, sent: r.Trailer}
	switch {
	case r.Body == nil, r.Body == http.NoBody:
		u.length = 0
	case r.ContentLength > 0:
		u.length = r.ContentLength
	}
	return u
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (n int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil && u.over == nil {
		u.over = context.Cause(u.ctx)
	}
	if u.over != nil || len(p) == 0 {
		return 0, u.over
	}
	if !u.begun {
		u.begun, u.asks, u.reads, u.bytes = true, make(chan int), make(chan read, 1), make([]byte, piece)
		go u.pump()
	}
	select {
	case u.asks <- min(len(p), piece):
	case <-u.ctx.Done():
		u.over = context.Cause(u.ctx)
		return 0, u.over
	}
	select {
	case got := <-u.reads:
		n, u.over = u.checked(got)
		copy(p, u.bytes[:n])
		return n, u.over
	case <-u.ctx.Done(): // the source may still be read: u.bytes are its own from now on
		u.over = context.Cause(u.ctx)
		return 0, u.over
	}
}

// checked compares what was read with the body's length, and takes over the trailer at its end.
func (u *upload) checked(got read) (int, error) {
	u.taken += int64(got.n)
	switch {
	case u.length >= 0 && u.taken > u.length:
		return 0, errLonger
	case u.length >= 0 && u.taken < u.length && got.err == io.EOF:
		return got.n, io.ErrUnexpectedEOF
	case got.err == io.EOF:
		maps.Copy(u.trailer, got.trailer)
	}
	return got.n, got.err
}

// pump reads the source when it is asked to, and closes it at the end.
func (u *upload) pump() {
	defer func() { _ = u.source.Close() }() // nobody is left to be told
	for {
		select {
		case most := <-u.asks:
			n, err := u.source.Read(u.bytes[:most])
			got := read{n: n, err: err}
			if err == io.EOF {
				got.trailer = u.sent.Clone()
			}
			u.reads <- got
		case <-u.ctx.Done():
			return
		}
	}
}

// Close implements io.Closer for the handler.
func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over == nil {
		u.over = http.ErrBodyReadAfterClose
	}
	return nil
}

// end closes a source that was never read. To be called when the context has ended.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.begun || u.source == nil {
		return
	}
	u.begun, u.over = true, context.Cause(u.ctx)
	_ = u.source.Close() // nobody is left to be told
}
