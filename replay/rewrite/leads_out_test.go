package rewrite

import (
	"strings"
	"testing"
)

// TestNothingLeadsOut tries spellings of references that browsers follow.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"entities in http-equiv": `<meta http-equiv="&#114;efresh" content="0;url=http://live.example/">`,
		"value of http-equiv":    `<meta http-equiv=refresh content='0; http://live.example/'>`,
		"twice":                  `<a href="http://live.example/" href="http://live.example/2">x</a>`,
		"empty type":             `<script type type="importmap"></script><a href="http://live.example/">x</a>`,
		"slash":                  `<a/href="http://live.example/"/>x</a>`,
		"newline":                "<a href=\"ht\ntp://live.example/\">x</a>",
		"backslashes":            `<a href="\\live.example/">x</a>`,
		"tab":                    "<a href='/\t/live.example/'>x</a>",
		"reference":              `<a href="http&colon;//live.example/">x</a>`,
		"NUL in a name":          "<a\x00 href=http://live.example/>x</a>",
		"CR":                     "<a\rhref\r=\rhttp://live.example/\r>x</a>",
		"upper case":             `<A HREF=HTTP://LIVE.EXAMPLE/>x</A>`,
		"svg never closed":       `<svg><p><a href="http://live.example/">x</a>`,
		"svg with a div around":  `<div><svg></div><![CDATA[><a href="http://live.example/">x</a>]]>`,
		"script in svg":          `<svg><script><p><a href="http://live.example/">x</a></script></svg>`,
		"style in svg":           `<svg><style><p><a href="http://live.example/">x</a></style></svg>`,
		"title in svg":           `<svg><title><p><a href="http://live.example/">x</a></title></svg>`,
		"noembed in svg":         `<svg><noembed><p><a href="http://live.example/">x</a></noembed></svg>`,
		"case of CDATA":          `<svg><![cdata[><p><a href="http://live.example/">x</a>`,
		"animated":               `<svg><a><set attributeName="href" to="http://live.example/"/></a></svg>`,
		"animated values":        `<svg><a><animate attributeName="xlink:href" values="http://live.example/;http://live.example/2"/></a></svg>`,
		"base in a body":         `<body><base href="http://live.example/x/"><a href="y">x</a>`,
		"area":                   `<map><area href=//live.example/></map>`,
		"nested srcdoc":          `<iframe srcdoc="<iframe srcdoc='<iframe srcdoc=&amp;quot;<a href=http://live.example/>x</a>&amp;quot;></iframe>'></iframe>"></iframe>`,
		"comment":                `<!--><a href="http://live.example/">x</a>-->`,
		"comment ended by !":     `<!-- --!><a href="http://live.example/">x</a>`,
		"script in a comment":    `<script><!--<script></script>--></script><a href="http://live.example/">x</a>`,
		"data in a srcset":       `<img srcset="data:image/png;base64,aa,bb 1x, http://live.example/ 2x">`,
		"textarea":               `<textarea></textarea ><a href="http://live.example/">x</a>`,
		"form":                   `<form action="http://live.example/"><button formaction=http://live.example/>`,
		"cdata":                  `<![CDATA[><a href="http://live.example/">x</a>]]>`,
		"long":                   `<a title="` + strings.Repeat("x", 2<<20) + `" href="http://live.example/">x</a>`,
	} {
		var b strings.Builder
		if err := HTML(&b, strings.NewReader(page), NewLinks("20200101000000", "http://a.example/", ""), Page{}); err != nil {
			t.Fatal(err)
		}
		out := strings.ToLower(b.String())
		rest := strings.ReplaceAll(out, "_/http://live.example", "")
		rest = strings.ReplaceAll(rest, "/20200101000000/http://live.example", "")
		if strings.Contains(rest, "live.example") {
			if len(out) > 300 {
				out = out[len(out)-300:]
			}
			t.Errorf("%s leads out: %s", name, out)
		}
	}
}

// TestForeignStylesAndScripts: what stands in SVG within HTML keeps its meaning.
func TestForeignStylesAndScripts(t *testing.T) {
	t.Parallel()
	const to = "/web/20200101000000"
	for page, want := range map[string]string{
		`<svg><style>a{fill:url(p.svg)}</style><image href="b.png"/></svg>`: `<svg><style>a{fill:url(` + to +
			`im_/http://a.example/p.svg)}</style><image href="` + to + `im_/http://a.example/b.png"/></svg>`,
		`<svg><style><![CDATA[a{fill:url(p.svg)}]]></style></svg>`: `<svg><style><![CDATA[a{fill:url(` + to +
			`im_/http://a.example/p.svg)}]]></style></svg>`,
		`<svg><script>if(a<b&&"<a>")x()</script></svg>`:            `<svg><script>if(a<b&&"<a>")x()</script></svg>`,
		`<svg><script><![CDATA[x='<a href="y">']]></script></svg>`: `<svg><script><![CDATA[x='<a href="y">']]></script></svg>`,
		`<div><svg></div><script>x='<a href="y">'</script>`:        `<div><svg></div><script>x='<a href="y">'</script>`,
		`<svg><image><animate attributeName="href" values="a;b" to="#c"/></image></svg>`: `<svg><image>` +
			`<animate attributeName="href" values="` + to + `/http://a.example/a;` + to + `/http://a.example/b" to="#c"/></image></svg>`,
		`<svg><animate attributeName="x" values="1;2" to="3"/></svg>`: `<svg><animate attributeName="x" values="1;2" to="3"/></svg>`,
	} {
		var b strings.Builder
		if err := HTML(&b, strings.NewReader(page), NewLinks("20200101000000", "http://a.example/", ""), Page{}); err != nil || b.String() != want {
			t.Errorf("%s\ngives %s\nwant  %s (%v)", page, b.String(), want, err)
		}
	}
}
