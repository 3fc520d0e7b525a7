package extract

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func found(t *testing.T, doc Document) []string {
	t.Helper()
	var out []string
	for _, l := range New().Links(doc).Links {
		out = append(out, string(l.Hop)+" "+strings.TrimPrefix(l.URL, "http://h.test"))
	}
	return out
}

func TestHTMLLinks(t *testing.T) {
	tests := []struct {
		name, html string
		want       []string
	}{
		{"a", `<a href="x.html">`, []string{"L /d/x.html"}},
		{"unquoted, capitals", `<A HREF=x.html>`, []string{"L /d/x.html"}},
		{"single quotes, spaces", `<a  href = ' x.html ' >`, []string{"L /d/x.html"}},
		{"fragment only", `<a href="#top">`, nil},
		{"fragment cut", `<a href="x#top"><a href="x">`, []string{"L /d/x"}},
		{"parent", `<a href="../../../y">`, []string{"L /y"}},
		{"inner dots", `<a href="a/../b/./c">`, []string{"L /d/b/c"}},
		{"other scheme", `<a href="mailto:a@b"><a href="javascript:x()"><a href="data:,x">`, nil},
		{"scheme relative", `<a href="//o.test/z">`, []string{"L http://o.test/z"}},
		{"query only", `<a href="?q=1">`, []string{"L /d/p.html?q=1"}},
		{"spaces and accents", `<a href="a b é">`, []string{"L /d/a%20b%20%C3%A9"}},
		{"entities", `<a href="?a=1&amp;b=2&copy=3&#x41;">`, []string{"L /d/p.html?a=1&b=2&copy=3A"}},
		{"img", `<img src=i.png srcset="i1.png 1x, i2.png 2x,i3.png" data-src=l.png>`, []string{"E /d/i.png", "E /d/i1.png", "E /d/i2.png", "E /d/i3.png", "E /d/l.png"}},
		{"embed outranks link", `<a href=i.png><img src=i.png></a>`, []string{"E /d/i.png"}},
		{"base", `<base href="/o/"><a href=x><base href="/z/"><a href=y>`, []string{"L /o/x", "L /o/y"}},
		{"link and script", `<link rel=stylesheet href=s.css><script src=j.js>"<a href=no>"</script><a href=yes>`, []string{"E /d/s.css", "E /d/j.js", "L /d/yes"}},
		{"link to another page", `<link rel="canonical" href=http://o.test/c><link href=n rel=next><link rel="Shortcut ICON" href=f.ico><link href=x>`,
			[]string{"L http://o.test/c", "L /d/n", "E /d/f.ico", "L /d/x"}},
		{"comment", `<!-- <a href=no> --><a href=yes>`, []string{"L /d/yes"}},
		{"short comments", `<!--><a href=1><!---><a href=2><!--x--!><a href=3>`, []string{"L /d/1", "L /d/2", "L /d/3"}},
		{"doctype", `<!DOCTYPE html><a href=yes>`, []string{"L /d/yes"}},
		{"style element", `<style>a{background:url( "b.png" )} @import 'c.css';</style>`, []string{"E /d/b.png", "E /d/c.css"}},
		{"style attribute", `<p style="background:url(&quot;b.png&quot;)">`, []string{"E /d/b.png"}},
		{"refresh", `<meta http-equiv=Refresh content="0; URL='n.html'">`, []string{"R /d/n.html"}},
		{"refresh without url", `<meta http-equiv=refresh content="5">`, nil},
		{"open graph", `<meta property="og:image" content="http://h.test/og.png">`, []string{"E /og.png"}},
		{"svg", `<svg><use xlink:href="u.svg#a"/><image href=m.png /></svg>`, []string{"E /d/u.svg", "E /d/m.png"}},
		{"object and applet", `<object data=d codebase=c/ classid=k></object><applet code=a.x archive=y,z>`, []string{"L /d/c/", "E /d/c/d", "E /d/c/k", "E /d/y", "E /d/z", "E /d/a/x.class"}},
		{"ping, cite, form", `<a ping="p1 p2"><q cite=c><form action=f><form method=post action=no>`, []string{"L /d/p1", "L /d/p2", "L /d/c", "L /d/f"}},
		{"srcdoc", `<iframe srcdoc="&lt;img src=s.png&gt;">`, []string{"E /d/s.png"}},
		{"first attribute wins", `<a href=one href=two>`, []string{"L /d/one"}},
		{"unfinished", `<a href="x`, nil},
		{"newline within", "<a href=\"x\ny\">", []string{"L /d/xy"}},
		{"noscript", `<noscript><img src=n.png></noscript>`, []string{"E /d/n.png"}},
		{"port and case", `<a href="HTTP://H.test:80/A">`, []string{"L /A"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, Document{URL: "http://h.test/d/p.html", ContentType: "text/html; charset=utf-8", Body: []byte(tt.html)})
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestCSSLinks(t *testing.T) {
	tests := []struct {
		name, css string
		want      []string
	}{
		{"forms", `a{b:url(1)} c{d:url("2") URL('3')}`, []string{"E /d/1", "E /d/2", "E /d/3"}},
		{"import", `@import "i.css"; @import url(j.css) screen;`, []string{"E /d/i.css", "E /d/j.css"}},
		{"comments", `/* url(no) */ a{b:url(yes)}`, []string{"E /d/yes"}},
		{"strings", `a{content:"url(no)"; b:url(yes)}`, []string{"E /d/yes"}},
		{"escapes", `a{b:url(a\(1\)\20 b)}`, []string{"E /d/a(1)%20b"}},
		{"data", `a{b:url(data:image/png;base64,AA==) url(x)}`, []string{"E /d/x"}},
		{"unfinished", `a{b:url(x`, []string{"E /d/x"}},
		{"escape at the end", `a{b:url(x\`, []string{"E /d/x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, Document{URL: "http://h.test/d/s.css", ContentType: "text/css", Body: []byte(tt.css)})
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestHeadersAndCharset(t *testing.T) {
	got := found(t, Document{URL: "http://h.test/", Location: "/next", Refresh: "1;url=/r"})
	if want := []string{"R /next", "R /r"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = found(t, Document{URL: "http://h.test/", ContentType: "text/html; charset=iso-8859-1", Body: []byte("<a href=\"\xe9\">")})
	if want := []string{"L /%C3%A9"}; !slices.Equal(got, want) {
		t.Errorf("latin-1: got %q, want %q", got, want)
	}
}

func TestLinksAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range MaxLinks + 10 {
		b.WriteString("<a href=" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/7) + ">")
		if i > 100 {
			b.Reset()
			break
		}
	}
	for i := range MaxLinks + 10 {
		b.WriteString("<a href=?" + strings.Repeat("1", 1+i%3) + "n=" + itoa(i) + ">")
	}
	r := New().Links(Document{URL: "http://h.test/", ContentType: "text/html", Body: []byte(b.String())})
	if len(r.Links) != MaxLinks || r.Dropped != 10 {
		t.Errorf("%d links, %d dropped", len(r.Links), r.Dropped)
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + string(rune('0'+i%10))
}

// The quick join must agree with the full parser wherever it answers.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"a", "../a/b", "/x?y", "?q", "//h/x", "http://a.b/c", "a/../b", "%2e%2e/x", "a:b", "./.", "..", "http://1.2.3/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		var b base
		b.set("http://h.test/d/e/p.html?q")
		r := trim([]byte(ref))
		fast, ok := b.join(r)
		if !ok {
			return
		}
		full := base{url: b.url} // no parts: resolve has to ask the full parser
		want, valid := resolveSlowly(full.url, string(r))
		if !valid || fast != want {
			t.Fatalf("%q: joined %q, parsed %q (%v)", ref, fast, want, valid)
		}
	})
}

// Every href that the reference tokenizer sees on an <a>, we see too.
func FuzzAgainstTokenizer(f *testing.F) {
	f.Add([]byte(`<a href=x/y class="b"><A  HREF = 'q"' ><p><a/href=z>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if strings.Contains(strings.ToLower(string(body)), "<base") || strings.ContainsAny(string(body), "\x00\r&") {
			return
		}
		x := New()
		x.base.set("http://h.test/d/")
		x.markup.html(body, 0)
		z := html.NewTokenizer(strings.NewReader(string(body)))
		for z.Next() != html.ErrorToken {
			tok := z.Token()
			if tok.Type == html.StartTagToken && tok.Data == "iframe" || tok.Data == "noembed" || tok.Data == "noframes" || tok.Data == "noscript" || tok.Data == "math" || tok.Data == "svg" {
				return // raw text there, markup here
			}
			if tok.Data != "a" || tok.Type == html.EndTagToken {
				continue
			}
			for _, a := range tok.Attr {
				if a.Key == "href" {
					checkSeen(t, x, a.Val)
					break
				}
			}
		}
	})
}

func TestHosts(t *testing.T) {
	var b base
	b.set("http://h.test/")
	for ref, want := range map[string]bool{"http://[::1]/": true, "http://[2001:db8::1]:8080/": true, "//bücher.test/": true, "http://a_b.test/": true, "http://127.1/": true,
		"http://a\"/": false, "http://a'b/": false, "http://a,b/": false, "http://$x/": false, "http:///": false, "http://": false} {
		if url, ok := b.resolve([]byte(ref)); ok != want {
			t.Errorf("%s: %q %v", ref, url, ok)
		}
	}
}

func TestWants(t *testing.T) {
	tests := []struct {
		contentType, url string
		manifest, want   bool
	}{
		{"text/html", "http://h.test/x.png", false, true},
		{"", "http://h.test/", false, true},
		{"image/png", "http://h.test/x.html", false, false},
		{"image/svg+xml", "http://h.test/x", false, true},
		{"video/mp4", "http://h.test/x", false, false},
		{"Application/JavaScript; charset=utf-8", "http://h.test/x", false, true},
		{"application/problem+json", "http://h.test/x", false, true},
		{"text/plain", "http://h.test/robots.txt", false, true},
		{"text/plain", "http://h.test/a/robots.txt", false, false},
		{"text/plain", "http://h.test/list", true, true},
		{"text/plain", "http://h.test/site.js?v=1", false, true},
		{"application/octet-stream", "http://h.test/a.pdf#x", false, true},
		{"application/octet-stream", "http://h.test/a.bin", false, false},
		{"application/gzip", "http://h.test/sitemap.xml.gz", false, true},
		{"application/gzip", "http://h.test/a.tar.gz", false, false},
		{"application/vnd.ms-excel.sheet.macroenabled.12", "http://h.test/a", false, true},
		{"application/vnd.ms-excel", "http://h.test/a", false, false},
		{"application/xml", "http://h.test/a", false, true},
	}
	x := New()
	for _, tt := range tests {
		if got := x.Wants(tt.contentType, tt.url, tt.manifest); got != tt.want {
			t.Errorf("%q %s: %v", tt.contentType, tt.url, got)
		}
	}
	feeds := New(Options{Types: Feed})
	if !feeds.Wants("text/xml", "http://h.test/", false) || feeds.Wants("text/html", "http://h.test/", false) {
		t.Error("feeds alone")
	}
}

// What a format holds of another is looked into if that is switched on, too.
func TestTypesWithin(t *testing.T) {
	body := []byte(`<a href=1><style>a{b:url(2)}</style><p style="a:url(3)" onclick="go('/4.html')"><script>"/5.html"</script><script type=application/ld+json>{"url":"/6.html"}</script>`)
	for types, want := range map[Types]string{
		HTML: "/1", HTML | CSS: "/1 /2 /3", HTML | JS: "/1 /4.html /5.html", HTML | JSON: "/1 /6.html", CSS | JS | JSON: "",
	} {
		var got []string
		for _, l := range New(Options{Speculative: true, Types: types}).Links(Document{URL: "http://h.test/", ContentType: "text/html", Body: body}).Links {
			got = append(got, strings.TrimPrefix(l.URL, "http://h.test"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", types, got, want)
		}
	}
}

func TestTypeNames(t *testing.T) {
	all, err := ParseTypes(strings.Split(AllTypes.String(), ","))
	if err != nil || all != AllTypes || strings.Count(AllTypes.String(), ",") != 13 {
		t.Errorf("%s: %s, %v", AllTypes, all, err)
	}
	if _, err := ParseTypes([]string{"html", "flash"}); err == nil {
		t.Error("flash was taken")
	}
}

// A kind of document without a format to switch it on would never be read.
func TestEveryKindHasAFormat(t *testing.T) {
	t.Parallel()
	for k := kindHTML; k < kinds; k++ {
		if k.types() == 0 {
			t.Errorf("kind %d is not in documentKind.types", k)
		}
	}
}

// Documents within documents end where the options say.
func TestDepth(t *testing.T) {
	body := []byte(`<a href=0><iframe srcdoc="<a href=1><iframe srcdoc='<a href=2>'>">`)
	for depth, want := range map[int]int{-1: 1, 1: 2, 0: 3, 100: 3} {
		if got := len(New(Options{Depth: depth}).Links(Document{URL: "http://h.test/", ContentType: "text/html", Body: body}).Links); got != want {
			t.Errorf("depth %d: %d links", depth, got)
		}
	}
}

// What a header has beyond ASCII, and not in UTF-8, is asked for as it was sent.
func TestHeadersInLatin1(t *testing.T) {
	r := New().Links(Document{URL: "http://h.test/d/", Location: "/p\xe6th?\xff=%20", ContentLocation: "b\xf8k", Link: []string{"<s\xe5.css>; rel=stylesheet"}, Refresh: "1; url=/\xd8"})
	var got []string
	for _, l := range r.Links {
		got = append(got, l.URL)
	}
	if want := "http://h.test/p%E6th?%FF=%20 http://h.test/%D8 http://h.test/d/b%F8k http://h.test/d/s%E5.css"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// A type that is given twice is that type.
func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{"text/html, text/html": "text/html", "Text/HTML ; charset=x": "text/html", "": "", "text/html;charset=utf-8,text/plain": "text/html"} {
		if got := MediaType(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if r := New().Links(Document{URL: "http://h.test/", ContentType: "text/html, text/html", Body: []byte("<a href=x>")}); len(r.Links) != 1 {
		t.Errorf("%v", r.Links)
	}
}
