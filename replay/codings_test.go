package replay

import (
	"bytes"
	"compress/zlib"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func brotlied(s string) string {
	var b bytes.Buffer
	z := brotli.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func zstded(s string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(z.EncodeAll([]byte(s), nil))
}

func TestPagesInUTF16(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	utf16 := "\xff\xfe"
	for _, c := range []byte(`<html><body><a href="/x">y</a></body></html>`) {
		utf16 += string([]byte{c, 0})
	}
	b.response("20260101000000", "http://example.com/", "HTTP/1.1 200 OK\nContent-Type: text/html\n", utf16)
	srv := server(t, s, Config{NoBanner: true})
	resp, body := get(t, srv, "/web/20260101000000/http://example.com/")
	if !strings.Contains(body, `<a href="/web/20260101000000/http://example.com/x">`) || !strings.Contains(resp.Header.Get("Content-Type"), "utf-8") {
		t.Errorf("UTF-16: %q %q", resp.Header.Get("Content-Type"), body)
	}
}

func TestPackedPagesAreRewritten(t *testing.T) {
	t.Parallel()
	page := `<html><body><a href="/x">y</a></body></html>`
	s, b := newShelf()
	packed := map[string]string{"gzip": gzipped(page), "deflate": deflated(page), "br": brotlied(page), "zstd": zstded(page),
		"gzip, gzip": gzipped(gzipped(page)), "identity": page, "GZIP": page}
	for encoding, body := range packed {
		b.response("20260101000000", "http://example.com/?"+encoding, "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: "+encoding+"\n", body)
	}
	b.response("20260101000000", "http://example.com/?compress", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: compress\n", "unknown")
	bomb := gzipped(strings.Repeat("<p>", 1<<20))
	b.response("20260101000000", "http://example.com/?bomb", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: gzip\n", bomb)
	srv := server(t, s, Config{NoBanner: true, MaxDecoded: 1 << 20})
	for encoding := range packed {
		path := "/web/20260101000000/http://example.com/?" + strings.ReplaceAll(encoding, " ", "%20")
		resp, body := get(t, srv, path, "Accept-Encoding", "gzip")
		if resp.StatusCode == 302 {
			resp, body = get(t, srv, resp.Header.Get("Location"))
		}
		if !strings.Contains(body, `href="/web/20260101000000/http://example.com/x"`) || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %q", encoding, resp.StatusCode, body)
		}
	}
	resp, body := get(t, srv, "/web/20260101000000/http://example.com/?compress")
	if body != "unknown" || resp.Header.Get("Content-Encoding") != "compress" {
		t.Errorf("unknown coding: %q", body)
	}
	if _, body, err := fetch(t, srv, http.MethodGet, "/web/20260101000000/http://example.com/?bomb"); len(body) > 1<<20 || err == nil {
		t.Errorf("a bomb unpacked to %d bytes, with a clean end: %t", len(body), err == nil)
	}
}
