package rewrite

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	xhtml "golang.org/x/net/html"
)

// Each construct leads into the archive, and what is none stays. In the tables, @mod: stands for the archive's address of
// http://example.com/start/ with that modifier, and @: for that of a page.
var archived = strings.NewReplacer("@:", "/web/20260101000000/http://example.com/start/",
	"@im:", "/web/20260101000000im_/http://example.com/start/", "@cs:", "/web/20260101000000cs_/http://example.com/start/",
	"@js:", "/web/20260101000000js_/http://example.com/start/", "@oe:", "/web/20260101000000oe_/http://example.com/start/")

type construct struct{ name, in, want string }

func (c construct) check(t *testing.T, rewrite func(in string, bytewise bool) (string, error)) {
	t.Helper()
	want := archived.Replace(c.want)
	if want == "" {
		want = c.in
	}
	for _, bytewise := range []bool{false, true} {
		if got, err := rewrite(c.in, bytewise); err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, got, want)
		}
	}
}

func input(in string, bytewise bool) *iotestReader {
	if bytewise {
		return &iotestReader{iotest.OneByteReader(strings.NewReader(in)).Read}
	}
	return &iotestReader{strings.NewReader(in).Read}
}

type iotestReader struct{ read func([]byte) (int, error) }

func (r *iotestReader) Read(p []byte) (int, error) { return r.read(p) }

func TestConstructsOfHTML(t *testing.T) {
	t.Parallel()
	for _, c := range []construct{
		{"the first base counts", `<base href="/b/"><base href="/c/"><a href=x>`,
			`<base href="/web/20260101000000/http://example.com/b/"><base href="/web/20260101000000/http://example.com/c/"><a href="/web/20260101000000/http://example.com/b/x">`},
		{"a base without an address", `<base target=_top><a href=x>`, `<base target=_top><a href="@:x">`},
		{"refresh without url=", `<meta content="0; x" http-equiv=refresh>`, `<meta content="0; @:x" http-equiv=refresh>`},
		{"refresh with a comma", `<meta http-equiv=refresh content="1.5,URL = 'x' y">`, `<meta http-equiv=refresh content="1.5,URL = &#39;@:x&#39; y">`},
		{"refresh with a space alone", `<meta http-equiv=refresh content="1 x">`, `<meta http-equiv=refresh content="1 @:x">`},
		{"refresh to url", `<meta http-equiv=refresh content="1;url">`, `<meta http-equiv=refresh content="1;@:url">`},
		{"refresh that is none", `<meta http-equiv=refresh content="x;url=y">`, ""},
		{"refresh of itself", `<meta http-equiv=refresh content="5;">`, ""},
		{"title of a picture within the page", `<svg><title><a href=x></title></svg><title><a href=x></title>`,
			`<svg><title><a href="@:x"></title></svg><title><a href=x></title>`},
		{"closed script of a picture", `<svg><script href="x"/><image xlink:href="y"/></svg><a href=z>`,
			`<svg><script href="@js:x"/><image xlink:href="@im:y"/></svg><a href="@:z">`},
		{"HTML in a picture", `<svg><foreignObject><title><a href=x></title></foreignObject><style/></svg><a href=z>`,
			`<svg><foreignObject><title><a href=x></title></foreignObject><style/></svg><a href="@:z">`},
		{"a picture never closed", `<svg><path/><div><textarea><a href=x></textarea>`, ""},
		{"CDATA in a picture", `<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=x>]]>`,
			`<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=x>]]>`},
		{"attributes of a picture", `<svg><rect fill="url(x.svg#a)" mask="url('y')" stroke="url(#b)">`,
			`<svg><rect fill="url(@im:x.svg#a)" mask="url(&#39;@im:y&#39;)" stroke="url(#b)">`},
		{"import map", `<script type="importmap">{"imports": {"a": "./a.js", "b": "/b.js"}, "scopes": {"/s/": {"a": "https://x.org/a.js"}}, "integrity": {"/b.js": "sha256-x"}}</script>`,
			`<script type="importmap">{"imports":{"a":"@js:a.js","b":"/web/20260101000000js_/http://example.com/b.js"},"scopes":{"/web/20260101000000js_/http://example.com/s/":{"a":"/web/20260101000000js_/https://x.org/a.js"}}}</script>`},
		{"import map that is none", `<script type=importmap>{"imports": [</script><a href=x>`, `<script type=importmap>{"imports": [</script><a href="@:x">`},
		{"speculation rules", `<script type="speculationrules">{"prefetch": []}</script>`, `<script type="archived/speculationrules">{"prefetch": []}</script>`},
		{"script in a comment in a script", `<script><!-- <script> "</script><a href=x>" --></script><a href=x>`,
			`<script><!-- <script> "</script><a href=x>" --></script><a href="@:x">`},
		{"comment in a script that ends at once", `<script><!--><script></script><a href=x>`, `<script><!--><script></script><a href="@:x">`},
		{"comments", `<!--><a href=x><!---><a href=x><!-- <a href=x> --!><a href=x><!-- --> <a href=x>`,
			`<!--><a href="@:x"><!---><a href="@:x"><!-- <a href=x> --!><a href="@:x"><!-- --> <a href="@:x">`},
		{"what counts as a comment", `<?a <b> <a href=x></ <a href=x></><a href=x><!x <a href=x>`,
			`<?a <b> <a href="@:x"></ <a href=x></><a href="@:x"><!x <a href=x>`},
		{"plaintext", `<plaintext><a href=x>`, ""},
		{"noscript", `<noscript><img src=x></noscript>`, `<noscript><img src="@im:x"></noscript>`},
		{"quote in a value without quotes", `<a title=a"b href=x>`, `<a title=a"b href="@:x">`},
		{"greater in a value", `<a title=">" href=x></a title=">"><a href=x>`, `<a title=">" href="@:x"></a title=">"><a href="@:x">`},
		{"spaces around", "<a href\n= \n'x'>", "<a href\n= \n'@:x'>"},
		{"style with entities", `<p style="background:url(&quot;x&quot;)">`, `<p style="background:url(&#34;@im:x&#34;)">`},
	} {
		c.check(t, func(in string, bytewise bool) (string, error) {
			var b strings.Builder
			err := HTML(&b, input(in, bytewise), testLinks(), Page{})
			return b.String(), err
		})
	}
}

