package rewrite

import (
	"encoding/json"
	"io"

	"golang.org/x/text/encoding"
)

// Page says what is known of a page before it is read. The zero value is a page in UTF-8 that gets no banner.
type Page struct {
	Charset encoding.Encoding // of the page; nil: UTF-8
	Banner  string            // put at the start of the body, of ASCII alone and well-formed XML; empty: none
}

// HTML copies a page of HTML and rewrites what would lead out of the archive. It returns the first error of reading or
// writing; damage in the page is none.
func HTML(w io.Writer, r io.Reader, l *Links, p Page) error {
	h := &page{scan: newScan(w, r, 16<<10, maxTag), links: l, given: p}
	h.run()
	return h.rest(true)
}

// page rewrites a page. It reads as much of HTML as tells tags from other text (HTML, 13.2.5), or of XML.
type page struct {
	*scan
	links *Links
	given Page
	tag   tag
	xml   *tree // of a page in XML; nil: HTML
	based bool  // a base element with an address came; later ones count for nothing
	depth int   // of srcdoc within srcdoc

	foreign int   // open elements of SVG and MathML
	outside []int // what foreign was outside of each open foreignObject
	sheet   []byte
}

// maxNested is how many foreignObject within each other are told apart.
const maxNested = 16

func (h *page) run() {
	for h.to('<') {
		c, ok := h.peek(1)
		switch {
		case !ok:
			return
		case isLetter(c), h.xml != nil && (c >= 0x80 || c == '_'):
			ok = h.start()
		case c == '/':
			ok = h.endTag()
		case c == '!':
			ok = h.declaration()
		case c == '?':
			ok = h.instruction()
		default:
			h.pos++
		}
		if !ok {
			return
		}
	}
}

// rest copies what is left, and puts the banner behind a page without a body.
func (h *page) rest(banner bool) error {
	for h.more() {
		h.pos = h.end
	}
	err := h.finish()
	if err == nil && banner && h.given.Banner != "" {
		_, err = io.WriteString(h.out, h.given.Banner)
	}
	return err
}

func (h *page) putBanner() {
	h.replace(h.pos, h.pos, h.given.Banner)
	h.given.Banner = ""
}

// start goes past a start tag, and past text behind it that is no markup; false at the end of the page.
func (h *page) start() bool {
	if !h.readTag(&h.tag, 1, h.attributes) {
		return false
	}
	name := h.tag.name
	if h.xml != nil {
		return h.xml.start(h)
	}
	switch name {
	case "body":
		h.putBanner()
		h.foreign = 0
	case "svg", "math":
		if !h.tag.closed {
			h.foreign++
		}
		return true
	case "foreignobject":
		if h.foreign > 0 && !h.tag.closed && len(h.outside) < maxNested {
			h.outside, h.foreign = append(h.outside, h.foreign), 0
		}
		return true
	case "p":
		h.foreign = 0
	}
	if h.foreign > 0 { // markup means what it does elsewhere
		return h.tag.closed || name != "style" || h.marked()
	}
	return h.rawText(name)
}

// rawText goes past the text of an element in which markup means nothing.
func (h *page) rawText(name string) bool {
	switch name {
	case "style":
		h.css(&part{h.scan, '<', func() bool { return h.ends("style") }}, false)
	case "script":
		if h.tag.kind == "importmap" {
			return h.importMap()
		}
		return h.script()
	case "textarea", "title", "xmp", "iframe", "noembed", "noframes":
		return h.textOf(name)
	case "plaintext":
		return false
	}
	return true
}

// textOf goes to the end tag of an element.
func (h *page) textOf(name string) bool {
	for h.to('<') {
		if h.ends(name) {
			return true
		}
		h.pos++
	}
	return false
}

// ends reports whether an element's end tag stands at pos.
func (h *page) ends(name string) bool { return h.begins("</") && h.named(2, name) }

// named reports whether a tag's name, i bytes after pos, is this.
func (h *page) named(i int, name string) bool {
	for k := range len(name) {
		if c, ok := h.peek(i + k); !ok || lower(c) != name[k] {
			return false
		}
	}
	c, ok := h.peek(i + len(name))
	return ok && (isSpace(c) || c == '/' || c == '>')
}

