package replay

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

var update = flag.Bool("update", false, "rewrite golden files")

func testLinks() *links {
	return &links{timestamp: "20260101000000", base: "http://example.com/start/index.html"}
}

func rewriteHTML(t testing.TB, page, banner string) string {
	t.Helper()
	var b bytes.Buffer
	h := &htmlRewriter{out: &b, links: testLinks(), banner: banner}
	if err := h.run(strings.NewReader(page)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageWithEveryConstruct(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/page.html")
	if err != nil {
		t.Fatal(err)
	}
	got := rewriteHTML(t, string(page), "<div>banner</div>")
	if *update {
		if err := os.WriteFile("testdata/page.golden.html", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/page.golden.html")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Errorf("line %d\ngot  %s\nwant %s", i+1, gotLines[i], wantLines[i])
			}
		}
	}
}

func TestSingleAttributes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing to do", `<p class="x">text &amp; <b>bold</b>`, ""},
		{"unquoted, slash", `<img src=a/>`, `<img src="/web/20260101000000im_/http://example.com/start/a/">`},
		{"quote in value", `<a href='a"b'>`, `<a href='/web/20260101000000/http://example.com/start/a%22b'>`},
		{"no name", `<a ="x" href=y>`, `<a ="x" href="/web/20260101000000/http://example.com/start/y">`},
		{"duplicate attributes", `<a href=x href=y>`, `<a href="/web/20260101000000/http://example.com/start/x" href="/web/20260101000000/http://example.com/start/y">`},
		{"newlines", "<a\nhref\n=\n'x'\n>", "<a\nhref='/web/20260101000000/http://example.com/start/x'\n>"},
		{"policy by meta", `<meta http-equiv=content-security-policy content="x">`, `<meta data-archived-http-equiv="content-security-policy" content="x">`},
		{"other meta", `<meta http-equiv=content-type content="text/html">`, ""},
		{"refresh without URL", `<meta http-equiv=refresh content=30>`, ""},
		{"open tag at the end", `text <a href="x`, ""},
		{"unknown scheme", `<a href="foo:bar">`, ""},
		{"bad URL", `<a href="http://[::">`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.in
			}
			if got := rewriteHTML(t, tt.in, ""); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Bytes of another charset pass, and a link's letters become what a browser would ask for.
func TestCharsets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ charset, in, want string }{
		{"windows-1252", "<p>gr\xfc\xdfe</p><a href=\"\xfc?q=\xfc\">\xfc</a>",
			"<p>gr\xfc\xdfe</p><a href=\"/web/20260101000000/http://example.com/start/%C3%BC?q=%FC\">\xfc</a>"},
		{"shift_jis", "<p>\x83\x5c\x83\x7c</p><a href=\"a\x83\x5c\">", "<p>\x83\x5c\x83\x7c</p><a href=\"/web/20260101000000/http://example.com/start/a%E3%82%BD\">"},
	} {
		t.Run(tt.charset, func(t *testing.T) {
			enc, _ := charset.Lookup(tt.charset)
			var b bytes.Buffer
			h := &htmlRewriter{out: &b, links: testLinks(), charset: enc}
			if err := h.run(strings.NewReader(tt.in)); err != nil || b.String() != tt.want {
				t.Errorf("got  %q, %v\nwant %q", b.String(), err, tt.want)
			}
		})
	}
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

func TestTokensTooLongPass(t *testing.T) {
	t.Parallel()
	page := `<a href="/x">` + "<script>" + strings.Repeat("x", maxToken+1000) + `</script><a href="/y">end`
	want := strings.Replace(page, `"/x"`, `"/web/20260101000000/http://example.com/x"`, 1)
	if got := rewriteHTML(t, page, ""); got != want {
		t.Errorf("%d bytes became %d", len(page), len(got))
	}
}

// Whatever the page, nothing but references may change: with those taken away
// from both, in and out are the same.
func FuzzHTML(f *testing.F) {
	page, err := os.ReadFile("testdata/page.html")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page)
	for _, s := range []string{`<a href=x/>`, `<a href="`, `<style>@import`, `<!--`, "<a\x00href=\xff>", `<iframe srcdoc="<iframe srcdoc='<a href=x>'>">`, `<p title='<a href="x">'>`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		var b bytes.Buffer
		h := &htmlRewriter{out: &b, links: testLinks()}
		if err := h.run(bytes.NewReader(page)); err != nil {
			t.Fatal(err)
		}
		if !bytes.ContainsAny(page, "=@(") && !bytes.Equal(b.Bytes(), page) {
			t.Fatalf("%q became %q", page, b.Bytes())
		}
		// A page without a base that can be resolved against stays as it is.
		b.Reset()
		h = &htmlRewriter{out: &b, links: &links{base: "nowhere:"}}
		if err := h.run(bytes.NewReader(page)); err != nil {
			t.Fatal(err)
		}
		if plain := !bytes.Contains(page, []byte(":")) && !hasNeutralised(page); plain && !bytes.Equal(b.Bytes(), page) {
			t.Fatalf("%q became %q", page, b.Bytes())
		}
	})
}

// hasNeutralised reports whether attributes may have been renamed, or text escaped again.
func hasNeutralised(page []byte) bool {
	lower := bytes.ToLower(page)
	for _, s := range []string{"integrity", "ping", "manifest", "http-equiv", "&#58", "&colon", "&#x3a", "\\"} {
		if bytes.Contains(lower, []byte(s)) {
			return true
		}
	}
	return false
}
