package extract

import "bytes"

// maxFeedDepth is how deep elements of a feed are told by their parents.
const maxFeedDepth = 16

// feeds reads XML and JSON that contain pieces of pages: feeds and similar formats.
type feeds struct {
	*collector
	markup *markup // reads the pieces
}

// feed reads RSS in all its versions, and Atom.
func (x *feeds) feed(b []byte) {
	s := xmlScanner{b: b}
	var stack [maxFeedDepth][]byte
	depth := 0
	markup, permanent := false, true
	for {
		switch s.next() {
		case xmlDone:
			return
		case xmlInstruction:
			x.instruction(s.text)
		case xmlStart:
			if depth == 0 {
				if v := s.get("xml:base"); v != nil {
					x.rebase(v)
				}
			}
			name := string(localName(s.name))
			markup = name == "description" || name == "encoded" ||
				(name == "content" || name == "summary" || name == "title") && string(s.get("type")) == "html"
			permanent = string(s.get("isPermaLink")) != "false"
			if (name == "content" || name == "summary") && string(s.get("type")) == "xhtml" && !s.empty {
				x.inline(&s)
				continue
			}
			x.feedElement(&s, name)
			if !s.empty {
				if depth < maxFeedDepth {
					stack[depth] = s.name
				}
				depth++
			}
		case xmlEnd:
			depth = max(0, depth-1)
		case xmlText:
			if depth == 0 || depth > maxFeedDepth {
				continue
			}
			var parent []byte
			if depth > 1 {
				parent = localName(stack[depth-2])
			}
			x.feedText(&s, stack[depth-1], string(parent), markup, permanent)
		}
	}
}

// inline scans the markup inside an element, and moves to the element's end.
func (x *feeds) inline(s *xmlScanner) {
	rest := s.b[s.i:]
	end := closing(rest, nameOf(s.name))
	if x.options.Depth > 0 {
		before := x.markup.xml
		x.markup.xml = true
		x.markup.html(rest[:end], 1)
		x.markup.xml = before
	}
	s.i += end
	if j := bytes.IndexByte(s.b[s.i:], '>'); j >= 0 {
		s.i += j + 1
	} else {
		s.i = len(s.b)
	}
}

// feedElement takes the links out of an element's attributes.
func (x *feeds) feedElement(s *xmlScanner, name string) {
	switch name {
	case "link":
		x.feedLink(s)
	case "enclosure":
		x.add(s.get("url"), Embed, "enclosure/@url")
		x.add(s.get("rdf:resource"), Embed, "enclosure/@rdf:resource")
	case "content":
		x.add(s.get("src"), Embed, "content/@src")
		x.add(s.get("url"), Embed, "media:content/@url")
	case "thumbnail":
		x.add(s.get("url"), Embed, "media:thumbnail/@url")
	case "player":
		x.add(s.get("url"), Embed, "media:player/@url")
	case "image":
		x.add(s.get("href"), Embed, "itunes:image/@href")
		x.add(s.get("rdf:resource"), Embed, "image/@rdf:resource")
	case "source":
		x.add(s.get("url"), Navlink, "source/@url")
	case "generator":
		x.add(s.get("uri"), Navlink, "generator/@uri")
	case "outline":
		x.add(s.get("htmlUrl"), Navlink, "outline/@htmlUrl")
		x.add(s.get("xmlUrl"), Navlink, "outline/@xmlUrl")
	case "item", "channel":
		x.add(s.get("rdf:about"), Navlink, name+"/@rdf:about")
	case "li":
		x.add(s.get("rdf:resource"), Navlink, "li/@rdf:resource")
	}
}

// feedLink reads Atom's link by its rel. A hub is a service that is notified of news, not a page.
func (x *feeds) feedLink(s *xmlScanner) {
	href := s.get("href")
	if href == nil {
		return
	}
	hop := byte(Navlink)
	switch string(s.get("rel")) {
	case "enclosure", "icon", "image", "preview", "stylesheet":
		hop = Embed
	case "hub", "edit", "edit-media", "search", "http://schemas.google.com/g/2005#post":
		return
	}
	x.add(href, hop, "link/@href")
}

// feedText takes the links out of an element's text.
func (x *feeds) feedText(s *xmlScanner, element []byte, parent string, markup, permanent bool) {
	v := s.plain()
	switch name := string(localName(element)); name {
	case "link", "comments", "commentRss", "new-feed-url", "uri", "origLink", "origEnclosureLink":
		x.add(v, Navlink, name+"/text()")
	case "guid":
		if permanent && isHTTP(v) {
			x.add(v, Navlink, "guid/text()")
		}
	case "url":
		if parent == "image" {
			x.add(v, Embed, "image/url/text()")
		}
	case "logo", "icon":
		x.add(v, Embed, name+"/text()")
	default:
		if markup && x.options.Depth > 0 && bytes.IndexByte(v, '<') >= 0 {
			x.markup.html(v, 1)
		}
	}
}
