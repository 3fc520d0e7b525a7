package warc_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"

	"holdfast/warc"
)

// deflated compresses s raw, or in a zlib wrapper.
func deflated(s string, wrapped bool) string {
	var b bytes.Buffer
	var w io.WriteCloser = zlib.NewWriter(&b)
	if !wrapped {
		raw, err := flate.NewWriter(&b, 6)
		if err != nil {
			panic(err)
		}
		w = raw
	}
	if _, err := io.WriteString(w, s); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// first returns the first record of a file.
func first(t *testing.T, file string) *warc.Record {
	t.Helper()
	r, err := warc.NewReader(strings.NewReader(file), "test.warc")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestContent(t *testing.T) {
	chunked := "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
	packed := member("hello world")
	tests := []struct {
		name, header, body, want string
	}{
		{"plain", "A: b", "hello world", "hello world"},
		{"chunked", "Transfer-Encoding: chunked", chunked, "hello world"},
		{"chunked, bare line ends", "Transfer-Encoding: chunked", strings.ReplaceAll(chunked, "\r", ""), "hello world"},
		{"said to be chunked", "Transfer-Encoding: chunked", "hello world", "hello world"},
		{"gzip", "Content-Encoding: gzip", packed, "hello world"},
		{"said to be gzip", "Content-Encoding: gzip", "hello world", "hello world"},
		{"gzip in chunks", "Content-Encoding: gzip\r\nTransfer-Encoding: chunked", "a\r\n" + packed[:10] + "\r\n" + hex(len(packed)-10) + "\r\n" + packed[10:] + "\r\n0\r\n\r\n", "hello world"},
		{"gzip twice", "Content-Encoding: gzip, gzip", member(packed), "hello world"},
		{"deflate", "Content-Encoding: deflate", deflated("hello world", true), "hello world"},
		{"raw deflate", "Content-Encoding: Deflate", deflated("hello world", false), "hello world"},
		{"zstd", "Content-Encoding: zstd", frame("hello world"), "hello world"},
		{"empty gzip", "Content-Encoding: gzip", "", ""},
		{"empty deflate", "Content-Encoding: deflate", "", ""},
		{"empty zstd", "Content-Encoding: zstd", "", ""},
		{"identity", "Content-Encoding: identity", "hello world", "hello world"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := first(t, record("response", "http://x/", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n"+tt.header+"\r\n\r\n"+tt.body))
			content, err := rec.Content()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(content)
			if closing := content.Close(); err != nil || closing != nil || string(got) != tt.want {
				t.Errorf("content %q, %v, %v, want %q", got, err, closing, tt.want)
			}
		})
	}
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>4], digits[n&15]})
}

func TestContentThatCannotBeDecoded(t *testing.T) {
	tests := []struct {
		name, header, body string
		want               error
	}{
		{"unknown encoding", "Content-Encoding: x-rot13", "uryyb", warc.ErrEncoding},
		{"torn chunk", "Transfer-Encoding: chunked", "5\r\nhe", nil},
		{"no last chunk", "Transfer-Encoding: chunked", "5\r\nhello\r\n", nil},
		{"bad second chunk", "Transfer-Encoding: chunked", "5\r\nhello\r\nxyz\r\n", nil},
		{"torn gzip", "Content-Encoding: gzip", member("hello world")[:20], io.ErrUnexpectedEOF},
		{"damaged deflate", "Content-Encoding: deflate", "\xff\xff\xff\xff\xff", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := first(t, record("response", "http://x/", "application/http", "HTTP/1.1 200 OK\r\n"+tt.header+"\r\n\r\n"+tt.body))
			content, err := rec.Content()
			if err == nil {
				_, err = io.ReadAll(content)
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
			if errors.Is(tt.want, warc.ErrEncoding) {
				if raw, err := io.ReadAll(rec.Block); string(raw) != tt.body || err != nil {
					t.Errorf("the payload as recorded: %q, %v", raw, err)
				}
			}
		})
	}
}

func TestHTTP(t *testing.T) {
	tests := []struct {
		name, kind, block string
		status            int
		method, uri, body string
		err               error
	}{
		{name: "response", kind: "response", block: "HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nbody", status: 404, body: "body"},
		{name: "no reason", kind: "response", block: "HTTP/1.0 302 \r\nA: b\r\n\r\n", status: 302},
		{name: "no header", kind: "response", block: "HTTP/1.1 200\r\n\r\nx", status: 200, body: "x"},
		{name: "bare line ends", kind: "response", block: "HTTP/1.1 200 OK\nA: b\n\nx", status: 200, body: "x"},
		{name: "no end", kind: "response", block: "HTTP/1.1 200 OK\r\nA: b", status: 200},
		{name: "HTTP/2", kind: "response", block: "HTTP/2 200\r\na: b\r\n\r\n", status: 200},
		{name: "request", kind: "request", block: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", method: "GET", uri: "/a"},
		{name: "request with spaces", kind: "request", block: "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", method: "GET", uri: "/a b"},
		{name: "not HTTP", kind: "response", block: "<html>\r\n\r\n", err: warc.ErrHTTP},
		{name: "status of four digits", kind: "response", block: "HTTP/1.1 2000 OK\r\n\r\n", err: warc.ErrHTTP},
		{name: "empty", kind: "response", block: "\r\n\r\n", err: warc.ErrHTTP},
		{name: "long line", kind: "response", block: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 400<<10) + "\r\n\r\nbody", status: 200, body: "body"},
		{name: "many lines", kind: "response", block: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 50_000) + "\r\nbody", status: 200, body: "body"},
		{name: "endless line", kind: "response", block: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20), err: warc.ErrLimit},
		{name: "endless header", kind: "response", block: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 1<<17), err: warc.ErrLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := first(t, record(tt.kind, "http://x/", "application/http; msgtype="+tt.kind, tt.block))
			head, err := rec.HTTP()
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			body, err := io.ReadAll(rec.Block)
			if err != nil || string(body) != tt.body || head.Raw+tt.body != tt.block {
				t.Errorf("body %q, head %q, %v", body, head.Raw, err)
			}
			if head.Status != tt.status || head.Method != tt.method || head.URI != tt.uri {
				t.Errorf("head %+v", head)
			}
		})
	}
}
