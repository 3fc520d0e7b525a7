// Package inprocess carries HTTP requests to a handler of the same program. No socket is opened, and bodies are handed
// over piece by piece: neither that of a request nor that of an answer is held in memory.
package inprocess

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
)

// Transport is an http.RoundTripper that gives requests to a handler, each in a goroutine of its own. It is safe for
// concurrent use. How many requests are under way is the caller's matter.
//
// What the handler sees is as over a socket: a path, a host, the header as sent, a body that ends early if the request
// does. RemoteAddr and TLS are empty. The request's context is the caller's, with its values, and ends with the request
// too. The body is read only while the handler reads it, and is closed at the end.
//
// What the caller sees is as over a socket, too. The answer is there with the first byte, the first flush or the
// handler's end, and its body ends well only after the handler has returned. A panic of the handler, and a body that is
// shorter than its Content-Length, are errors for which errors.Is finds io.ErrUnexpectedEOF. Panics are logged, except
// http.ErrAbortHandler. When the request's context ends, RoundTrip and the answer's body fail with its cause at once,
// whatever the handler does. A caller that closes the body ends the handler's context; a Write of which the caller has
// read a part counts as done then.
//
// Deadlines, which http.ResponseController sets, and answers 1xx are not supported: a slow caller has its context.
type Transport struct {
	handler http.Handler
	log     *slog.Logger
}

// New returns a Transport to the handler, which logs its panics.
func New(handler http.Handler, log *slog.Logger) *Transport { return &Transport{handler, log} }

// errBroken is what the caller sees of a handler that did not answer to the end.
var errBroken = fmt.Errorf("the handler broke off: %w", io.ErrUnexpectedEOF)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(r.Context())
	up := newUpload(ctx, r)
	context.AfterFunc(ctx, up.end)
	at, err := url.ParseRequestURI(r.URL.RequestURI())
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end(err)
		return nil, err
	}
	a := newAnswer(ctx, r, end)
	context.AfterFunc(ctx, func() { a.fail(context.Cause(ctx)) })
	go t.serve(a, received(ctx, r, at, up))
	select {
	case response := <-a.begun:
		return response, nil
	case err := <-a.failed:
		select {
		case response := <-a.begun: // it began before it failed, or was whole
			return response, nil
		default:
			return nil, err
		}
	}
}

// received is the request as a handler gets it from a socket.
func received(ctx context.Context, sent *http.Request, at *url.URL, up *upload) *http.Request {
	r := sent.Clone(ctx)
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if r.Host == "" {
		r.Host = sent.URL.Host
	}
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.URL, r.RequestURI, r.RemoteAddr, r.TLS = at, at.RequestURI(), "", nil
	r.GetBody, r.Response = nil, nil
	r.Body, r.ContentLength = up, up.length
	if r.ContentLength == 0 {
		r.Body = http.NoBody
	}
	for name := range r.Trailer {
		r.Trailer[name] = nil // known at the body's end
	}
	up.trailer = r.Trailer
	return r
}

// serve runs the handler and ends the answer.
func (t *Transport) serve(a *answer, r *http.Request) {
	whole := false
	defer func() {
		if whole {
			a.finish()
			return
		}
		// Without a panic, the goroutine was ended by runtime.Goexit.
		if what := recover(); what != nil && what != http.ErrAbortHandler {
			t.log.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(what),
				"stack", string(debug.Stack()))
		}
		a.fail(errBroken)
	}()
	t.handler.ServeHTTP(a, r)
	whole = true
}
