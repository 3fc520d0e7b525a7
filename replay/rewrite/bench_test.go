package rewrite

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"
)

// benchPage is a page as they are: much text, a link every 200 bytes.
func benchPage(b *testing.B) []byte {
	page, err := os.ReadFile("testdata/page.html")
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	out.Write(page)
	for i := range 500 {
		fmt.Fprintf(&out, "<p class=\"text\">%s <a href=\"../dir/page-%d.html\" title='x'>more</a> <b>bold</b></p>\n", strings.Repeat("words ", 25), i)
	}
	return out.Bytes()
}

func BenchmarkHTML(b *testing.B) {
	page := benchPage(b)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if err := HTML(io.Discard, bytes.NewReader(page), testLinks(), Page{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHTMLBaseline only reads the page's tokens.
func BenchmarkHTMLBaseline(b *testing.B) {
	page := benchPage(b)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		z := xhtml.NewTokenizer(bytes.NewReader(page))
		for kind := z.Next(); kind != xhtml.ErrorToken; kind = z.Next() {
			if name, more := z.TagName(); kind == xhtml.StartTagToken && len(name) > 0 {
				for more {
					_, _, more = z.TagAttr()
				}
			}
		}
	}
}