func TestConstructsOfXML(t *testing.T) {
	t.Parallel()
	for _, c := range []construct{
		{"closed script", `<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="x"/></head><body><a href="y"/></body></html>`,
			`<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="@js:x"/></head><body>BAR<a href="@:y"/></body></html>`},
		{"prefix", `<h:html xmlns:h="x" xmlns:href="y"><h:body><h:a h:href="x"/></h:body></h:html>`,
			`<h:html xmlns:h="x" xmlns:href="y"><h:body>BAR<h:a h:href="@:x"/></h:body></h:html>`},
		{"style sheet of the document", `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="x.xsl"?><feed href="y"><a href="z"/></feed>`,
			`<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="@cs:x.xsl"?><feed href="y"><a href="z"/></feed>`},
		{"style", `<svg><style>a{b:url(&quot;x?a&amp;b&quot;)}<!-- url(n) --><![CDATA[ @import "y?a&b"; a>b{c:url(z)} ]]></style><use href="#a"/><image xlink:href="p"/></svg>`,
			`<svg><style>a{b:url(&quot;@im:x?a&amp;b&quot;)}<!-- url(n) --><![CDATA[ @import "@cs:y?a&b"; a>b{c:url(@im:z)} ]]></style><use href="#a"/><image xlink:href="@im:p"/></svg>`},
		{"text and comments", `<svg><!-- <a href="x"/> --!> --><text>&lt;a href="x"&gt;</text><![CDATA[<a href="x"/>]]></svg>`, ""},
		{"document type", `<!DOCTYPE svg [ <!ENTITY a "<a href='x'>"> <!-- ]> --> ]><svg><a href="x"/></svg>`,
			`<!DOCTYPE svg [ <!ENTITY a "<a href='x'>"> <!-- ]> --> ]><svg><a href="@:x"/></svg>`},
		{"MPD", `<MPD><BaseURL>http://cdn.org/v/</BaseURL><Period><BaseURL> p/ </BaseURL><SegmentTemplate media="/s/$Number%05d$.m4s" initialization="i.mp4"/></Period><Period><SegmentURL media="//x.org/$Time$"/><A media="/t"/></Period></MPD>`,
			`<MPD><BaseURL>/web/20260101000000oe_/http://cdn.org/v/</BaseURL><Period><BaseURL> /web/20260101000000oe_/http://cdn.org/v/p/ </BaseURL><SegmentTemplate media="/web/20260101000000oe_/http://cdn.org/s/$Number%05d$.m4s" initialization="i.mp4"/></Period><Period><SegmentURL media="/web/20260101000000oe_/http://x.org/$Time$"/><A media="/web/20260101000000oe_/http://cdn.org/t"/></Period></MPD>`},
		{"never ends", `<svg><a href="x"><style>a{b:url(y`, `<svg><a href="@:x"><style>a{b:url(y`},
	} {
		c.check(t, func(in string, bytewise bool) (string, error) {
			var b strings.Builder
			err := XML(&b, input(in, bytewise), testLinks(), Page{Banner: "BAR"}, false)
			return b.String(), err
		})
	}
}

