package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// errGone is what a handler sees when nobody reads its answer any more.
var errGone = errors.New("the answer's body was closed")

// answer is the http.ResponseWriter of a handler.
type answer struct {
	ctx     context.Context
	request *http.Request
	head    bool // it asks for the header alone
	end     context.CancelCauseFunc
	begun   chan *http.Response
	failed  chan error
	fails   sync.Once
	in      *io.PipeWriter // where the handler writes
	out     *io.PipeReader // where the caller reads

	// Of the handler's goroutine alone.
	header   http.Header
	sent     http.Header // as it was at WriteHeader
	status   int         // 0: not known yet
	length   int64       // as the handler declared it; else -1
	written  int64
	response *http.Response // nil: not begun
	declared []string       // the names of the trailer, as far as they were known before
	trailer  http.Header    // whole before the body's end
}

func newAnswer(ctx context.Context, r *http.Request, end context.CancelCauseFunc) *answer {
	a := &answer{ctx: ctx, request: r, head: r.Method == http.MethodHead, end: end,
		begun: make(chan *http.Response, 1), failed: make(chan error, 1),
		header: http.Header{}, trailer: http.Header{}, length: -1}
	a.out, a.in = io.Pipe()
	return a
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. The answer begins with its first byte, not here.
func (a *answer) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid status %d", status))
	case status < 200 || a.status != 0:
		return
	}
	a.status, a.sent = status, a.header.Clone()
	if text := a.sent.Get("Content-Length"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			a.sent.Del("Content-Length")
			return
		}
		a.length = int64(n)
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	switch {
	case a.status == http.StatusNoContent, a.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case a.length >= 0 && a.written+int64(len(p)) > a.length:
		return 0, http.ErrContentLength
	}
	if _, there := a.sent["Content-Type"]; !there && a.response == nil && a.written == 0 && len(p) > 0 &&
		a.sent.Get("Content-Encoding") == "" {
		a.sent.Set("Content-Type", http.DetectContentType(p))
	}
	a.written += int64(len(p))
	if !a.hasBody() || len(p) == 0 {
		return len(p), nil
	}
	a.begin()
	n, err := a.in.Write(p)
	if err != nil {
		err = context.Cause(a.ctx) // nothing else closes the pipe while the handler runs
	}
	if n > 0 && errors.Is(err, errGone) {
		return len(p), nil // as if the rest were on its way
	}
	return n, err
}

// FlushError sends the header, for http.ResponseController. What is written is never held back.
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	a.begin()
	return nil
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() } // it cannot fail

// hasBody reports whether the caller gets a body.
func (a *answer) hasBody() bool {
	return !a.head && a.status != http.StatusNoContent &&
		a.status != http.StatusNotModified
}

// begin gives the caller the answer.
func (a *answer) begin() {
	if a.response != nil {
		return
	}
	a.response = &http.Response{Status: fmt.Sprintf("%03d %s", a.status, http.StatusText(a.status)),
		StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.sent,
		ContentLength: a.length, Body: http.NoBody, Request: a.request}
	if a.hasBody() {
		trailer := http.Header{}
		for _, names := range a.sent.Values("Trailer") {
			for name := range strings.SplitSeq(names, ",") {
				a.declared = append(a.declared, http.CanonicalHeaderKey(strings.TrimSpace(name)))
				trailer[a.declared[len(a.declared)-1]] = nil
			}
		}
		a.response.Trailer = trailer
		a.response.Body = &download{PipeReader: a.out, of: a, trailer: trailer}
	}
	a.sent.Del("Trailer")
	a.begun <- a.response
}

// finish ends the answer of a handler that returned.
func (a *answer) finish() {
	if a.ctx.Err() != nil { // the handler may have left off for that reason
		a.fail(context.Cause(a.ctx))
		return
	}
	a.WriteHeader(http.StatusOK)
	if a.hasBody() && a.written < a.length {
		a.fail(errBroken)
		return
	}
	if a.response == nil && !a.head {
		a.length = 0
	}
	a.begin()
	for _, name := range a.declared {
		a.trailer[name] = a.header[name]
	}
	for name, values := range a.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			a.trailer[http.CanonicalHeaderKey(name)] = values
		}
	}
	_ = a.in.Close() // never fails
	a.end(nil)
}

// fail makes the caller's call, or its reading, fail for the reason given, unless both have ended.
func (a *answer) fail(why error) {
	a.fails.Do(func() { a.failed <- why })
	_ = a.in.CloseWithError(why) // never fails
	a.end(why)
}

// download is the body of an answer as the caller reads it.
type download struct {
	*io.PipeReader
	of      *answer
	trailer http.Header // the caller's
}

// Read implements io.Reader. At the body's end the trailer is there.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.PipeReader.Read(p)
	if err == io.EOF {
		maps.Copy(d.trailer, d.of.trailer)
	}
	return n, err
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.of.end(errGone)                        // first, so that the handler is told why
	_ = d.PipeReader.CloseWithError(errGone) // never fails
	return nil
}
