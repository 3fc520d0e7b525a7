package extract

import "bytes"

type xmlToken int

const (
	xmlDone        xmlToken = iota
	xmlStart                // a start tag: name, attrs, empty
	xmlEnd                  // an end tag: name
	xmlText                 // text: text, cdata
	xmlInstruction          // a processing instruction: text
)

// maxXMLAttributes is how many attributes of one tag are looked at.
const maxXMLAttributes = 64

// xmlScanner walks the tokens of XML, well formed or not.
type xmlScanner struct {
	b     []byte
	i     int
	name  []byte
	attrs []xmlAttribute
	empty bool
	text  []byte
	cdata bool // the text has no references in it
}

type xmlAttribute struct {
	name, value []byte // as written
}

// next moves to the next token. Comments, doctypes and text of nothing but white space are passed over.
func (s *xmlScanner) next() xmlToken {
	for s.i < len(s.b) {
		b := s.b[s.i:]
		if b[0] != '<' {
			end := bytes.IndexByte(b, '<')
			if end < 0 {
				end = len(b)
			}
			s.i += end
			if s.text, s.cdata = trim(b[:end]), false; len(s.text) > 0 {
				return xmlText
			}
			continue
		}
		switch {
		case len(b) == 1:
			s.i = len(s.b)
		case b[1] == '/':
			end := s.skipTo(b, 2, ">")
			s.name = trim(b[2:max(2, end-1)])
			return xmlEnd
		case b[1] == '?':
			end := s.skipTo(b, 2, "?>")
			s.text = b[2:max(2, end-2)]
			return xmlInstruction
		case b[1] != '!':
			s.start(b[1:])
			return xmlStart
		case bytes.HasPrefix(b, []byte("<!--")):
			s.skipTo(b, 4, "-->")
		case bytes.HasPrefix(b, []byte("<![CDATA[")):
			end := s.skipTo(b, 9, "]]>")
			s.text, s.cdata = trim(b[9:max(9, end-3)]), true
			return xmlText
		default:
			s.skipDoctype(b)
		}
	}
	return xmlDone
}

// skipTo moves behind the mark, looked for from a place in b on, and returns where that is in b.
func (s *xmlScanner) skipTo(b []byte, from int, mark string) int {
	j := bytes.Index(b[min(from, len(b)):], []byte(mark))
	if j < 0 {
		s.i = len(s.b)
		return len(b)
	}
	end := from + j + len(mark)
	s.i += end
	return end
}

// skipDoctype skips a doctype, with the declarations in it.
func (s *xmlScanner) skipDoctype(b []byte) {
	end := bytes.IndexByte(b, '>')
	if open := bytes.IndexByte(b[:max(0, end)], '['); open >= 0 {
		s.skipTo(b, open, "]")
		if j := bytes.IndexByte(s.b[s.i:], '>'); j >= 0 {
			s.i += j + 1
			return
		}
		end = -1
	}
	if end < 0 {
		s.i = len(s.b)
		return
	}
	s.i += end + 1
}

// start reads a start tag; b begins with its name.
func (s *xmlScanner) start(b []byte) {
	i := 0
	for i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' {
		i++
	}
	s.name, s.attrs, s.empty = b[:i], s.attrs[:0], false
	for {
		for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			s.i = len(s.b)
			return
		}
		if b[i] == '>' {
			s.empty = b[i-min(i, 1)] == '/'
			s.i += i + 2
			return
		}
		start := i
		for i < len(b) && !isSpace(b[i]) && b[i] != '=' && b[i] != '>' && b[i] != '/' {
			i++
		}
		if i == start {
			i++
		}
		name := b[start:i]
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i < len(b) && b[i] == '=' {
			var value []byte
			if value, i = attributeValue(b, i+1); value != nil && len(s.attrs) < maxXMLAttributes {
				s.attrs = append(s.attrs, xmlAttribute{name, value})
			}
		}
	}
}

// get returns the value of an attribute, without references, nil if there is none.
func (s *xmlScanner) get(name string) []byte {
	for _, a := range s.attrs {
		if string(a.name) == name {
			return trim(unescape(a.value))
		}
	}
	return nil
}

// plain is the text without references.
func (s *xmlScanner) plain() []byte {
	if s.cdata {
		return s.text
	}
	return trim(unescape(s.text))
}

// localName is a name without its prefix.
func localName(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }

// prefixed reports whether a name has that prefix.
func prefixed(name []byte, prefix string) bool {
	return len(name) > len(prefix) && name[len(prefix)] == ':' && string(name[:len(prefix)]) == prefix
}

// genericXML reads XML of no known kind: references by the names that references have, and whatever else is an
// absolute URL, but the names of namespaces and schemas.
func (x *feeds) genericXML(b []byte) {
	s := xmlScanner{b: b}
	for {
		switch s.next() {
		case xmlDone:
			return
		case xmlInstruction:
			x.instruction(s.text)
		case xmlStart:
			for _, a := range s.attrs {
				x.xmlReference(&s, a)
			}
		case xmlText:
			if v := s.plain(); isHTTP(v) && likelyURL(v) {
				x.add(v, Speculative, speculativeText)
			}
		}
	}
}

// xmlReference looks at an attribute of an element of no known kind.
func (x *feeds) xmlReference(s *xmlScanner, a xmlAttribute) {
	local := localName(a.name)
	if prefixed(a.name, "xmlns") || prefixed(a.name, "xsi") || string(a.name) == "xmlns" {
		return
	}
	v := trim(unescape(a.value))
	switch string(local) {
	case "href", "htmlUrl", "xmlUrl":
		hop := byte(Navlink)
		if string(s.get("xlink:show")) == "embed" {
			hop = Embed
		}
		x.add(v, hop, nameOf(s.name)+"/@"+nameOf(a.name))
	case "src":
		x.add(v, Embed, nameOf(s.name)+"/@"+nameOf(a.name))
	case "schemaLocation", "noNamespaceSchemaLocation", "namespace", "targetNamespace", "base":
	default:
		if isHTTP(v) && likelyURL(v) {
			x.add(v, Speculative, speculativeText)
		}
	}
}

// instruction reads a processing instruction, from its target on: a style sheet of XML is a part of the page.
func (x *collector) instruction(b []byte) {
	if !bytes.HasPrefix(b, []byte("xml-stylesheet")) {
		return
	}
	var s xmlScanner
	s.start(append(bytes.Clone(bytes.TrimRight(b, "?")), '>'))
	if v := s.get("href"); len(v) > 0 {
		x.add(v, Embed, "xml-stylesheet/@href")
	}
}
