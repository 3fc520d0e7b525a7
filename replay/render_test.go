package replay

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Pages of each kind are rewritten by their media type, and HEAD answers as GET does.
func TestEachKindIsRewritten(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	kinds := []struct {
		name, mime, body, want string
		bar                    bool
	}{
		{"xhtml", "application/xhtml+xml", `<html><head><script src="/x"/></head><body><a href="/y"/></body></html>`,
			`<script src="/web/20260101000000js_/http://example.com/x"/>`, true},
		{"svg", "image/svg+xml", `<svg><image xlink:href="/y"/></svg>`,
			`<svg><image xlink:href="/web/20260101000000im_/http://example.com/y"/></svg>`, false},
		{"mpd", "application/dash+xml", `<MPD><BaseURL>/v/</BaseURL></MPD>`,
			`<MPD><BaseURL>/web/20260101000000oe_/http://example.com/v/</BaseURL></MPD>`, false},
		{"feed", "application/xml", `<rss><a href="/x"/></rss>`, `<rss><a href="/x"/></rss>`, false},
		{"hls", "application/vnd.apple.mpegurl", "#EXTM3U\n/x.ts\n",
			"#EXTM3U\n/web/20260101000000oe_/http://example.com/x.ts\n", false},
		{"latin", "application/xhtml+xml", "<?xml version='1.0' encoding='iso-8859-1'?><html><body><a href='\xfc'/></body></html>",
			"<a href='/web/20260101000000/http://example.com/%C3%BC'/>", true},
		{"unknown", "", `<html><body><a href="/y">`, `<a href="/web/20260101000000/http://example.com/y">`, true},
		{"text", "text/plain", `<a href="/y">`, `<a href="/y">`, false},
	}
	for _, tt := range kinds {
		head := "HTTP/1.1 200 OK\n"
		if tt.mime != "" {
			head += "Content-Type: " + tt.mime + "\n"
		}
		b.response("20260101000000", "http://example.com/"+tt.name, head, tt.body)
	}
	srv := server(t, s, Config{})
	for _, tt := range kinds {
		path := "/web/20260101000000/http://example.com/" + tt.name
		resp, body := get(t, srv, path)
		if !strings.Contains(body, tt.want) {
			t.Errorf("%s: %q", tt.name, body)
		}
		if bar := strings.Contains(body, "/web/*/"); bar != tt.bar {
			t.Errorf("%s: the bar is there: %t", tt.name, bar)
		}
		head, _ := ask(t, srv, http.MethodHead, path)
		for _, field := range []string{"Content-Type", "Content-Length", "Content-Encoding", "ETag", "Vary"} {
			if got, want := head.Header.Get(field), resp.Header.Get(field); got != want && field != "Content-Length" || got != "" && got != want {
				t.Errorf("%s: HEAD has %s %q, GET %q", tt.name, field, got, want)
			}
		}
	}
}

