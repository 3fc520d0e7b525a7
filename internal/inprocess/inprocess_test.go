package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// request is one to nowhere, which only an answer within the process can have.
func request(ctx context.Context, body io.Reader) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://nowhere.invalid/x", body)
	if err != nil {
		panic(err)
	}
	return r
}

// over asks a handler. The body of the answer is the caller's to close.
func over(h http.HandlerFunc, r *http.Request) (*http.Response, error) {
	return New(h, quiet()).RoundTrip(r)
}

// closed is a source that counts how often it was read, and tells when it was closed.
type closed struct {
	io.Reader
	reads  atomic.Int32
	closed chan struct{}
}

func source(from io.Reader) *closed { return &closed{Reader: from, closed: make(chan struct{})} }

func (c *closed) Read(p []byte) (int, error) {
	c.reads.Add(1)
	return c.Reader.Read(p)
}

func (c *closed) Close() error {
	close(c.closed) // a second time is a panic
	return nil
}

// silence is a source that says nothing until it ends.
type silence chan struct{}

func (s silence) Read([]byte) (int, error) {
	<-s
	return 0, io.EOF
}

// An answer that a handler did not end is never whole.
func TestNothingBrokenLooksWhole(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(){
		"abort": func() { panic(http.ErrAbortHandler) }, "panic": func() { panic("no") }, "goexit": runtime.Goexit,
	} {
		for _, written := range []int{0, 1, 100_000} {
			for _, length := range []string{"", "100001", "1", "100000"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					synctest.Test(t, func(t *testing.T) {
						r := request(t.Context(), nil)
						r.Method = method
						answer, err := over(func(w http.ResponseWriter, _ *http.Request) {
							if length != "" {
								w.Header().Set("Content-Length", length)
							}
							w.WriteHeader(http.StatusOK)
							_, _ = w.Write(make([]byte, written))
							end()
						}, r)
						if err == nil {
							_, err = io.ReadAll(answer.Body)
							_ = answer.Body.Close()
						}
						if !errors.Is(err, io.ErrUnexpectedEOF) {
							t.Errorf("%s after %d of %q bytes of a %s: %v", how, written, length, method, err)
						}
					})
				}
			}
		}
	}
}

func TestOnlyPanicsAreLogged(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]func(){"": func() { panic(http.ErrAbortHandler) }, "a fault of ours": func() { panic("a fault of ours") }} {
		var out bytes.Buffer
		_, err := New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { end() }), slog.New(slog.NewTextHandler(&out, nil))).
			RoundTrip(request(t.Context(), nil))
		if text := out.String(); err == nil || !strings.Contains(text, want) || (text == "") != (want == "") || want != "" && !strings.Contains(text, "inprocess_test.go") {
			t.Errorf("%v, logged %q", err, text)
		}
	}
}

// A request that ends does so for both sides at once, wherever it is: also while the handler heeds nothing.
func TestARequestCanBeCancelled(t *testing.T) {
	t.Parallel()
	why := errors.New("the person went away")
	for where, handler := range map[string]func(w http.ResponseWriter, r *http.Request, stubborn <-chan struct{}){
		"before the answer": func(_ http.ResponseWriter, r *http.Request, _ <-chan struct{}) { <-r.Context().Done() },
		"in a handler that heeds nothing": func(w http.ResponseWriter, _ *http.Request, stubborn <-chan struct{}) {
			w.(http.Flusher).Flush()
			<-stubborn
			if _, err := io.WriteString(w, "too late"); !errors.Is(err, why) {
				t.Errorf("written too late: %v", err)
			}
		},
		"while the body is read": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.(http.Flusher).Flush()
			for range 2 {
				if _, err := r.Body.Read(make([]byte, 1)); !errors.Is(err, why) {
					t.Errorf("the body: %v", err)
				}
			}
		},
		"while the answer is written": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			for {
				if _, err := io.WriteString(w, "on and on"); err != nil {
					return
				}
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			stubborn, body := make(chan struct{}), make(silence)
			from, ended := source(body), make(chan struct{})
			ctx, cancel := context.WithCancelCause(t.Context())
			type result struct {
				answer *http.Response
				err    error
			}
			got := make(chan result, 1)
			go func() {
				answer, err := over(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					handler(w, r, stubborn)
				}, request(ctx, from))
				got <- result{answer, err}
			}()
			synctest.Wait()
			cancel(why)
			of := <-got
			if of.err == nil {
				_, of.err = io.Copy(io.Discard, of.answer.Body)
				_ = of.answer.Body.Close()
			}
			if !errors.Is(of.err, why) {
				t.Errorf("%s: %v", where, of.err)
			}
			close(stubborn)
			<-ended
			close(body) // only now does a source that was read return
			<-from.closed
		})
	}
}

func TestARequestThatEndedIsNotBegun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	from := source(strings.NewReader("x"))
	_, err := over(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }, request(ctx, from))
	if <-from.closed; !errors.Is(err, context.Canceled) || from.reads.Load() != 0 {
		t.Errorf("%v, %d reads", err, from.reads.Load())
	}
}

// A body is read only while the handler reads it, and closed in any case.
func TestABodyIsReadWhenItIsWanted(t *testing.T) {
	t.Parallel()
	for want, handler := range map[int32]http.HandlerFunc{
		0: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		1: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			_ = r.Body.Close()
			if _, err := r.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
				t.Errorf("read after its end: %v", err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			from := source(strings.NewReader("some bytes"))
			answer, err := over(handler, request(t.Context(), from))
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if <-from.closed; from.reads.Load() != want {
				t.Errorf("read %d times, want %d", from.reads.Load(), want)
			}
		})
	}
}

