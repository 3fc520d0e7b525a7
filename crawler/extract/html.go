package extract

import "bytes"

// maxNested bounds documents within documents, whatever the options say.
const maxNested = 8

// maxTitle is how much of a title is kept, in bytes.
const maxTitle = 256

// markup reads HTML, XHTML and SVG, with the style sheets and scripts in it.
type markup struct {
	*collector
	styles
	scripts
	xml  bool // the markup is XML
	form form
	tags [maxNested]element
}

// release lets go of the document.
func (x *markup) release() {
	x.form = form{query: x.form.query[:0]}
	for i := range x.tags {
		t := &x.tags[i]
		clear(t.attrs[:cap(t.attrs)])
		t.written = nil
	}
}

// page scans a whole HTML, XHTML or SVG document.
func (x *markup) page(b []byte) {
	x.html(b, 0)
	x.endForm()
}

// html scans HTML, XHTML or SVG. It follows the standard's tokenizer for tags, comments, raw text and attributes, and
// builds no tree.
func (x *markup) html(b []byte, depth int) {
	tag := &x.tags[depth]
	based := depth > 0
	foreign := x.xml // what closes itself has no text
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 || i+1 >= len(b) {
			return
		}
		b = b[i+1:]
		switch c := b[0]; {
		case isLetter(c):
			b = tag.read(b)
			if tag.name == "base" && !based {
				if v := tag.get("href"); v != nil {
					based = x.rebase(v)
				}
			}
			x.element(tag, b, depth)
			if tag.name == "svg" || tag.name == "math" {
				foreign = true
			}
			if !foreign || !tag.empty {
				b = x.rawText(tag, b, depth)
			}
		case c == '!':
			b = skipMarkup(b, foreign)
		case c == '/' || c == '?':
			j := bytes.IndexByte(b, '>')
			if j < 0 {
				return
			}
			switch {
			case c == '?':
				x.instruction(b[1:j])
			case x.form.open && !x.guessing && hasPrefixFold(b[1:j], "form"):
				x.endForm()
			case x.form.open && hasPrefixFold(b[1:j], "select"):
				x.form.endSelect(x)
			case foreign && !x.xml && (hasPrefixFold(b[1:j], "svg") || hasPrefixFold(b[1:j], "math")):
				foreign = false
			}
			b = b[j+1:]
		}
	}
}

// rawText passes over the text of elements that hold no markup; style sheets and scripts are scanned.
func (x *markup) rawText(tag *element, b []byte, depth int) []byte {
	switch tag.name {
	case "script", "style", "textarea", "title", "xmp":
	case "plaintext":
		return nil
	default:
		return b
	}
	end := closing(b, tag.name)
	text := b[:end]
	switch tag.name {
	case "style":
		if x.options.Types&CSS != 0 {
			x.css(text)
		}
	case "script":
		x.scriptElement(tag, text, depth)
	case "title":
		if x.result.Title == "" && depth == 0 {
			x.result.Title = title(text)
		}
	case "textarea":
		if x.form.open {
			x.form.field(x, tag.get("name"), bytes.TrimPrefix(text, []byte("\n")))
		}
	}
	return b[end:]
}

// title is text with single spaces, cut at a bound.
func title(text []byte) string {
	out := bytes.Join(bytes.Fields(unescape(text[:min(len(text), 8*maxTitle)])), []byte{' '})
	if len(out) > maxTitle {
		out = out[:maxTitle]
	}
	return string(bytes.ToValidUTF8(out, nil))
}

// closing is where "</name" begins, or len(b).
func closing(b []byte, name string) int {
	for i := 0; ; {
		j := bytes.Index(b[i:], []byte("</"))
		if j < 0 {
			return len(b)
		}
		i += j
		rest := b[i+2:]
		if hasPrefixFold(rest, name) && (len(rest) == len(name) || isSpace(rest[len(name)]) || rest[len(name)] == '>' ||
			rest[len(name)] == '/') {
			return i
		}
		i += 2
	}
}

