package replay

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"testing"

	"holdfast/access"
	"holdfast/cdx"
)

func TestNearestCapture(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", "<p>January</p>")
	b.html("20260301000000", "http://example.com/", "<p>March</p>")
	srv := server(t, s, Config{})
	for _, tt := range []struct{ path, want string }{
		{"/web/20260110/http://example.com/", "/web/20260101000000/http://example.com/"},
		{"/web/20260210/http://example.com/", "/web/20260301000000/http://example.com/"},
		{"/web/2030/example.com", "/web/20260301000000/http://example.com/"},
		{"/web/20260101000000/http:/example.com/", ""},
		{"/web/http://example.com/", "/web/20260301000000/http://example.com/"},
		{"/web/mp_/http://example.com/", "/web/20260301000000mp_/http://example.com/"},
		{"/web/20260101000000/https://www.example.com/", "/web/20260101000000/http://example.com/"},
	} {
		resp, body := get(t, srv, tt.path)
		if got := resp.Header.Get("Location"); got != tt.want {
			t.Errorf("%s leads to %q, want %q", tt.path, got, tt.want)
		}
		if tt.want == "" && (resp.StatusCode != 200 || !strings.Contains(body, "January")) {
			t.Errorf("%s: %d %q", tt.path, resp.StatusCode, body)
		}
	}
	resp, body := get(t, srv, "/web/20260210im_/http://example.com/")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Location") != "/web/20260301000000im_/http://example.com/" || !strings.Contains(body, "March") {
		t.Errorf("embedded: %d %q %q", resp.StatusCode, resp.Header.Get("Content-Location"), body)
	}
}