// A handler sees a body that is shorter or longer than was said, and one whose source fails.
func TestABodyIsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	fault := errors.New("the disk fails")
	for _, c := range []struct {
		text   string
		length int64
		fault  error
		want   error
		n      int
	}{
		{"12345", 5, nil, nil, 5}, {"12345", -1, nil, nil, 5}, {"1234", 5, nil, io.ErrUnexpectedEOF, 4}, {"123456", 5, nil, errLonger, 0},
		{"12", 5, fault, fault, 2}, {"12", -1, fault, fault, 2},
	} {
		var from io.Reader = strings.NewReader(c.text)
		if c.fault != nil {
			from = io.MultiReader(from, failing{c.fault})
		}
		r := request(t.Context(), from)
		r.ContentLength = c.length
		answer, err := over(func(_ http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if !errors.Is(err, c.want) || len(text) != c.n || r.ContentLength != c.length {
				t.Errorf("%q of %d: %v, %q of %d", c.text, c.length, err, text, r.ContentLength)
			}
		}, r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A caller that reads no further ends the handler. What it had begun to read counts as written.
func TestACallerMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type wrote struct {
			n   int
			err error
		}
		got := make(chan wrote, 3)
		answer, err := over(func(w http.ResponseWriter, r *http.Request) {
			for range 2 {
				n, err := io.WriteString(w, "a line\n")
				got <- wrote{n, err}
			}
			<-r.Context().Done()
			got <- wrote{0, context.Cause(r.Context())}
		}, request(t.Context(), nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(answer.Body, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		for _, want := range []wrote{{7, nil}, {0, errGone}, {0, errGone}} {
			if w := <-got; w != want {
				t.Errorf("%v, want %v", w, want)
			}
		}
	})
}

// counting makes bytes and counts them.
type counting struct {
	made atomic.Int64
	left int64
}

func (c *counting) Read(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	if c.left -= n; n == 0 {
		return 0, io.EOF
	}
	c.made.Add(n)
	return int(n), nil
}

// A body goes through to the answer's reader, and never lies in memory: what was made is at most a few pieces ahead.
func TestBodiesAreNotHeld(t *testing.T) {
	t.Parallel()
	const size, most = 8 << 20, 4 * piece
	from := &counting{left: size}
	answer, err := over(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.CopyBuffer(struct{ io.Writer }{w}, r.Body, make([]byte, piece)); err != nil || n != size {
			t.Errorf("copied %d: %v", n, err)
		}
	}, request(t.Context(), from))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	buffer := make([]byte, piece)
	for read := int64(0); ; {
		n, err := answer.Body.Read(buffer)
		read += int64(n)
		if ahead := from.made.Load() - read; ahead > most {
			t.Fatalf("%d bytes lie between", ahead)
		}
		if err == io.EOF {
			if read != size {
				t.Errorf("%d bytes", read)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrailersGoBothWays(t *testing.T) {
	t.Parallel()
	var r *http.Request
	r = request(t.Context(), io.MultiReader(strings.NewReader("text"), atEnd(func() { r.Trailer.Set("X-Sent", "1") })))
	r.Trailer = http.Header{"X-Sent": nil}
	answer, err := over(func(w http.ResponseWriter, r *http.Request) {
		if values, there := r.Trailer["X-Sent"]; !there || values != nil {
			t.Errorf("before the body's end: %v", r.Trailer)
		}
		w.Header().Set("Trailer", "X-Answer")
		if _, err := io.Copy(w, r.Body); err != nil || r.Trailer.Get("X-Sent") != "1" {
			t.Errorf("%v %v", err, r.Trailer)
		}
		w.Header().Set("X-Answer", "2")
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if values, there := answer.Trailer["X-Answer"]; !there || values != nil {
		t.Errorf("before the answer's end: %v", answer.Trailer)
	}
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "text" || answer.Trailer.Get("X-Answer") != "2" {
		t.Errorf("%q %v %v", text, err, answer.Trailer)
	}
}

// atEnd is a source of nothing that does something first.
type atEnd func()

func (f atEnd) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

type key struct{}

// A handler gets the values of the caller's context, and what it does to a request is not the caller's.
func TestARequestIsTheHandlersOwn(t *testing.T) {
	t.Parallel()
	r := request(context.WithValue(t.Context(), key{}, "a person"), nil)
	r.Header.Set("X", "sent")
	answer, err := over(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X", "changed")
		r.URL.Path = "/changed"
		fmt.Fprint(w, r.Context().Value(key{}), r.Host, r.RemoteAddr)
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || string(text) != "a personnowhere.invalid" || r.Header.Get("X") != "sent" || r.URL.Path != "/x" || answer.Request != r {
		t.Errorf("%q %v %v %s", text, err, r.Header, r.URL)
	}
}

// Many requests at once do not meet.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	transport := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), quiet())
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			want := strings.Repeat(fmt.Sprint(i), 50_000)
			answer, err := transport.RoundTrip(request(ctx, strings.NewReader(want)))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = answer.Body.Close() }()
			if i%3 == 0 {
				cancel() // at any moment
			}
			if text, err := io.ReadAll(answer.Body); i%3 != 0 && (err != nil || string(text) != want) || err == nil && string(text) != want {
				t.Errorf("%d: %d bytes, %v", i, len(text), err)
			}
		})
	}
	all.Wait()
}
