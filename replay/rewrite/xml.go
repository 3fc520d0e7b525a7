package rewrite

import (
	"bytes"
	"html"
	"io"

	"holdfast/cdx"
)

// XML copies a document of XML and rewrites what would lead out of the archive: in XHTML and SVG what HTML rewrites, in
// an MPD (DASH, ISO/IEC 23009-1) the addresses of segments, in any other only the style sheets that it names. markup
// says that it is XHTML or SVG whatever its root is called. It returns the first error of reading or writing; damage is
// none.
func XML(w io.Writer, r io.Reader, l *Links, p Page, markup bool) error {
	h := &page{scan: newScan(w, r, 16<<10, maxTag), links: l, given: p, xml: &tree{}}
	if markup {
		h.xml.kind = marked
	}
	h.run()
	return h.rest(false)
}

// tree is what is known of a document of XML while it is read.
type tree struct {
	kind  vocabulary
	open  int     // elements
	bases []scope // of the open elements of an MPD that have a BaseURL
}

// scope is where a BaseURL ends.
type scope struct {
	open   int // elements around it
	before string
}

// vocabulary is what the elements of a document are.
type vocabulary int

const (
	unread vocabulary = iota // the root did not come yet
	marked                   // XHTML or SVG
	mpd
	other
)

// root takes the document's vocabulary from its first element.
func (x *tree) root(name string) {
	if x.kind != unread || name == "xml-stylesheet" {
		return
	}
	switch name {
	case "html", "svg":
		x.kind = marked
	case "mpd":
		x.kind = mpd
	default:
		x.kind = other
	}
}

// start goes past what follows a start tag; false at the end of the document.
func (x *tree) start(h *page) bool {
	name := h.tag.name
	if name == "body" && x.kind == marked {
		h.putBanner()
	}
	if h.tag.closed {
		return true
	}
	x.open++
	switch {
	case x.kind == other:
		return false // what follows means nothing here
	case x.kind == marked && name == "style":
		return h.marked()
	case x.kind == mpd && (name == "baseurl" || name == "location"):
		return x.address(h)
	}
	return true
}

// end follows an end tag.
func (x *tree) end(h *page) {
	x.open--
	if n := len(x.bases); n > 0 && x.open < x.bases[n-1].open {
		h.links.setBase(x.bases[n-1].before)
		x.bases = x.bases[:n-1]
	}
}

// marked rewrites the content of a style element in which markup is markup, as in XML: text, comments and sections of
// character data, up to a tag.
func (h *page) marked() bool {
	for {
		h.css(&part{h.scan, '<', func() bool { return true }}, true)
		switch {
		case h.exactly("<![CDATA["):
			h.pos += len("<![CDATA[")
			h.css(&part{h.scan, ']', func() bool { return h.exactly("]]>") }}, false)
			h.pos = min(h.pos+len("]]>"), h.end)
			continue
		case h.begins("<!--"):
			if h.past("-->") {
				continue
			}
		}
		if c, ok := h.peek(1); ok && (c == '/' || isLetter(c) || c >= 0x80 || c == '_') {
			return true
		}
		if _, ok := h.next(); !ok {
			return false
		}
	}
}

// address rewrites an element whose text is a URL. A BaseURL holds for what its parent has, from here on.
func (x *tree) address(h *page) bool {
	h.mark = h.pos
	ok := h.to('<')
	if !ok || h.pos-h.mark > cdx.MaxURL {
		h.mark = -1
		return ok
	}
	text := h.buf[h.mark:h.pos]
	from := h.mark + len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	ref := h.decode(bytes.TrimSpace(text))
	if to, ok := h.links.Rewrite(ref, "oe_"); ok {
		h.replace(from, from+len(bytes.TrimSpace(text)), html.EscapeString(to))
	}
	h.mark = -1
	if h.tag.name != "baseurl" || len(x.bases) == maxNested {
		return true
	}
	around := x.open - 1
	if n := len(x.bases); n > 0 && x.bases[n-1].open == around {
		return true // a second one names another server for the same
	}
	if to, ok := h.links.absolute(ref); ok {
		x.bases = append(x.bases, scope{around, h.links.base})
		h.links.setBase(to)
	}
	return true
}

// template rewrites an address in an MPD, which may have $Number$ and the like in it. Those that are relative to the
// MPD lead into the archive as they are.
func (x *tree) template(h *page, a *attr, name []byte) bool {
	if x.kind != mpd {
		return x.kind == other && h.tag.name != "xml-stylesheet"
	}
	switch string(name) {
	case "media", "initialization", "sourceurl", "index", "href", "bitstreamswitch":
		text := h.text(a)
		if !bytes.HasPrefix(text, []byte("/")) && !bytes.Contains(text, []byte("://")) {
			return true
		}
		if to, ok := h.links.Rewrite(h.decode(text), "oe_"); ok {
			h.put(a, to)
		}
	}
	return true
}

// doctype goes past a declaration, which may have others in brackets.
func (h *page) doctype() bool {
	inner := false
	for {
		c, ok := h.next()
		switch {
		case !ok:
			return false
		case c == '"' || c == '\'':
			if !h.to(c) {
				return false
			}
			h.pos++
		case c == '<' && h.begins("!--"):
			if !h.past("-->") {
				return false
			}
		case c == '[':
			inner = true
		case c == ']':
			inner = false
		case c == '>' && !inner:
			return true
		}
	}
}
