package front

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// patience is how long a TCP port waits for the other end. It does not limit how long a request may take: an upload
// of a day is served as long as bytes come.
type patience struct {
	head  time.Duration // until the head of a request is there
	idle  time.Duration // between two requests
	pause time.Duration // for the next bytes of a body, or until some of an answer are taken
	rate  int64         // bytes per second of a body, at least, over all of it
	spare time.Duration // that a body may be behind this rate
}

func usualPatience() patience {
	return patience{head: 10 * time.Second, idle: time.Minute, pause: 30 * time.Second,
		rate: 1 << 10, spare: time.Minute}
}

// refusedBody is how long the rest of a body is awaited that the answer does not need, so that the connection can be
// used again.
const refusedBody = time.Second

// answerPiece is how much of an answer is written at a time; the other end must take that much within a pause.
const answerPiece = 64 << 10

// patient serves with h. If a body or an answer does not progress, its connection is closed.
func (p patience) patient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		out := &steadyAnswer{ResponseWriter: w, control: control, pause: p.pause}
		if err := unsupported(control.SetWriteDeadline(time.Time{})); err != nil { // that of the answer before
			panic(http.ErrAbortHandler)
		}
		if r.Body != nil && r.Body != http.NoBody {
			body := &steadyBody{ReadCloser: r.Body, control: control, patience: p}
			if err := body.extend(); err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body, out.body = body, body
		}
		h.ServeHTTP(out, r)
		out.leave()
	})
}

// steadyBody is the body of a request, whose bytes must keep coming.
type steadyBody struct {
	io.ReadCloser
	control  *http.ResponseController
	patience patience
	waited   time.Duration // for bytes; the handler's own time does not count
	read     int64
	ended    bool
}

// extend waits for the next bytes: for a pause, and no longer than the rate of the whole body allows.
func (b *steadyBody) extend() error {
	whole := b.patience.spare + time.Duration(b.read/b.patience.rate)*time.Second - b.waited
	return unsupported(b.control.SetReadDeadline(time.Now().Add(min(b.patience.pause, whole))))
}

func (b *steadyBody) Read(p []byte) (int, error) {
	if err := b.extend(); err != nil {
		return 0, err
	}
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(began)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.ended = true // what comes next is the next request
		if failed := unsupported(b.control.SetReadDeadline(time.Time{})); failed != nil {
			return n, failed
		}
	}
	return n, err
}

// steadyAnswer is an answer whose bytes must keep being taken.
type steadyAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
	pause   time.Duration
	body    *steadyBody
	begun   bool
}

// leave gives the rest of the request's body up, before net/http reads it.
func (w *steadyAnswer) leave() {
	if w.body != nil && !w.body.ended {
		// A deadline that is not supported has nobody at its other end.
		_ = w.control.SetReadDeadline(time.Now().Add(refusedBody))
	}
}

// WriteHeader begins the answer. net/http then reads the rest of the body.
func (w *steadyAnswer) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.begun = true
		if w.body != nil && !w.body.ended && status >= http.StatusBadRequest {
			w.leave()
			w.Header().Set("Connection", "close") // else net/http reads the body before it answers
		}
		if err := w.extend(); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *steadyAnswer) extend() error {
	return unsupported(w.control.SetWriteDeadline(time.Now().Add(w.pause)))
}

func (w *steadyAnswer) Write(p []byte) (n int, err error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	for first := true; first || len(p) > 0; first = false {
		if err := w.extend(); err != nil {
			return n, err
		}
		more, err := w.ResponseWriter.Write(p[:min(len(p), answerPiece)])
		n, p = n+more, p[more:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Flush sends what was written.
func (w *steadyAnswer) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *steadyAnswer) FlushError() error {
	if err := w.extend(); err != nil {
		return err
	}
	return w.control.Flush()
}

// Unwrap gives net/http the writer itself.
func (w *steadyAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// unsupported is err, but for a connection that knows no deadlines, as a test's.
func unsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
