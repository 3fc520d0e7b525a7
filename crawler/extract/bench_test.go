package extract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

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

// richPage is page with what pages of a shop or a newspaper have besides: scripts, data, styles, forms, image candidates.
func richPage() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><meta charset=utf-8><title>A page</title><meta property=og:image content=/og.png>")
	b.WriteString("<script>window.dataLayer=window.dataLayer||[];(function(w,d,s,l){var f=d.getElementsByTagName(s)[0],j=d.createElement(s);j.src='https://cdn.test/gtm.js?id='+l;f.parentNode.insertBefore(j,f)})(window,document,'script','x');</script>")
	b.WriteString("<script type=\"application/ld+json\">{\"@context\":\"https://schema.org\",\"@type\":\"Product\",\"image\":[\"http://h.test/p.png\"],\"url\":\"http://h.test/p\"}</script></head><body>\n")
	for i := range 60 {
		fmt.Fprintf(&b, "<div class=\"card card--product js-card\" data-id=\"%d\" data-track='{\"list\":\"home\",\"pos\":%d}' style=\"background-image:url(/bg/%d.png)\">", i, i, i)
		fmt.Fprintf(&b, "<a class=card__link href=\"/product/%d?ref=home&amp;pos=%d\" onclick=\"track('click', %d)\"><img src=\"/img/%d.jpg\" srcset=\"/img/%d-320.jpg 320w, /img/%d-640.jpg 640w\" loading=lazy alt=\"product\"></a>", i, i, i, i, i, i)
		b.WriteString("<p>Some words of text that a page has between its links, with <em>markup</em> in it.</p><form action=/cart method=post><input type=hidden name=id value=1><button>Buy</button></form></div>\n")
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func benchmark(b *testing.B, contentType string, body []byte) {
	x := New()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	links := 0
	for b.Loop() {
		links = len(x.Links(Document{URL: "http://h.test/doc/p", ContentType: contentType, Body: body}).Links)
	}
	if links == 0 {
		b.Fatal("no links")
	}
	b.ReportMetric(float64(links), "links")
}

func BenchmarkHTML(b *testing.B) { benchmark(b, "text/html", page()) }

func BenchmarkRichHTML(b *testing.B) { benchmark(b, "text/html", richPage()) }

func BenchmarkCSS(b *testing.B) {
	var s strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&s, ".card--%d > .title:hover { margin: 0 auto; color: #%06x; transition: opacity .2s ease-in-out }\n", i, i)
		if i%10 == 0 {
			fmt.Fprintf(&s, "/* images */ .icon-%d { background: url(\"../img/icon-%d.svg\") no-repeat }\n", i, i)
		}
	}
	benchmark(b, "text/css", []byte(s.String()))
}

func BenchmarkJS(b *testing.B) {
	var s strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&s, "function f%d(e,t){var n=document.querySelector('.js-item-%d');if(!n||\"undefined\"==typeof t)return null;return n.dataset.x=e+t,n};", i, i)
		if i%20 == 0 {
			fmt.Fprintf(&s, "r.load(\"/static/chunk-%d.js\");", i)
		}
	}
	benchmark(b, "text/javascript", []byte(s.String()))
}

func BenchmarkPDF(b *testing.B) {
	var s bytes.Buffer
	s.WriteString("%PDF-1.7\n")
	noise := deflated(b, bytes.Repeat([]byte("BT /F1 12 Tf (words of a page) Tj ET\n"), 3000))
	for i := range 50 {
		s.WriteString(pdfStream("/Filter /FlateDecode", append(noise, noise...)))
		s.WriteString(pdfStream("/Type /ObjStm /N 100 /First 800 /Filter /FlateDecode", deflated(b, fmt.Appendf(nil, "<< /Type /Annot /A << /S /URI /URI (http://h.test/%d) >> >>%4000d", i, i))))
	}
	benchmark(b, "application/pdf", s.Bytes())
}

func BenchmarkSitemap(b *testing.B) {
	var s strings.Builder
	s.WriteString("<urlset>")
	for i := range 1000 {
		fmt.Fprintf(&s, "<url><loc>http://h.test/page/%d</loc><lastmod>2026-01-01</lastmod></url>\n", i)
	}
	benchmark(b, "text/xml", []byte(s.String()))
}

// BenchmarkHTMLBaseline is the reference tokenizer reading the same tags and attributes, resolving nothing.
func BenchmarkHTMLBaseline(b *testing.B) { tokenize(b, page()) }

// BenchmarkRichHTMLBaseline is the same of the other page.
func BenchmarkRichHTMLBaseline(b *testing.B) { tokenize(b, richPage()) }

func tokenize(b *testing.B, body []byte) {
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
