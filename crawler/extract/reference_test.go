package extract

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/html"
)

func resolveSlowly(base, ref string) (string, bool) {
	u, err := whatwg.ParseRef(base, ref)
	if err != nil {
		return "", false
	}
	return u.Href(true), true
}

func checkSeen(t *testing.T, x *Extractor, ref string) {
	t.Helper()
	r := trim([]byte(ref))
	if len(r) == 0 || r[0] == '#' || len(r) > maxURL {
		return
	}
	if _, ok := x.refs[maphash.Bytes(x.seed, r)]; !ok {
		t.Fatalf("href %q was not seen", ref)
	}
}

// page is a document of about 20 kB as documentation sites have them: menus, text, a few images.
func page() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>A page</title><link rel=stylesheet href=\"../_static/style.css\"><script src=\"../_static/s.js\"></script></head><body>\n")
	for i := range 90 {
		fmt.Fprintf(&b, "<li class=\"toctree-l1 item\" id=\"i%d\"><a class=\"reference internal\" href=\"section-%d.html#part\">Section number %d</a></li>\n", i, i, i)
		if i%3 == 0 {
			b.WriteString("<p>Some words of text that a page has between its links, with <em>markup</em> and <code class=\"docutils literal\">code</code> in it.</p>\n")
		}
	}
	b.WriteString("<img src=\"../_images/figure.png\" alt=\"a figure\"></body></html>")
	return []byte(b.String())
}

func BenchmarkHTML(b *testing.B) {
	body := page()
	x := New()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		x.Links(Document{URL: "http://h.test/doc/p.html", ContentType: "text/html", Body: body})
	}
}

// BenchmarkHTMLBaseline is the reference tokenizer reading the same tags and attributes, resolving nothing.
func BenchmarkHTMLBaseline(b *testing.B) {
	body := page()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		z := html.NewTokenizer(bytes.NewReader(body))
		for z.Next() != html.ErrorToken {
			_, more := z.TagName()
			for more {
				_, _, more = z.TagAttr()
			}
		}
	}
}
