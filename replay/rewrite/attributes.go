package rewrite

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"
)

// attributes rewrites the attributes of the tag that is read.
func (h *page) attributes() {
	t := &h.tag
	f := h.factsOf(t)
	t.kind = f.kind
	if h.xml != nil {
		h.xml.root(t.name)
	}
	href := -1
	for i := range t.attrs {
		a := &t.attrs[i]
		var scratch [16]byte
		name := h.nameOf(a, scratch[:0])
		if string(name) == "href" && href < 0 {
			href = i
		}
		if h.xml != nil && h.xml.template(h, a, name) {
			continue
		}
		switch how, modifier := useOf(t.name, name, &f); how {
		case noReference:
		case silenced:
			h.replace(h.mark+a.name, h.mark+a.name, "data-archived-")
		default:
			if to, changed := h.value(a, how, modifier, &f); changed {
				h.put(a, to)
			}
		}
	}
	if t.name == "base" && href >= 0 && !h.based {
		h.based = true
		if to, ok := h.links.absolute(h.decode(h.text(&t.attrs[href]))); ok {
			h.links.setBase(to)
		}
	}
}

// nameOf is the attribute's name in lower case, in XML without its namespace's prefix; empty if it is too long to mean
// anything.
func (h *page) nameOf(a *attr, name []byte) []byte {
	raw := h.buf[h.mark+a.name : h.mark+a.nameEnd]
	if h.xml != nil {
		if i := bytes.IndexByte(raw, ':'); i >= 0 && !bytes.HasPrefix(raw, []byte("xml")) {
			raw = raw[i+1:]
		}
	}
	if len(raw) > cap(name) {
		return name
	}
	for _, c := range raw {
		name = append(name, lower(c))
	}
	return name
}

func (h *page) text(a *attr) []byte { return h.buf[h.mark+a.value : h.mark+a.valueEnd] }

// value returns an attribute's new value; false if it stays.
func (h *page) value(a *attr, how use, modifier string, f *facts) (string, bool) {
	text := h.text(a)
	switch how {
	case reference:
		return h.links.Rewrite(h.decode(text), modifier)
	case candidates:
		return h.links.srcset(h.decode(text), modifier)
	case listed:
		return h.links.list(h.decode(text), modifier)
	case styled:
		if !bytes.ContainsAny(text, "(@&") {
			return "", false
		}
		return style(unescape(string(text)), h.links)
	case document:
		return h.srcdoc(unescape(string(text)))
	case told:
		if f.equiv == "refresh" {
			return h.links.Refresh(h.decode(text))
		}
	case kind: // rules by which a browser would fetch pages that nobody asked for
		return "archived/" + f.kind, f.kind == "speculationrules"
	}
	return "", false
}

// put puts a new value in place of an attribute's.
func (h *page) put(a *attr, value string) {
	value = html.EscapeString(value)
	if a.quote == 0 {
		value = `"` + value + `"`
	}
	h.replace(h.mark+a.value, h.mark+a.valueEnd, value)
}

// maxPages is how many srcdoc within each other are rewritten.
const maxPages = 4

// srcdoc rewrites the page in a srcdoc.
func (h *page) srcdoc(text string) (string, bool) {
	if h.depth == maxPages {
		return "", text != "" // rather nothing than a page that leads out
	}
	var b strings.Builder
	l := *h.links
	inner := &page{scan: scanText(&b, []byte(text)), links: &l, given: Page{Charset: h.given.Charset},
		depth: h.depth + 1}
	inner.run()
	if inner.finish() != nil || b.String() == text {
		return "", false
	}
	return b.String(), true
}

// decode returns an attribute's value as a URL reference in UTF-8. Bytes of another charset become escapes in the
// query, where servers expect the page's charset, and letters in the path.
func (h *page) decode(value []byte) string {
	path, query, hasQuery := bytes.Cut(value, []byte("?"))
	s := string(path)
	if h.given.Charset != nil && !utf8.Valid(path) {
		if decoded, err := h.given.Charset.NewDecoder().Bytes(path); err == nil {
			s = string(decoded)
		}
	}
	if hasQuery {
		s += "?" + asUTF8(string(query))
	}
	return asUTF8(unescape(s))
}