// skipMarkup skips a declaration; b begins at '!'. The content of a conditional comment is a part of the page. So is
// the content of a CDATA section in HTML, because HTML has no such sections.
func skipMarkup(b []byte, foreign bool) []byte {
	if bytes.HasPrefix(b, []byte("!--[if")) || bytes.HasPrefix(b, []byte("!--[IF")) {
		if j := bytes.Index(b[:min(len(b), 256)], []byte("]>")); j > 0 && !bytes.Contains(b[:j], []byte("-->")) {
			return b[j+2:]
		}
	}
	if foreign && bytes.HasPrefix(b, []byte("![CDATA[")) {
		if j := bytes.Index(b, []byte("]]>")); j >= 0 {
			return b[j+3:]
		}
		return nil
	}
	return skipDeclaration(b)
}

// skipDeclaration passes over a comment, a doctype or the like; b begins at '!'.
func skipDeclaration(b []byte) []byte {
	if bytes.HasPrefix(b, []byte("!-->")) {
		return b[4:]
	}
	if bytes.HasPrefix(b, []byte("!--->")) {
		return b[5:]
	}
	if bytes.HasPrefix(b, []byte("!--")) {
		return skipComment(b[3:])
	}
	j := bytes.IndexByte(b, '>')
	if j < 0 {
		return nil
	}
	return b[j+1:]
}

// skipComment passes over a comment from its inside on. It ends with "-->" or "--!>".
func skipComment(b []byte) []byte {
	for {
		j := bytes.Index(b, []byte("--"))
		if j < 0 {
			return nil
		}
		b = b[j+2:]
		switch {
		case len(b) > 0 && b[0] == '>':
			return b[1:]
		case len(b) > 1 && b[0] == '!' && b[1] == '>':
			return b[2:]
		case len(b) > 1 && b[0] == '-' && b[1] == '>':
			return b[2:]
		}
	}
}

// attribute is one of a tag, as written.
type attribute struct {
	*attributeName
	written []byte // its name, where that is one of a family
	value   []byte // never nil
}

// element is a start tag. Its attributes are those of the table of names, the first of each name.
type element struct {
	name    string // lower case, of the table of names, or ""
	written []byte // the name as written
	attrs   []attribute
	empty   bool // it ends with "/>"
}

// get returns an attribute's value, nil if there is none.
func (e *element) get(name string) []byte {
	for i := range e.attrs {
		if e.attrs[i].name == name {
			return e.attrs[i].value
		}
	}
	return nil
}

// read takes a start tag off b, which begins with its name, and returns what follows its '>'.
func (e *element) read(b []byte) []byte {
	i := 0
	for i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' {
		i++
	}
	e.written = b[:i]
	e.name = tagNames.find(e.written)
	e.attrs = e.attrs[:0]
	for {
		for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			return nil
		}
		if b[i] == '>' {
			e.empty = b[i-1] == '/'
			return b[i+1:]
		}
		start := i
		i++ // a leading '=' is part of the name
		for i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' && b[i] != '=' {
			i++
		}
		name := b[start:i]
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		value := b[start:start]
		if i < len(b) && b[i] == '=' {
			value, i = attributeValue(b, i+1)
		}
		if n := attributeNames.find(name); n != nil && value != nil && (n.family || !e.has(n)) &&
			len(e.attrs) < maxAttributes {
			e.attrs = append(e.attrs, attribute{attributeName: n, written: name, value: value})
		}
	}
}

// maxAttributes is how many attributes of one tag are looked at.
const maxAttributes = 64

func (e *element) has(n *attributeName) bool {
	for i := range e.attrs {
		if e.attrs[i].attributeName == n {
			return true
		}
	}
	return false
}

// attributeValue reads a value that begins at or after i, and returns it and where it ends.
func attributeValue(b []byte, i int) ([]byte, int) {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		return nil, i
	}
	if q := b[i]; q == '"' || q == '\'' {
		j := bytes.IndexByte(b[i+1:], q)
		if j < 0 {
			return nil, len(b)
		}
		return b[i+1 : i+1+j], i + j + 2
	}
	start := i
	for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
		i++
	}
	return b[start:i], i
}

func hasPrefixFold[T []byte | string](b T, lower string) bool {
	if len(b) < len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// equalFold reports whether b is the given lower-case word, in whatever case it is written.
func equalFold(b []byte, lower string) bool { return len(b) == len(lower) && hasPrefixFold(b, lower) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