// script goes to the end tag of a script, which within <!-- … --> may have <script> … </script> in it (HTML, 4.12.1.3).
func (h *page) script() bool {
	escaped, double := false, false
	for {
		c, ok := h.next()
		switch {
		case !ok:
			return false
		case c == '-' && escaped:
			if h.begins("->") {
				escaped, double = false, false
			}
			continue
		case c != '<':
			continue
		}
		h.pos--
		switch {
		case h.ends("script"):
			if !double {
				return true
			}
			double = false
		case escaped && !double && h.named(1, "script"):
			double = true
		case !escaped && h.begins("<!--"):
			escaped = true
			h.pos++ // behind it, -- may be the beginning of -->
		}
		h.pos++
	}
}

// importMap rewrites the addresses that an import map maps to (HTML, 8.1.6.2).
func (h *page) importMap() bool {
	h.mark = h.pos
	ok := h.textOf("script")
	if ok {
		if to, changed := h.links.importMap(h.buf[h.mark:h.pos]); changed {
			h.replace(h.mark, h.pos, to)
		}
	}
	h.mark = -1
	return ok
}

// importMap returns an import map rewritten. Digests are left out: they are those of scripts before rewriting.
func (l *Links) importMap(text []byte) (string, bool) {
	var m struct {
		Imports map[string]*string            `json:"imports,omitempty"`
		Scopes  map[string]map[string]*string `json:"scopes,omitempty"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return "", false
	}
	lead := func(imports map[string]*string) {
		for name, to := range imports {
			if to != nil {
				if where, ok := l.Rewrite(*to, "js_"); ok {
					imports[name] = &where
				}
			}
		}
	}
	lead(m.Imports)
	scopes := map[string]map[string]*string{}
	for name, imports := range m.Scopes {
		lead(imports)
		if where, ok := l.Rewrite(name, "js_"); ok {
			name = where
		}
		scopes[name] = imports
	}
	m.Scopes = scopes
	out, err := json.Marshal(m)
	return string(out), err == nil
}

// css rewrites a style sheet within the page.
func (h *page) css(in io.Reader, entities bool) {
	if h.sheet == nil {
		h.sheet = make([]byte, 4<<10)
	}
	c := &css{scan: &scan{in: in, out: h.out, buf: h.sheet, mark: -1, bound: maxSheet}, links: h.links,
		entities: entities}
	c.run()
	if err := c.finish(); err != nil && h.err == nil {
		h.err = err
	}
}

// endTag goes past an end tag.
func (h *page) endTag() bool {
	if c, ok := h.peek(2); !ok || !isLetter(c) && (h.xml == nil || c == '>') {
		return ok && h.past(">")
	}
	if !h.readTag(&h.tag, 2, func() {}) {
		return false
	}
	if h.xml != nil {
		h.xml.end(h)
		return true
	}
	switch h.tag.name {
	case "svg", "math":
		h.foreign = max(0, h.foreign-1)
	case "p", "body": // of an element around it, which ends what was never closed
		h.foreign = 0
	case "foreignobject":
		if n := len(h.outside); n > 0 {
			h.foreign, h.outside = h.outside[n-1], h.outside[:n-1]
		}
	}
	return true
}

// declaration goes past a comment, or what counts as one.
func (h *page) declaration() bool {
	switch {
	case h.begins("<!--"):
		h.pos += 4
		return h.comment()
	case (h.xml != nil || h.foreign > 0) && h.exactly("<![CDATA["):
		return h.past("]]>")
	case h.xml != nil:
		return h.doctype()
	}
	return h.past(">")
}

// comment goes past the end of a comment.
func (h *page) comment() bool {
	if h.xml == nil {
		for _, abrupt := range []string{">", "->"} {
			if h.begins(abrupt) {
				h.pos += len(abrupt)
				return true
			}
		}
	}
	for h.to('-') {
		for _, end := range []string{"-->", "--!>"} {
			if h.begins(end) && (h.xml == nil || end == "-->") {
				h.pos += len(end)
				return true
			}
		}
		h.pos++
	}
	return false
}

// instruction goes past a processing instruction; HTML has none, and takes it for a comment.
func (h *page) instruction() bool {
	switch {
	case h.xml == nil:
		return h.past(">")
	case h.begins("<?xml-stylesheet"):
		return h.readTag(&h.tag, 2, h.attributes)
	}
	return h.past("?>")
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
