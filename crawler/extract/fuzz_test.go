package extract

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkResult fails unless a result is one that the crawler can rely on, whatever the document was.
func checkResult(t *testing.T, x *Extractor, r Result) {
	t.Helper()
	if len(r.Links) > max(x.options.MaxLinks, MaxSitemap) {
		t.Fatalf("%d links", len(r.Links))
	}
	seen := map[string]bool{}
	for _, l := range r.Links {
		if !strings.HasPrefix(l.URL, "http://") && !strings.HasPrefix(l.URL, "https://") || len(l.URL) > maxURL || strings.IndexFunc(l.URL, notInURL) >= 0 {
			t.Fatalf("link %q", l.URL)
		}
		if !strings.ContainsRune("REXLMSI", rune(l.Hop)) {
			t.Fatalf("hop %q of %q", l.Hop, l.URL)
		}
		if l.Context == "" || len(l.Context) > 200 || strings.IndexFunc(l.Context, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 {
			t.Fatalf("context %q of %q", l.Context, l.URL)
		}
		if seen[l.URL] {
			t.Fatalf("%q twice", l.URL)
		}
		seen[l.URL] = true
	}
	if len(r.Title) > maxTitle {
		t.Fatalf("title %q", r.Title)
	}
}

func notInURL(c rune) bool {
	return c <= ' ' || c > '~' || c == '#' || c == '"' || c == '<' || c == '>'
}

// fuzzType fuzzes documents of one type. Each is looked through twice, for what is left from the first time must not matter.
func fuzzType(f *testing.F, contentType, url string, seeds ...string) {
	for _, path := range bedFiles(f) {
		for _, c := range readBed(f, path) {
			if doc := c.document(); doc.ContentType == contentType {
				f.Add(doc.Body)
			}
		}
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	x := New()
	f.Fuzz(func(t *testing.T, body []byte) {
		doc := Document{URL: url, Via: "http://via.test/p/", ContentType: contentType, Manifest: true, Body: bytes.Clone(body)}
		r := x.Links(doc)
		checkResult(t, x, r)
		first := slices.Clone(r.Links)
		if again := x.Links(doc).Links; !slices.Equal(first, again) {
			t.Fatalf("first %v, then %v", first, again)
		}
		if !bytes.Equal(doc.Body, body) {
			t.Fatal("the body was changed")
		}
	})
}

func FuzzHTML(f *testing.F) {
	fuzzType(f, "text/html; charset=utf-8", "http://h.test/d/p",
		`<base href=/x><a href="y&amp;z"><style>url(q)</style><!--x--><iframe srcdoc="<a href=1>">`, "<a \x00 = href='", "<!--[if x]><form><select name=a><option>")
}

func FuzzCSS(f *testing.F) {
	fuzzType(f, "text/css", "http://h.test/d/s.css", `@import "a"; b{c:url('d\65 ')} /* */ url(`, `image-set("a" type("b")`)
}

func FuzzJS(f *testing.F) {
	fuzzType(f, "text/javascript", "http://h.test/d/s.js", `import a from "./b.js"`, `"\\/a\u002Fb.html" '\x2f' "www.a.b/c"`)
}

func FuzzJSON(f *testing.F) {
	fuzzType(f, "application/manifest+json", "http://h.test/d/m.webmanifest", `{"icons":[{"src":"a\u0041"}],"start_url":"`)
}

func FuzzLinkedData(f *testing.F) {
	fuzzType(f, "application/ld+json", "http://h.test/d/m", `{"@context":{"a":"http://x.test/"},"@id":"http:\/\/h.test\/"}`)
}

func FuzzJSONFeed(f *testing.F) {
	fuzzType(f, "application/feed+json", "http://h.test/d/m", `{"items":[{"content_html":"<a href=\"x\">\ud83d\ude00"}]}`)
}

func FuzzXML(f *testing.F) {
	fuzzType(f, "text/xml", "http://h.test/d/x.xml", `<?xml-stylesheet href="a"?><!DOCTYPE a [<!ENTITY b "c">]><a b="http://c.test/"><![CDATA[http://d.test/]]>`, `<a/><`)
}

func FuzzFeed(f *testing.F) {
	fuzzType(f, "application/atom+xml", "http://h.test/d/x", `<feed><content type="xhtml"><a href="b"/>`, `<rss><item><description>&lt;a href=b&gt;`)
	fuzzTypeSeeds(f, "application/rss+xml")
}

// fuzzTypeSeeds adds the bed's documents of another type, too.
func fuzzTypeSeeds(f *testing.F, contentType string) {
	for _, c := range readBed(f, "testdata/bed/xml.txt") {
		if doc := c.document(); doc.ContentType == contentType {
			f.Add(doc.Body)
		}
	}
}

func FuzzSitemap(f *testing.F) {
	fuzzType(f, "application/xml", "http://h.test/sitemap.xml", `<urlset><url><loc>http://h.test/</loc><image:loc>a`, `<urlset><loc><![CDATA[`)
}

func FuzzPackedSitemap(f *testing.F) {
	fuzzType(f, "application/gzip", "http://h.test/sitemap.xml.gz", string(packed(f, []byte("<urlset><url><loc>http://h.test/</loc></url>"))), "\x1f\x8b")
}

func FuzzRobotsTxt(f *testing.F) {
	fuzzType(f, "text/plain", "http://h.test/robots.txt", "Sitemap: /x\r\nsitemap:y#z")
}

func FuzzPlaylist(f *testing.F) {
	fuzzType(f, "application/vnd.apple.mpegurl", "http://h.test/d/x.m3u8", "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"{$a}\"\n{$a}\n#EXT-X-MAP:URI=\"b")
}

func FuzzDASH(f *testing.F) {
	fuzzType(f, "application/dash+xml", "http://h.test/d/x.mpd",
		`<MPD mediaPresentationDuration="PT9999999S"><Period><SegmentTemplate media="$Number%09d$" duration="1" startNumber="9223372036854775807"/><Representation/>`,
		`<MPD><SegmentTimeline><S t="9223372036854775807" d="9223372036854775807" r="9223372036854775807"/>`)
}

func FuzzPDF(f *testing.F) {
	fuzzType(f, "application/pdf", "http://h.test/d/x.pdf", "/URI (a\\(b\\057)", "/URI <61>", "/FS /URL /F (b)>>",
		pdfStream("/Type/ObjStm/Filter/FlateDecode", deflated(f, []byte("/URI (x)"))),
		pdfStream("/Type/ObjStm/Filter/FlateDecode/Predictor 15/Columns 3", deflated(f, []byte("\x04abc\x03abc\x01abc\x02abc"))))
}

func FuzzOffice(f *testing.F) {
	fuzzType(f, typeDOCX, "http://h.test/d/x.docx",
		string(zipped(f, "word/_rels/document.xml.rels", `<Relationship Target="http://h.test/" TargetMode="External"/>`)),
		string(zipped(f, "content.xml", `<text:a xlink:href="http://h.test/">`)))
}

// FuzzOfficeParts fuzzes what is unpacked from a document.
func FuzzOfficeParts(f *testing.F) {
	f.Add([]byte(`<Relationship Target="http://h.test/" TargetMode="External" Type="a/image"/>`))
	f.Add([]byte(`<w:instrText>HYPERLINK "http://h.test/"</w:instrText><text:a xlink:href="http://h.test/2">`))
	x := New()
	f.Fuzz(func(t *testing.T, part []byte) {
		x.Links(Document{URL: "http://h.test/d/"})
		x.documents.relationships(part)
		x.documents.fieldCodes(part)
		x.documents.openDocument(part)
		checkResult(t, x, Result{Links: x.links})
	})
}

// FuzzCharset fuzzes what is made of a declared or guessed character set; the text is HTML after that.
func FuzzCharset(f *testing.F) {
	for _, tt := range texts {
		f.Add("text/html; charset="+tt.charset, encoded(f, tt.charset, `<a href="`+tt.text+`?`+tt.text+`">`))
		f.Add("", append([]byte("<!DOCTYPE html>"), encoded(f, tt.charset, `<a href="?`+tt.text+`">`)...))
	}
	f.Add("text/html", []byte("\xff\xfe<\x00a\x00 \x00"))
	f.Add("text/html;charset=\"", []byte("<?xml encoding='x'?><meta charset=utf-7><meta http-equiv=content-type content='charset = ' charset>"))
	x := New()
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		checkResult(t, x, x.Links(Document{URL: "http://h.test/d/p", ContentType: contentType, Body: body}))
	})
}

