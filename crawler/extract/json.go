package extract

import (
	"bytes"
	"strings"
)

// maxJSONDepth is how deep members are told by name.
const maxJSONDepth = 32

// jsonScanner walks the strings of JSON, well formed or not, that are values rather than names.
type jsonScanner struct {
	b     []byte
	i     int
	depth int
	stack [maxJSONDepth]jsonFrame
}

// jsonFrame is an object, with the name of the member that is being read, or an array.
type jsonFrame struct {
	object bool
	name   []byte
}

// next returns the inside of the next string that is a value, its escapes as written.
func (s *jsonScanner) next() ([]byte, bool) {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case '{', '[':
			if s.depth < maxJSONDepth {
				s.stack[s.depth] = jsonFrame{object: c == '{'}
			}
			s.depth++
		case '}', ']':
			s.depth = max(0, s.depth-1)
		case '"':
			text, end := jsonString(s.b, s.i)
			s.i = end
			if s.isName() {
				continue
			}
			return text, true
		}
		s.i++
	}
	return nil, false
}

// isName reports whether the string that ends here is followed by a colon.
func (s *jsonScanner) isName() bool {
	i := s.i
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	if i >= len(s.b) || s.b[i] != ':' {
		return false
	}
	if s.depth > 0 && s.depth <= maxJSONDepth && s.stack[s.depth-1].object {
		text := trimRight(s.b[:s.i])
		start := bytes.LastIndexByte(text[:len(text)-1], '"')
		s.stack[s.depth-1].name = text[start+1 : len(text)-1]
	}
	s.i = i + 1
	return true
}

// name is the name of the n-th innermost member that the last value is in, arrays aside.
func (s *jsonScanner) name(n int) []byte {
	for d := min(s.depth, maxJSONDepth) - 1; d >= 0; d-- {
		if s.stack[d].object {
			if n == 0 {
				return s.stack[d].name
			}
			n--
		}
	}
	return nil
}

// within reports whether the last value is in a member of that name, however deep.
func (s *jsonScanner) within(name string) bool {
	for d := range min(s.depth, maxJSONDepth) {
		if s.stack[d].object && string(s.stack[d].name) == name {
			return true
		}
	}
	return false
}

// jsonString returns the inside of the string that begins at i, and where it ends.
func jsonString(b []byte, i int) ([]byte, int) {
	i++
	start := i
	for i < len(b) && b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(b))
	return b[start:i], min(i+1, len(b))
}

// jsonText removes all escapes of a string. Its result is a new string.
func jsonText(c []byte) []byte {
	out := make([]byte, 0, len(c))
	for i := 0; i < len(c); i++ {
		if c[i] != '\\' || i+1 == len(c) {
			out = append(out, c[i])
			continue
		}
		i++
		switch c[i] {
		case 'n', 't', 'r', 'f', 'b':
			out = append(out, ' ')
		case 'u':
			r, n := unicodeEscape(c, i+1)
			out, i = append(out, string(r)...), i+n
		default:
			out = append(out, c[i])
		}
	}
	return out
}

// scriptElement scans the text of a script element by its type.
func (x *markup) scriptElement(tag *element, text []byte, depth int) {
	kind := strings.ToLower(string(trim(tag.get("type"))))
	switch {
	case kind == "", kind == "module", strings.HasSuffix(kind, "javascript"), strings.HasSuffix(kind, "ecmascript"),
		strings.HasSuffix(kind, "babel"),
		strings.HasSuffix(kind, "jsx"), strings.HasSuffix(kind, "jscript"), strings.HasSuffix(kind, "typescript"):
		if x.options.Types&JS != 0 {
			x.js(text)
		}
	case kind == "importmap", kind == "importmap-shim":
		x.importMap(text)
	case kind == "speculationrules":
		x.speculationRules(text)
	case x.options.Types&JSON != 0 && kind == "application/ld+json":
		x.linkedData(text)
	case x.options.Types&JSON != 0 && strings.HasSuffix(kind, "json"):
		x.js(text)
	case strings.Contains(kind, "html") || strings.Contains(kind, "template") || strings.Contains(kind, "tmpl") ||
		strings.Contains(kind, "handlebars"):
		if x.options.Speculative && depth < x.options.Depth {
			before := x.guessing
			x.guessing = true
			x.html(text, depth+1)
			x.guessing = before
		}
	}
}

// linkedData reads JSON-LD: what its members hold are URLs, or words; what names its vocabulary is not followed.
func (x *scripts) linkedData(b []byte) {
	s := jsonScanner{b: b}
	for v, ok := s.next(); ok; v, ok = s.next() {
		if name := s.name(0); len(v) < minLikely || string(name) == "@type" || string(name) == "@language" ||
			s.within("@context") {
			continue
		}
		if v, ok = x.jsUnescape(v); !ok || !likelyURL(v) || bytes.Contains(v, []byte("://schema.org")) ||
			bytes.Contains(v, []byte("://www.schema.org")) {
			continue
		}
		x.add(v, Speculative, "script[type='application/ld+json']")
	}
}

// importMap reads the addresses of modules.
func (x *scripts) importMap(b []byte) {
	s := jsonScanner{b: b}
	for v, ok := s.next(); ok; v, ok = s.next() {
		if string(s.name(1)) != "imports" && string(s.name(2)) != "scopes" {
			continue
		}
		v, ok = x.jsUnescape(v)
		if ok && len(v) > 1 && v[len(v)-1] != '/' && (v[0] == '.' || v[0] == '/' || isHTTP(v)) {
			x.add(v, x.certain(), "script[type='importmap']")
		}
	}
}

// speculationRules reads the pages that are to be fetched before they are asked for.
func (x *scripts) speculationRules(b []byte) {
	s := jsonScanner{b: b}
	for v, ok := s.next(); ok; v, ok = s.next() {
		if string(s.name(0)) == "urls" {
			if v, ok = x.jsUnescape(v); ok {
				x.add(v, Navlink, "script[type='speculationrules']")
			}
		}
	}
}

// jsonMembers are the members with URLs in a web app's manifest and in a JSON Feed: by name and, where the name is
// ambiguous, by the name of the member that contains their object.
var jsonMembers = map[documentKind]map[string]byte{
	kindWebManifest: {"src": Embed, "start_url": Navlink, "shortcuts/url": Navlink, "related_applications/url": Navlink,
		"file_handlers/action": Navlink},
	kindJSONFeed: {"url": Navlink, "external_url": Navlink, "home_page_url": Navlink, "next_url": Navlink,
		"feed_url": Navlink,
		"image":    Embed, "banner_image": Embed, "icon": Embed, "favicon": Embed, "avatar": Embed,
		"attachments/url": Embed, "hubs/url": 0},
}

// jsonDocument reads a web app's manifest or a JSON Feed.
func (x *feeds) jsonDocument(b []byte, k documentKind) {
	members := jsonMembers[k]
	s := jsonScanner{b: b}
	for v, ok := s.next(); ok; v, ok = s.next() {
		name := string(s.name(0))
		if k == kindJSONFeed && name == "content_html" {
			if x.options.Depth > 0 {
				x.markup.html(jsonText(v), 1)
			}
			continue
		}
		hop, known := members[string(s.name(1))+"/"+name]
		if !known {
			hop = members[name]
		}
		if hop == 0 {
			continue
		}
		if v, ok = x.markup.jsUnescape(v); ok {
			x.add(v, hop, "json/"+nameOf([]byte(name)))
		}
	}
}
