package extract

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

const oneEntry = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://h.test/entry</loc></url></urlset>`

// A sitemap is known by its beginning, whatever its server calls it, where one is listed or it is named like one.
func TestSitemapOfAnyType(t *testing.T) {
	types := []string{"application/xml", "text/xml", "application/octet-stream", "application/x-gzip", "application/gzip", "text/plain", "application/x-tar", "", "text/html",
		"text/html, text/html", "application/rss+xml"}
	list := "http://h.test/entry\n"
	for _, contentType := range types {
		for _, tt := range []struct {
			name, url string
			manifest  bool
			body      []byte
		}{
			{"packed", "http://h.test/sm.xml.gz", false, packed(t, []byte(oneEntry))},
			{"packed and listed", "http://h.test/sm?x=1", true, packed(t, []byte(oneEntry))},
			{"packed for its transfer", "http://h.test/sm.xml.gz", false, []byte(oneEntry)},
			{"listed", "http://h.test/sm", true, []byte("\xef\xbb\xbf\n" + oneEntry)},
			{"packed list", "http://h.test/sm.txt.gz", false, packed(t, []byte(list))},
			{"list packed for its transfer", "http://h.test/sm.txt.gz", true, []byte(list)},
		} {
			x := New()
			if !x.Wants(contentType, tt.url, tt.manifest) {
				t.Errorf("%q, %s: not wanted", contentType, tt.name)
			}
			r := x.Links(Document{URL: tt.url, ContentType: contentType, Manifest: tt.manifest, Body: tt.body})
			if len(r.Links) != 1 || r.Links[0].URL != "http://h.test/entry" || r.Links[0].Hop != Manifest {
				t.Errorf("%q, %s: %v", contentType, tt.name, r.Links)
			}
		}
	}
	for _, doc := range []Document{
		{URL: "http://h.test/a.gz", ContentType: "application/gzip", Body: packed(t, []byte(oneEntry))},
		{URL: "http://h.test/film", ContentType: "video/mp4", Manifest: true, Body: []byte("http://h.test/entry")},
		{URL: "http://h.test/page", ContentType: "text/html", Manifest: true, Body: []byte("http://h.test/entry")},
	} {
		if r := New().Links(doc); len(r.Links) != 0 {
			t.Errorf("%s: %v", doc.URL, r.Links)
		}
	}
	if New().Wants("video/mp4", "http://h.test/film", true) {
		t.Error("a film is wanted, as a sitemap lists it")
	}
}

// Of a sitemap that goes on beyond its body every entry is found, in every character set; of other documents it is told.
func TestLongSitemap(t *testing.T) {
	const n = 30000
	var xml, prefixed, list bytes.Buffer
	xml.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	prefixed.WriteString(`<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range n {
		fmt.Fprintf(&xml, "<url><loc>http://h.test/a/path/of/a/page/%d</loc></url>", i)
		fmt.Fprintf(&prefixed, "<sm:url>\n<sm:loc>\nhttp://h.test/a/path/of/a/page/%d\n</sm:loc>\n</sm:url>\n", i)
		fmt.Fprintf(&list, "http://h.test/a/path/of/a/page/that/is/somewhat/longer/%d\r\n", i)
	}
	for _, tt := range []struct {
		name, contentType string
		body              []byte
	}{
		{"xml", "application/xml", xml.Bytes()},
		{"with a prefix", "text/xml", prefixed.Bytes()},
		{"list", "text/plain", list.Bytes()},
		{"latin-1", "application/xml; charset=iso-8859-1", xml.Bytes()},
		{"packed", "application/gzip", packed(t, xml.Bytes())},
	} {
		for _, held := range []int{4000, 300_001} {
			held = min(held, len(tt.body))
			r := New().Links(Document{URL: "http://h.test/sitemap", ContentType: tt.contentType, Manifest: true, Body: tt.body[:held], Rest: bytes.NewReader(tt.body[held:])})
			if len(r.Links) != n || r.Cut || !strings.HasSuffix(r.Links[n-1].URL, "/29999") {
				t.Errorf("%s, of which %d bytes are held: %d links, cut %v", tt.name, held, len(r.Links), r.Cut)
			}
		}
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("http://h.test/?q=\u00e9\nhttp://h.test/?q=\u00ea\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range []int{40, len(wide)} {
		r := New().Links(Document{URL: "http://h.test/list", ContentType: "text/plain", Manifest: true, Body: []byte(wide[:held]), Rest: strings.NewReader(wide[held:])})
		if len(r.Links) != 2 || r.Links[1].URL != "http://h.test/?q=%C3%AA" {
			t.Errorf("a list in UTF-16, of which %d bytes are held: %v", held, r.Links)
		}
	}
	r := New().Links(Document{URL: "http://h.test/", ContentType: "text/html", Body: []byte("<a href=/1>"), Rest: strings.NewReader("<a href=/2>")})
	if len(r.Links) != 1 || strings.Join(r.Annotations(), ",") != "extractTrunc" {
		t.Errorf("%v, %v", r.Links, r.Annotations())
	}
	endless := io.MultiReader(strings.NewReader(oneEntry), io.LimitReader(spaces{}, 60<<20))
	if r := New().Links(Document{URL: "http://h.test/sitemap.xml", ContentType: "text/xml", Body: []byte("<urlset>"), Rest: endless}); len(r.Links) != 1 || !r.Cut {
		t.Errorf("longer than may be: %v, cut %v", r.Links, r.Cut)
	}
	if r := New().Links(Document{URL: "http://h.test/x.png", ContentType: "image/png", Body: []byte("x"), Rest: strings.NewReader("y")}); r.Cut {
		t.Error("a picture is cut")
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