// FuzzHeaders fuzzes everything that a server says besides the body, and the URL's file name.
func FuzzHeaders(f *testing.F) {
	f.Add("x.html", "text/html", "/x", "1;url=y", `<a>; rel="b"; c=d, <e>`, "noindex, nofollow")
	f.Add("manifest.json", "application/json", "\xff", "0", "<", "a: b")
	x := New()
	f.Fuzz(func(t *testing.T, name, contentType, location, refresh, link, robots string) {
		var h base
		if !h.set("http://h.test/d/") {
			t.Fatal("no base")
		}
		u, ok := h.resolve([]byte(name)) // documents have URLs that a crawl may have
		if !ok {
			return
		}
		x.Wants(contentType, u, false)
		doc := Document{URL: u, ContentType: contentType, Location: location, ContentLocation: location, Refresh: refresh, Link: []string{link}, RobotsTag: []string{robots}, Robot: "r", Body: []byte("<a href=x>")}
		checkResult(t, x, x.Links(doc))
	})
}

// Patterns that make a careless scanner start over again and again are read in linear time: each of these would
// take one of quadratic time minutes.
func TestLinearTime(t *testing.T) {
	const size = 1 << 20
	patterns := map[string][]string{
		"text/html": {"<", "<!--", "<!--[if", "<a href='", "<a ", "<a a=b ", "<form", "<script>", "<script></script", "<select><option>", "<style>", "</", "&", "&amp", "<a href=&amp;", "<iframe srcdoc='&lt;", "<title>", "<svg><![CDATA[",
			"<base href=x>", "<a on=\"'\"", "<a data-x='[\"'>", "<meta name=a content=b>", "<object archive=a>", "<img srcset='a(,'>", "<img srcset=,>", "<?xml-stylesheet", "<!", "<![if"},
		"text/css":                 {"/*", "url(", "url('", "@import '", "\\", "image-set(", "(", "@namespace ", "@document ", "@import ", "url(\\"},
		"text/javascript":          {"'", "\"/a.b\"", "`", "\\", "'\\", "from'./a.js'", "\"\\u\"", "import(", "\n//'a/b.html'"},
		"application/ld+json":      {"{", "[", "\"", "\"\\", "{\"a\":", "\"a\" ", "\"a\"\n:"},
		"text/xml":                 {"<", "<!", "<!DOCTYPE a [", "<!--", "<![CDATA[", "<a b='", "</", "<?", "<a ", "&", "<a>&", "<a b=c ", "]>"},
		"application/rss+xml":      {"<description>&lt;a&gt;", "<content type='xhtml'>", "<a>", "</a>", "<link>"},
		"application/dash+xml":     {"<MPD>", "<Representation>", "<SegmentTimeline><S r='-1' d='1'/>", "<SegmentTemplate media='$Number$' duration='1'/><Representation/>", "<BaseURL>a/</BaseURL>", "<Period><BaseURL>a/</BaseURL>"},
		"application/x-mpegurl":    {"#EXT-X-MAP:URI=\"", "#EXT-X-MAP:A=\"\",", "{$a}", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"{$a}{$a}\"\n{$a}\n"},
		"application/pdf":          {"/URI", "/URI (", "/URI((", "/URI <", "stream", ">>stream\n", ">> stream\r", "/FS /URL", "obj<</ObjStm/FlateDecode>>stream\n", "/F", "/URI <</Base", "/JS (", strings.Repeat("/URI(", 1000) + strings.Repeat(")", 1000)},
		typeDOCX:                   {"PK\x03\x04", string(zipped(t, "a.rels", "<a>")), "PK\x03\x04\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00.rels"},
		"text/html; charset=utf-8": {"\x80", "\xff", "<a href='?\x80'>"},
	}
	x := New()
	for contentType, list := range patterns {
		for _, p := range list {
			begin := processorTime(t)
			checkResult(t, x, x.Links(Document{URL: "http://h.test/d/p", ContentType: contentType, Body: bytes.Repeat([]byte(p), size/len(p))}))
			if took := processorTime(t) - begin; took > 10*time.Second {
				t.Errorf("%s of %q took %v", contentType, p, took)
			}
		}
	}
}

// processorTime is what this process used so far: a busy machine does not change it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