func TestPlaylists(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, c := range []construct{
		{"segments", "#EXTM3U\r\n#EXTINF:9.0, a=\"URI\"\r\nseg1.ts\r\n\r\n# seg2.ts\nhttp://x.org/seg 3.ts",
			"#EXTM3U\r\n#EXTINF:9.0, a=\"URI\"\r\n@oe:seg1.ts\r\n\r\n# seg2.ts\n/web/20260101000000oe_/http://x.org/seg%203.ts"},
		{"attributes", `#EXT-X-KEY:METHOD=AES-128,URI="k?a,b",IV=0x1` + "\n" + `#EXT-X-DATERANGE:ID="URI",X-ASSET-URI="/a",X-NAME="b"` + "\n" + `#EXT-X-MEDIA:URI="c"`,
			`#EXT-X-KEY:METHOD=AES-128,URI="@oe:k?a,b",IV=0x1` + "\n" + `#EXT-X-DATERANGE:ID="URI",X-ASSET-URI="/web/20260101000000oe_/http://example.com/a",X-NAME="b"` + "\n" + `#EXT-X-MEDIA:URI="@oe:c"`},
		{"variables", "{$host}/x\ny\n", "{$host}/x\n@oe:y\n"},
		{"a line longer than any", long + "/y\nz\n" + long, long + "/y\n@oe:z\n" + long},
		{"empty", "", ""},
		{"one line end", "\n", "\n"},
	} {
		c.check(t, func(in string, bytewise bool) (string, error) {
			var b strings.Builder
			err := Playlist(&b, input(in, bytewise), testLinks())
			return b.String(), err
		})
	}
}

func TestConstructsOfCSS(t *testing.T) {
	t.Parallel()
	for _, c := range []construct{
		{"a namespace is a name", `@namespace url(http://www.w3.org/1999/xhtml); @namespace svg "x"; a{b:url(x)}`,
			`@namespace url(http://www.w3.org/1999/xhtml); @namespace svg "x"; a{b:url(@im:x)}`},
		{"image sets", `a{b:image-set("x.png" 1x, "y.avif" type("image/avif"), url(z) 2x); c: "d"} e{f:-webkit-image-set( 'g' 1x)}`,
			`a{b:image-set("@im:x.png" 1x, "@im:y.avif" type("image/avif"), url(@im:z) 2x); c: "d"} e{f:-webkit-image-set( '@im:g' 1x)}`},
		{"import with a layer", `@import "x" layer(a) supports(b: url(c));`, `@import "@cs:x" layer(a) supports(b: url(@im:c));`},
		{"many parentheses", strings.Repeat("(", 100) + strings.Repeat(")", 200) + `image-set("x")`, strings.Repeat("(", 100) + strings.Repeat(")", 200) + `image-set("@im:x")`},
	} {
		c.check(t, func(in string, bytewise bool) (string, error) {
			var b strings.Builder
			err := CSS(&b, input(in, bytewise), testLinks())
			return b.String(), err
		})
	}
}

// An independent tokenizer finds the same tags in a page before and after, with the same attributes and the same text between
// them, and each address of an a element led into the archive.
func FuzzAgainstTokenizer(f *testing.F) {
	for _, s := range []string{`<a href=x><script><!--<script></script>--></script><a href=y>`, `<!--><a href=x>--!><textarea><a href=x></textarea>`,
		`<a title=">" href='x'/></a x=">"><style>a{}</style><xmp><a href=x></xmp>`, `</ a><?b?><!c><![CDATA[d]]>`, `<a/href=x><a href = x ="y">`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		lower := bytes.ToLower(page)
		for _, not := range []string{"svg", "math", "plaintext", "style", "srcdoc", "content", "base", "\x00", "\r"} {
			if bytes.Contains(lower, []byte(not)) {
				return
			}
		}
		var b bytes.Buffer
		if err := HTML(&b, bytes.NewReader(page), testLinks(), Page{}); err != nil {
			t.Fatal(err)
		}
		before, after := xhtml.NewTokenizer(bytes.NewReader(page)), xhtml.NewTokenizer(&b)
		for {
			kind := before.Next()
			if now := after.Next(); now != kind {
				t.Fatalf("%q: %s became %s", page, kind, now)
			}
			if kind == xhtml.ErrorToken {
				return
			}
			was, is := before.Token(), after.Token()
			if kind == xhtml.StartTagToken && was.Data == "noscript" {
				before.NextIsNotRawText()
				after.NextIsNotRawText()
			}
			if was.Data != is.Data || len(was.Attr) != len(is.Attr) {
				t.Fatalf("%q: %q became %q", page, was, is)
			}
			for i, a := range was.Attr {
				if a.Key != "href" || was.Data != "a" || kind == xhtml.EndTagToken {
					continue
				}
				if to, ok := testLinks().Rewrite(asUTF8(a.Val), ""); ok && is.Attr[i].Val != to {
					t.Fatalf("%q: %q became %q, not %q", page, a.Val, is.Attr[i].Val, to)
				}
			}
		}
	})
}