func TestMementoHeaders(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.response("20260101000000", "http://example.com/", "HTTP/1.1 200 OK\nContent-Type: text/html\nSet-Cookie: id=1\nX-Odd: yes\n", "<p>hello</p>")
	srv := server(t, s, Config{})
	resp, _ := get(t, srv, "/web/20260101000000/http://example.com/")
	host := srv.URL
	for name, want := range map[string]string{
		"Memento-Datetime": "Thu, 01 Jan 2026 00:00:00 GMT",
		"Link": `<http://example.com/>; rel="original", <` + host + `/web/http://example.com/>; rel="timegate", <` + host +
			`/timemap/link/http://example.com/>; rel="timemap"; type="application/link-format", <` + host +
			`/web/20260101000000/http://example.com/>; rel="memento"; datetime="Thu, 01 Jan 2026 00:00:00 GMT"`,
		"X-Archive-Orig-Set-Cookie":   "id=1",
		"X-Archive-Orig-X-Odd":        "yes",
		"X-Archive-Orig-Content-Type": "text/html",
		"Set-Cookie":                  "",
		"Content-Location":            "/web/20260101000000/http://example.com/",
		"Content-Security-Policy":     policy,
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	resp, _ = get(t, srv, "/web/http://example.com/", "Accept-Datetime", "Fri, 02 Jan 2026 00:00:00 GMT")
	if resp.StatusCode != 302 || !strings.Contains(resp.Header.Get("Vary"), "Accept-Datetime") {
		t.Errorf("time gate: %d, Vary %q", resp.StatusCode, resp.Header.Get("Vary"))
	}
	if resp, _ = get(t, srv, "/web/http://example.com/", "Accept-Datetime", "soon"); resp.StatusCode != 400 {
		t.Errorf("bad date: %d", resp.StatusCode)
	}
}

// What the server sent comes back byte for byte, in whatever coding.
func TestIdentity(t *testing.T) {
	t.Parallel()
	page := `<a href="/x">link</a>` + strings.Repeat("\x00\xff binary ", 3000)
	chunk := "5\r\n" + page[:5] + "\r\n" + "7;ext=1\r\n" + page[5:12] + "\r\n0\r\nTrailer: x\r\n\r\n"
	s, b := newShelf()
	b.response("20260101000000", "http://example.com/plain", "HTTP/1.1 200 OK\nContent-Type: text/html\n", page)
	b.response("20260101000000", "http://example.com/gzip", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: gzip\n", gzipped(page))
	b.response("20260101000000", "http://example.com/chunked", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", chunk)
	b.response("20260101000000", "http://example.com/notchunked", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", page)
	b.response("20260101000000", "http://example.com/empty", "HTTP/1.1 200 OK\n", "")
	b.response("20260101000000", "http://example.com/404", "HTTP/1.1 404 Gone Away\nContent-Type: text/html\n", "none")
	b.response("20260101000000", "http://example.com/204", "HTTP/1.1 204 No Content\n", "")
	b.record("resource", "20260101000000", "ftp://example.com/file", "Content-Type: text/plain", page)
	b.record("response", "20260101000000", "dns:example.com", "Content-Type: text/dns", "20260101000000\nexample.com. 60 IN A 1.2.3.4\n")
	srv := server(t, s, Config{})
	for _, tt := range []struct {
		url, want, encoding string
		status              int
	}{
		{"http://example.com/plain", page, "", 200},
		{"http://example.com/gzip", gzipped(page), "gzip", 200},
		{"http://example.com/chunked", page[:12], "", 200},
		{"http://example.com/notchunked", page, "", 200},
		{"http://example.com/empty", "", "", 200},
		{"http://example.com/404", "none", "", 404},
		{"http://example.com/204", "", "", 204},
		{"ftp://example.com/file", page, "", 200},
		{"dns:example.com", "20260101000000\nexample.com. 60 IN A 1.2.3.4\n", "", 200},
	} {
		resp, body := get(t, srv, "/web/20260101000000id_/"+tt.url)
		if resp.StatusCode != tt.status || sha256.Sum256([]byte(body)) != sha256.Sum256([]byte(tt.want)) {
			t.Errorf("%s: %d, %d bytes, want %d, %d bytes", tt.url, resp.StatusCode, len(body), tt.status, len(tt.want))
		}
		if got := resp.Header.Get("Content-Encoding"); got != tt.encoding {
			t.Errorf("%s: encoding %q", tt.url, got)
		}
	}
}

// A client that prefers the original gets the stored bytes at a page's own address, and caches can tell them apart from
// the page.
func TestTheOriginalIsPreferred(t *testing.T) {
	t.Parallel()
	const page = `<html><body><a href="http://example.com/b">b</a></body></html>`
	s, b := newShelf()
	b.response("20260101000000", "http://example.com/a", "HTTP/1.1 200 OK\nContent-Type: text/html\n", page)
	srv := server(t, s, Config{})
	for _, tt := range []struct {
		modifier, prefer string
		original, varies bool
	}{
		{"", "", false, true}, {"", "original-content", true, true}, {"", "raw", true, true}, {"", "respond-async", false, true},
		{"mp_", "original-content", true, true}, {"id_", "", true, false}, {"id_", "original-content", true, false},
	} {
		resp, body := get(t, srv, "/web/20260101000000"+tt.modifier+"/http://example.com/a", "Prefer", tt.prefer)
		if (body == page) != tt.original {
			t.Errorf("%+v: %s", tt, body)
		}
		if got := strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Prefer"); got != tt.varies {
			t.Errorf("%+v: Vary %q", tt, resp.Header.Values("Vary"))
		}
		applied := resp.Header.Get("Preference-Applied") == "original-content"
		if want := tt.original && tt.prefer != ""; applied != want {
			t.Errorf("%+v: Preference-Applied %q", tt, resp.Header.Get("Preference-Applied"))
		}
	}
}

func TestRevisits(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	const digest = "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
	head := "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Encoding: gzip\nX-Time: first\n"
	b.response("20260101000000", "http://example.com/a", head, gzipped("the content")).Digest = digest
	b.response("20260101000000", "http://example.com/etag", "HTTP/1.1 200 OK\nContent-Type: text/plain\n", "stays")
	revisit := func(timestamp, url, extra, block, digest string, refers cdx.Refers) {
		c := b.record("revisit", timestamp, url, "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\n"+extra, block)
		c.MIME, c.Status, c.Digest, c.Refers = cdx.RevisitMIME, 0, digest, refers
	}
	http200 := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 999\r\nX-Time: second\r\n\r\n"
	message := "Content-Type: application/http;msgtype=response"
	revisit("20260201000000", "http://example.com/a", message, http200, digest, cdx.Refers{URL: "http://example.com/a", Timestamp: "20260101000000"})
	revisit("20260301000000", "http://example.com/a", "", "", digest, cdx.Refers{})
	revisit("20260401000000", "http://other.example/copy", message, http200, digest, cdx.Refers{})
	revisit("20260201000000", "http://example.com/etag", message, "HTTP/1.1 304 Not Modified\r\n\r\n", "", cdx.Refers{URL: "http://example.com/etag"})
	revisit("20260201000000", "http://example.com/lost", message, http200, "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", cdx.Refers{})
	srv := server(t, s, Config{})
	for _, tt := range []struct{ path, body, encoding, orig string }{
		{"/web/20260201000000id_/http://example.com/a", gzipped("the content"), "gzip", "second"},
		{"/web/20260301000000id_/http://example.com/a", gzipped("the content"), "gzip", "first"},
		{"/web/20260401000000id_/http://other.example/copy", gzipped("the content"), "gzip", "second"},
		{"/web/20260201000000id_/http://example.com/etag", "stays", "", ""},
	} {
		resp, body := get(t, srv, tt.path)
		if resp.StatusCode != 200 || body != tt.body || resp.Header.Get("Content-Encoding") != tt.encoding || resp.Header.Get("X-Archive-Orig-X-Time") != tt.orig {
			t.Errorf("%s: %d %q %v", tt.path, resp.StatusCode, body, resp.Header)
		}
	}
	if resp, _ := get(t, srv, "/web/20260201000000id_/http://example.com/lost"); resp.StatusCode != 404 {
		t.Errorf("a revisit of nothing: %d", resp.StatusCode)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	c := b.response("20260101000000", "http://example.com/", "HTTP/1.1 301 Moved\nLocation: https://www.example.com/\n", "")
	c.Redirect, c.Status = "https://www.example.com/", 301
	b.html("20260101000005", "https://www.example.com/", "<p>here</p>")
	c = b.response("20260101000000", "http://example.com/old", "HTTP/1.1 302 Found\nLocation: ../new?a=1\n", "")
	c.Redirect, c.Status = "http://example.com/new?a=1", 302
	srv := server(t, s, Config{})
	resp, _ := get(t, srv, "/web/20260101000000/http://example.com/")
	if got := resp.Header.Get("Location"); got != "/web/20260101000005/https://www.example.com/" {
		t.Errorf("a redirect to its own key leads to %q", got)
	}
	resp, _ = get(t, srv, "/web/20260101000000/http://example.com/old")
	if got := resp.Header.Get("Location"); resp.StatusCode != 302 || got != "/web/20260101000000/http://example.com/new?a=1" {
		t.Errorf("%d to %q", resp.StatusCode, got)
	}
	resp, _ = get(t, srv, "/web/20260101000000id_/http://example.com/")
	if resp.StatusCode != 301 {
		t.Errorf("id_ of a redirect: %d", resp.StatusCode)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", "open")
	b.html("20260101000000", "http://example.com/blocked", "secret")
	b.html("20260101000000", "http://example.com/hidden", "secret")
	rules := access.Policy{Rules: []access.Rule{
		{Prefix: "com,example)/blocked", Access: access.Block, Message: "By court order."},
		{Prefix: "com,example)/hidden", Access: access.Exclude},
	}}
	srv := server(t, s, Config{Policy: inForce(rules)})
	for _, tt := range []struct {
		path   string
		status int
		text   string
	}{
		{"/web/20260101000000id_/http://example.com/", 200, "open"},
		{"/web/20260101000000id_/http://example.com/blocked", 451, "By court order."},
		{"/web/20260101000000id_/http://example.com/hidden", 404, "no capture"},
		{"/web/*/http://example.com/blocked", 200, "may not be shown"},
		{"/web/*/http://example.com/hidden", 404, "no capture"},
	} {
		resp, body := get(t, srv, tt.path)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.text) || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %q", tt.path, resp.StatusCode, body)
		}
	}
	_, body := get(t, srv, "/cdx?url=example.com&matchType=host")
	if strings.Contains(body, "hidden") || !strings.Contains(body, "blocked") {
		t.Errorf("CDX shows %q", body)
	}
	_, body = get(t, srv, "/web/20260101000000/http://example.com/none")
	if strings.Contains(body, "com/hidden") {
		t.Error("the suggestions name an excluded page")
	}
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/a/b", "near")
	lost := b.html("20260201000000", "http://example.com/a/b", "lost")
	lost.File = "gone.warc.gz"
	srv := server(t, s, Config{})
	resp, _ := get(t, srv, "/web/20260201000000/http://example.com/a/b")
	if got := resp.Header.Get("Location"); got != "/web/20260101000000/http://example.com/a/b" {
		t.Errorf("an unreadable capture leads to %q, want the next nearest", got)
	}
	resp, body := get(t, srv, "/web/2026/http://example.com/a/c")
	if resp.StatusCode != 404 || !strings.Contains(body, "http://example.com/a/b") {
		t.Errorf("not found without what is near: %d %s", resp.StatusCode, body)
	}
	for path, want := range map[string]int{
		"/web/2026/http://": 400, "/nothing": 404, "/web/2026/http://example.com:99999/": 400, "/timemap/xml/http://example.com/": 404,
		"/timemap/link/http://none.example/": 404, "/web/": 302, "/web": 302, "/cdx": 400, "/cdx?url=x.com&filter=~mime:(": 400, "/cdx?url=x.com&limit=-1": 400,
	} {
		if resp, _ := get(t, srv, path); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	resp, err := http.Post(srv.URL+"/web/2026/http://example.com/a/b", "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", resp, err)
	}
	resp.Body.Close()
	s.missing = []int{1, 2, 3}
	resp, body = get(t, srv, "/web/*/http://example.com/a/b")
	if !strings.Contains(body, "3 of 4,096 shards") {
		t.Errorf("calendar does not say that it is incomplete: %d", resp.StatusCode)
	}
	if resp, _ = get(t, srv, "/web/20260101000000/http://example.com/a/b"); resp.Header.Get("X-Archive-Incomplete") == "" {
		t.Error("replay does not say that the index is incomplete")
	}
	s.broken = errors.New("index is closed")
	for _, path := range []string{"/web/2026/http://example.com/a/b", "/web/*/http://example.com/a/b", "/cdx?url=example.com"} {
		if resp, _ := get(t, srv, path); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s with a broken index: %d", path, resp.StatusCode)
		}
	}
}

func TestStrayRequestFollowsItsPage(t *testing.T) {
	t.Parallel()
	s, _ := newShelf()
	srv := server(t, s, Config{})
	resp, _ := get(t, srv, "/img/logo.png?v=1", "Referer", srv.URL+"/web/20260101000000/http://example.com/dir/page.html")
	if got := resp.Header.Get("Location"); got != "/web/20260101000000/http://example.com/img/logo.png?v=1" {
		t.Errorf("leads to %q", got)
	}
	resp, _ = get(t, srv, "/img/logo.png", "Referer", "http://elsewhere.example/web/20260101000000/http://example.com/")
	if resp.StatusCode != 404 {
		t.Errorf("a stranger's page: %d", resp.StatusCode)
	}
}
