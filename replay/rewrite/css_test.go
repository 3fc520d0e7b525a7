package rewrite

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestCSS(t *testing.T) {
	t.Parallel()
	const im, cs = "/web/20260101000000im_/http://example.com/start/", "/web/20260101000000cs_/http://example.com/start/"
	for _, tt := range []struct{ name, in, want string }{
		{"plain url", `a{b:url(x.png)}`, `a{b:url(` + im + `x.png)}`},
		{"double quotes", `a{b:url("x.png")}`, `a{b:url("` + im + `x.png")}`},
		{"spaces", "a{b:url( \n'x.png' )}", "a{b:url( \n'" + im + "x.png' )}"},
		{"upper case", `a{b:URL(x.png)}`, `a{b:URL(` + im + `x.png)}`},
		{"import string", `@import "x.css";`, `@import "` + cs + `x.css";`},
		{"import url", `@IMPORT url(x.css) screen; b{c:url(d)}`, `@IMPORT url(` + cs + `x.css) screen; b{c:url(` + im + `d)}`},
		{"import after comment", `@import/**/"x.css";`, `@import/**/"` + cs + `x.css";`},
		{"strings are no URLs", `a{content:"url(x)"} b{content:'@import "y"'}`, ""},
		{"comments", `/* url(x) */ a{}`, ""},
		{"data", `a{b:url(data:image/png;base64,AAAA)}`, ""},
		{"long data", `a{b:url(data:image/png;base64,` + strings.Repeat("A", 100_000) + `)} c{d:url(x)}`,
			`a{b:url(data:image/png;base64,` + strings.Repeat("A", 100_000) + `)} c{d:url(` + im + `x)}`},
		{"fragment", `a{fill:url(#g)}`, ""},
		{"escaped", `a{b:url(x\29 y.png)}`, `a{b:url(` + im + `x%29y.png)}`},
		{"not url", `a{b:curl(x) local(y)}`, ""},
		{"never closed", `a{b:url(x`, ""},
		{"string never closed", `a{b:url("x`, ""},
		{"string ends at the line", "a{b:url(\"x\n) c: url(y)", "a{b:url(\"x\n) c: url(" + im + "y)"},
		{"empty", `a{b:url()} c{d:url("")}`, ""},
		{"latin 1", "a{b:url(\xfc.png)}", `a{b:url(` + im + `%FC.png)}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.in
			}
			var b strings.Builder
			if err := CSS(&b, iotest.OneByteReader(strings.NewReader(tt.in)), testLinks()); err != nil || b.String() != tt.want {
				t.Errorf("%v\ngot  %.300s\nwant %.300s", err, b.String(), tt.want)
			}
		})
	}
}

func FuzzCSS(f *testing.F) {
	for _, s := range []string{`@import "x";`, `a{b:url("x")}`, `url(`, `@import url(`, "\\", "/*", `url('a\`, "@import/**/'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, css string) {
		var b strings.Builder
		if err := CSS(&b, strings.NewReader(css), NewLinks("20260101000000", "nowhere:", "")); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(css, ":") && !strings.Contains(css, `\`) && b.String() != css {
			t.Fatalf("%q became %q", css, b.String())
		}
		b.Reset()
		if err := CSS(&b, strings.NewReader(css), testLinks()); err != nil {
			t.Fatal(err)
		}
	})
}