// A reader who cannot undo a coding gets the content without it; who asks for the stored bytes and says nothing gets them.
func TestCodingsThatAReaderAccepts(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	packed := brotlied("plain words")
	b.response("20260101000000", "http://example.com/x", "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Encoding: br\n", packed)
	b.response("20260101000000", "http://example.com/gz", "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Encoding: x-gzip\n", gzipped("plain words"))
	b.response("20260101000000", "http://example.com/own", "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Encoding: own\n", "own words")
	srv := server(t, s, Config{})
	for _, tt := range []struct {
		modifier, name, accept string
		stored                 bool
	}{
		{"", "x", "br", true}, {"", "x", "gzip, BR;q=0.5", true}, {"", "x", "*", true}, {"", "x", "gzip", false}, {"", "x", "", false},
		{"", "x", "br;q=0", false}, {"", "x", "br;q=0.000, *", false}, {"", "x", "identity", false}, {"id_", "x", "", true}, {"id_", "x", "gzip", false},
		{"id_", "x", "br", true}, {"", "gz", "gzip", true}, {"", "gz", "x-gzip", true}, {"", "gz", "br", false}, {"", "own", "gzip", true}, {"im_", "gz", "", false},
	} {
		var header []string
		if tt.accept != "" {
			header = []string{"Accept-Encoding", tt.accept}
		}
		resp, body := get(t, srv, "/web/20260101000000"+tt.modifier+"/http://example.com/"+tt.name, header...)
		coded := resp.Header.Get("Content-Encoding") != ""
		if coded != tt.stored || !coded && body != "plain words" || coded && body == "plain words" {
			t.Errorf("%+v: %q, %q", tt, resp.Header.Get("Content-Encoding"), body)
		}
		if !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%+v: Vary is %q", tt, resp.Header.Values("Vary"))
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	c := b.response("20260101000000", "http://example.com/v", "HTTP/1.1 200 OK\nContent-Type: video/mp4\n", "0123456789")
	c.Digest = "ABC"
	b.response("20260101000000", "http://example.com/none", "HTTP/1.1 200 OK\nContent-Type: video/mp4\n", "")
	srv := server(t, s, Config{})
	const etag = `"20260101000000-ABC"`
	for _, tt := range []struct {
		asked, condition string
		status           int
		body, span       string
	}{
		{"", "", 200, "0123456789", ""}, {"bytes=0-0", "", 206, "0", "bytes 0-0/10"}, {"bytes=3-", "", 206, "3456789", "bytes 3-9/10"},
		{"bytes=-2", "", 206, "89", "bytes 8-9/10"}, {"bytes=-20", "", 206, "0123456789", "bytes 0-9/10"}, {"bytes=8-99999999999999999999", "", 206, "89", "bytes 8-9/10"},
		{"bytes=10-", "", 416, "", "bytes */10"}, {"bytes=-0", "", 416, "", "bytes */10"}, {"bytes=99999999999999999999-", "", 416, "", "bytes */10"},
		{"bytes=5-3", "", 200, "0123456789", ""}, {"bytes=a-3", "", 200, "0123456789", ""}, {"bytes=0-1,3-4", "", 200, "0123456789", ""},
		{"bytes=-", "", 200, "0123456789", ""}, {"lines=0-1", "", 200, "0123456789", ""}, {"bytes=--1", "", 200, "0123456789", ""},
		{"bytes=1-2", etag, 206, "12", "bytes 1-2/10"}, {"bytes=1-2", `"other"`, 200, "0123456789", ""}, {"bytes=1-2", "W/" + etag, 200, "0123456789", ""},
		{"bytes=1-2", "Thu, 01 Jan 2026 00:00:00 GMT", 200, "0123456789", ""},
	} {
		resp, body := get(t, srv, "/web/20260101000000oe_/http://example.com/v", "Range", tt.asked, "If-Range", tt.condition)
		if resp.StatusCode != tt.status || body != tt.body || resp.Header.Get("Content-Range") != tt.span || resp.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%+v: %d %q %q", tt, resp.StatusCode, body, resp.Header.Get("Content-Range"))
		}
	}
	if resp, _ := get(t, srv, "/web/20260101000000oe_/http://example.com/none", "Range", "bytes=0-"); resp.StatusCode != 416 {
		t.Errorf("a range of nothing: %d", resp.StatusCode)
	}
	for _, condition := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
		resp, body := get(t, srv, "/web/20260101000000id_/http://example.com/v", "If-None-Match", condition)
		if resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag {
			t.Errorf("If-None-Match %s: %d %q", condition, resp.StatusCode, body)
		}
	}
	if resp, body := get(t, srv, "/web/20260101000000id_/http://example.com/v", "If-None-Match", `"x"`); resp.StatusCode != 200 || body != "0123456789" {
		t.Errorf("another tag: %d %q", resp.StatusCode, body)
	}
	resp, body := ask(t, srv, http.MethodHead, "/web/20260101000000oe_/http://example.com/v", "Range", "bytes=1-2")
	if resp.StatusCode != 200 || body != "" || resp.ContentLength != 10 {
		t.Errorf("HEAD: %d %q %d", resp.StatusCode, body, resp.ContentLength)
	}
}

// A range of a record that is damaged before it is no end that looks whole.
func TestARangeOfADamagedRecord(t *testing.T) {
	t.Parallel()
	r := &http.Request{Method: http.MethodGet, Header: http.Header{"Range": {"bytes=5-6"}}}
	if _, _, err := part(discard{}, r, io.LimitReader(strings.NewReader("0123"), 4), 10, ""); err == nil {
		t.Error("four of ten bytes were enough for a range that begins at the fifth")
	}
}

type discard struct{ http.ResponseWriter }

func (discard) Header() http.Header { return http.Header{} }
