package rewrite

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

var update = flag.Bool("update", false, "rewrite golden files")

func testLinks() *Links { return NewLinks("20260101000000", "http://example.com/start/index.html", "") }

func rewriteHTML(t testing.TB, page, banner string) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, strings.NewReader(page), testLinks(), Page{Banner: banner}); err != nil {
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
		{"newlines", "<a\nhref\n=\n'x'\n>", "<a\nhref\n=\n'/web/20260101000000/http://example.com/start/x'\n>"},
		{"policy by meta", `<meta http-equiv=content-security-policy content="x">`, `<meta data-archived-http-equiv=content-security-policy content="x">`},
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
			err := HTML(&b, strings.NewReader(tt.in), testLinks(), Page{Charset: enc})
			if err != nil || b.String() != tt.want {
				t.Errorf("got  %q, %v\nwant %q", b.String(), err, tt.want)
			}
		})
	}
}

// However long a script or an attribute, what comes behind it is rewritten, and so are the other attributes of its tag.
func TestNothingIsTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxTag)
	for _, page := range []string{
		`<a href="/a"><script>` + long + `</script><a href="/b">end`,
		`<a href="/a"><img alt='` + long + `' src="/c" ` + `title=` + long + ` longdesc=/d><a href="/b">`,
		`<a href="/a"><img src="data:image/png;base64,` + long + `"><a href="/b">`,
		`<a href="/a"><p ` + long + `=x ` + long + `><a href="/b">`,
		`<a href="/a"><p ` + strings.Repeat(" a=b", maxTag) + ` background="/c"><a href="/b">`,
		`<a href="/a"><!--` + long + `--><a href="/b">`,
		`<a href="/a"><style>` + long + `</style><a href="/b">`,
		`<a href="/a"><` + `p>` + long + `<a href="/b"><a title="` + long,
	} {
		want := page
		for _, link := range []string{`href="/a"`, `href="/b"`} {
			want = strings.Replace(want, link, `href="/web/20260101000000/http://example.com/`+link[7:], 1)
		}
		want = strings.Replace(want, `src="/c"`, `src="/web/20260101000000im_/http://example.com/c"`, 1)
		want = strings.Replace(want, `background="/c"`, `background="/web/20260101000000im_/http://example.com/c"`, 1)
		want = strings.Replace(want, `longdesc=/d`, `longdesc="/web/20260101000000/http://example.com/d"`, 1)
		if got := rewriteHTML(t, page, ""); got != want {
			t.Errorf("%.60s…: %d bytes became %d, want %d", page, len(page), len(got), len(want))
		}
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
		if err := HTML(&b, bytes.NewReader(page), testLinks(), Page{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.ContainsAny(page, "=@(") && !bytes.Equal(b.Bytes(), page) {
			t.Fatalf("%q became %q", page, b.Bytes())
		}
		// A page without a base that can be resolved against stays as it is.
		b.Reset()
		if err := HTML(&b, bytes.NewReader(page), NewLinks("20260101000000", "nowhere:", ""), Page{}); err != nil {
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
