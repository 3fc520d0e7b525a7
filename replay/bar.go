package replay

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// bar is the HTML of the bar that tells readers what they are looking at. The page around it has styles of its own,
// so that each of the bar's properties is important; and any charset, so that the bar is ASCII. A page's scripts can
// still cover or change the bar: what cannot be forged is the address that the browser shows.
func (h *Handler) bar(r *http.Request, d *document) string {
	c, l := d.capture, h.reader(r)
	at := timeOf(c.Timestamp)
	var b strings.Builder
	style := important("all:initial", "display:block", "position:relative", "z-index:2147483647", "background:#16324f",
		"color:#fff", "font:14px/21px system-ui,sans-serif", "padding:6px 16px", "text-align:start",
		"direction:"+l.Direction(), "visibility:visible", "opacity:1")
	fmt.Fprintf(&b, `<div style="%s" role="region" aria-label="%s" lang="%s" dir="%s">`, style,
		html.EscapeString(l.Text("replay.bar")), l.Tag(), l.Direction())
	fmt.Fprintf(&b, `<b style="%s">%s</b> · `, important("all:unset", "font-weight:600"),
		html.EscapeString(h.cfg.Title))
	for _, p := range l.Parts("replay.bar-archived") {
		if p.Name == "when" {
			fmt.Fprintf(&b, `<time style="%s" datetime="%s">%s</time>`, important("all:unset"),
				at.Format("2006-01-02T15:04:05Z"), html.EscapeString(l.Moment(at)))
		} else {
			b.WriteString(html.EscapeString(p.Text))
		}
	}
	if d.flaw != "" {
		b.WriteString(" · " + html.EscapeString(l.Text("replay.bar-flaw")))
	}
	fmt.Fprintf(&b, ` · <a style="%s" href="%s">%s</a></div>`, important("all:unset", "color:#ffd479",
		"text-decoration:underline", "cursor:pointer"), html.EscapeString(l.Prefix+"/web/*/"+linkSafe(c.URL)),
		html.EscapeString(l.Text("replay.bar-all")))
	return asciiHTML(b.String())
}

// important makes declarations of a style attribute that no style sheet of the page overrides.
func important(declarations ...string) string {
	return strings.Join(declarations, "!important;") + "!important"
}

// asciiHTML writes what is not ASCII as character references, which mean the same in every charset.
func asciiHTML(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}
