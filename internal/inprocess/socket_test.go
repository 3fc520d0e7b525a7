package inprocess

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// quiet logs nothing.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

var epoch = time.Unix(1e9, 0)

// sees answers with what a handler sees of a request.
func sees(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	trailer := map[string][]string(r.Trailer)
	fmt.Fprintln(w, r.Method, r.URL, r.RequestURI, r.URL.RawPath, r.URL.Query(), r.Proto, r.ContentLength, len(body), err,
		r.Header["X-Sent"], r.Header.Get("Authorization"), r.Header.Get("Expect"), trailer, r.TLS == nil, r.Form)
}

// What a handler and a caller see is the same as over a socket.
func TestAsOverASocket(t *testing.T) {
	t.Parallel()
	const method, path = http.MethodGet, "/"
	for what, c := range map[string]struct {
		method, path string
		body         string
		length       int64 // of the body, as it is declared
		header       http.Header
		answer       http.HandlerFunc
	}{
		"a request":           {method: method, path: "/files/a%2Fb%20c?x=1&x=%26", answer: sees},
		"no path":             {method: method, answer: sees},
		"two slashes":         {method: method, path: "//host/x", answer: sees},
		"a body":              {method: http.MethodPut, path: path, body: "some bytes", length: 10, answer: sees},
		"a body without size": {method: http.MethodPut, path: path, body: strings.Repeat("x", 100_000), length: -1, answer: sees},
		"fields of a header": {method: http.MethodPost, path: path, header: http.Header{"X-Sent": {"a", "b"}, "Authorization": {"Bearer x"}},
			answer: sees},
		"it expects to be asked for the body": {method: http.MethodPut, path: path, body: "x", length: 1,
			header: http.Header{"Expect": {"100-continue"}}, answer: sees},
		"nothing": {method: method, path: path, answer: func(http.ResponseWriter, *http.Request) {}},
		"a status": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
		}},
		"a hint before the status": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
		}},
		"a header that comes too late": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Answer", "early")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Answer", "late")
			_, _ = io.WriteString(w, "text")
		}},
		"a guessed type": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html><p>page")
		}},
		"a length": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "four")
		}},
		"a length that is none": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "four")
			_, _ = io.WriteString(w, "four")
		}},
		"more than the length": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "four")
			n, err := io.WriteString(w, "!")
			w.Header().Set("X-Wrote", fmt.Sprint(n, err))
		}},
		"less than the length": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "four")
		}},
		"the header alone": {method: http.MethodHead, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			_, err := io.WriteString(w, "the body")
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}},
		"no content": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
				panic(http.ErrAbortHandler)
			}
		}},
		"a part of a file": {method: method, path: path, header: http.Header{"Range": {"bytes=3-5"}},
			answer: func(w http.ResponseWriter, r *http.Request) {
				http.ServeContent(w, r, "a.txt", epoch, strings.NewReader("0123456789"))
			}},
		"a trailer": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum, X-None")
			_, _ = io.WriteString(w, "text")
			w.Header().Set("X-Sum", "7")
			w.Header().Set(http.TrailerPrefix+"X-More", "8")
			w.Header().Set("X-Other", "9")
		}},
		"it breaks off after bytes": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of it")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		"it breaks off before them": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		}},
		"its goroutine ends": {method: method, path: path, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of it")
			w.(http.Flusher).Flush()
			defer func() { _ = recover() }()
			goexit(w)
		}},
		"a name of a page that is elsewhere": {method: method, path: "/a/../b", answer: http.NewServeMux().ServeHTTP},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.answer)
			defer server.Close()
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			ask := func(over http.RoundTripper) string {
				r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.body != "" {
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(c.body)), c.length
				}
				maps.Copy(r.Header, c.header)
				return seen(over.RoundTrip(r))
			}
			socket := &http.Transport{DisableCompression: true}
			defer socket.CloseIdleConnections()
			if inside, outside := ask(New(c.answer, quiet())), ask(socket); inside != outside {
				t.Errorf("in the process:\n%s\nover a socket:\n%s", inside, outside)
			}
		})
	}
}

// goexit is what a panic of another kind comes to: over a socket, only panics break an answer off.
func goexit(w http.ResponseWriter) {
	if _, ours := w.(*answer); ours {
		runtime.Goexit()
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// seen is what a caller sees of an answer.
func seen(answer *http.Response, err error) string {
	if err != nil {
		return "no answer"
	}
	defer answer.Body.Close()
	names := slices.Sorted(maps.Keys(answer.Trailer))
	body, err := io.ReadAll(answer.Body)
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n%q broken %t\n", answer.Proto, answer.Status, body, err != nil)
	header := answer.Header.Clone()
	for _, ofSocket := range []string{"Date", "Content-Length", "Connection"} {
		header.Del(ofSocket)
	}
	fmt.Fprintln(&out, header, names, answer.Trailer)
	return out.String()
}
