package extract

import (
	"bytes"
)

// maxNesting bounds documents within documents (iframe srcdoc).
const maxNesting = 3

// html scans HTML, XHTML or SVG. It follows the standard's tokenizer in what is a tag, a comment, raw text and an
// attribute, and builds no tree.
func (x *Extractor) html(b []byte, depth int) {
	var tag element
	based := depth > 0
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
			x.element(&tag, depth)
			b = x.rawText(tag.name, b)
		case c == '!':
			b = skipDeclaration(b)
		case c == '/' || c == '?':
			j := bytes.IndexByte(b, '>')
			if j < 0 {
				return
			}
			b = b[j+1:]
		}
	}
}

// rebase takes the first <base href> as the base of all references.
func (x *Extractor) rebase(href []byte) bool {
	url, ok := x.base.resolve(trim(unescape(href)))
	if !ok || !x.base.set(url) {
		return false
	}
	clear(x.refs)
	return true
}

// rawText passes over the text of elements that hold no markup; style sheets are scanned.
func (x *Extractor) rawText(name string, b []byte) []byte {
	switch name {
	case "script", "style", "textarea", "title", "xmp":
	case "plaintext":
		return nil
	default:
		return b
	}
	end := closing(b, name)
	if name == "style" {
		x.css(b[:end], "style/text")
	}
	return b[end:]
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
		if hasPrefixFold(rest, name) && (len(rest) == len(name) || isSpace(rest[len(name)]) || rest[len(name)] == '>' || rest[len(name)] == '/') {
			return i
		}
		i += 2
	}
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
		b = b[3:]
		end, skip := bytes.Index(b, []byte("-->")), 3
		if bang := bytes.Index(b, []byte("--!>")); bang >= 0 && (end < 0 || bang < end) {
			end, skip = bang, 4
		}
		if end < 0 {
			return nil
		}
		return b[end+skip:]
	}
	j := bytes.IndexByte(b, '>')
	if j < 0 {
		return nil
	}
	return b[j+1:]
}

// attribute is one of a tag, as written.
type attribute struct {
	name  string // lower case, of the table of names; others are not kept
	value []byte
}

// element is a start tag. Its attributes are those of the table of names, the first of each name.
type element struct {
	name  string // lower case, of the table of names, or ""
	attrs []attribute
}

func (e *element) get(name string) []byte {
	for _, a := range e.attrs {
		if a.name == name {
			return a.value
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
	e.name = lookup(tagNames, b[:i])
	e.attrs = e.attrs[:0]
	for {
		for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			return nil
		}
		if b[i] == '>' {
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
		var value []byte
		if i < len(b) && b[i] == '=' {
			value, i = attributeValue(b, i+1)
		}
		if n := lookup(attributeNames, name); n != "" && value != nil && e.get(n) == nil {
			e.attrs = append(e.attrs, attribute{name: n, value: value})
		}
	}
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

// lookup returns the table's string that equals name but for case, or "". It does not allocate.
func lookup(table map[string]string, name []byte) string {
	if len(name) > 24 {
		return ""
	}
	var lower [24]byte
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return table[string(lower[:len(name)])]
}

func hasPrefixFold(b []byte, lower string) bool {
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

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
