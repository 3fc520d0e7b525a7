package extract

import "bytes"

// cssWord marks the bytes that something may begin with.
var cssWord = func() (t [256]bool) {
	for _, c := range []byte("/uU@\"'\\iI") {
		t[c] = true
	}
	return t
}()

// styles reads style sheets.
type styles struct{ *collector }

// css scans a style sheet, or a style attribute, for url(), @import and image-set().
func (x *styles) css(b []byte) {
	for i := 0; i < len(b); {
		c := b[i]
		if !cssWord[c] {
			i++
			continue
		}
		switch c {
		case '/':
			i++
			if i < len(b) && b[i] == '*' {
				end := bytes.Index(b[i+1:], []byte("*/"))
				if end < 0 {
					return
				}
				i += end + 3
			}
		case 'u', 'U':
			if !hasPrefixFold(b[i:], "url(") || i > 0 && isNameByte(b[i-1]) {
				i++
				continue
			}
			var ref []byte
			ref, i = x.cssURL(b, i+4)
			x.add(ref, Embed, styleReference)
		case 'i', 'I':
			if !hasPrefixFold(b[i:], "image-set(") || i > 0 && isNameByte(b[i-1]) && b[i-1] != '-' {
				i++
				continue
			}
			i = x.imageSet(b, i+len("image-set("))
		case '@':
			i = x.atRule(b, i+1)
		case '"', '\'':
			_, i = cssString(b, i)
		case '\\':
			i += 2
		}
	}
}

// atRule reads what follows an '@' if that is a reference, or is certainly none, and returns where to continue.
func (x *styles) atRule(b []byte, i int) int {
	switch {
	case hasPrefixFold(b[i:], "import"):
		i += len("import")
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i < len(b) && (b[i] == '"' || b[i] == '\'') {
			var ref []byte
			ref, i = cssString(b, i)
			x.add(x.cssUnescape(ref), Embed, styleReference)
		}
	case hasPrefixFold(b[i:], "namespace"):
		for i < len(b) && b[i] != ';' && b[i] != '{' && b[i] != '}' {
			i++
		}
	case hasPrefixFold(b[i:], "document"), hasPrefixFold(b[i:], "-moz-document"):
		for i < len(b) && b[i] != '{' && b[i] != ';' && b[i] != '}' {
			i++
		}
	}
	return i
}

// imageSet reads the images of image-set( ), from just after the parenthesis, and returns where it ends.
func (x *styles) imageSet(b []byte, i int) int {
	for depth := 1; i < len(b) && depth > 0; {
		switch b[i] {
		case '"', '\'':
			var ref []byte
			ref, i = cssString(b, i)
			if depth == 1 { // in type("image/avif") it is none
				x.add(x.cssUnescape(ref), Embed, styleReference)
			}
		case 'u', 'U':
			if depth == 1 && hasPrefixFold(b[i:], "url(") {
				var ref []byte
				ref, i = x.cssURL(b, i+4)
				x.add(ref, Embed, styleReference)
				if i < len(b) && b[i] == ')' {
					i++
				}
				continue
			}
			i++
		case '(':
			depth++
			i++
		case ')':
			depth--
			i++
		case ';', '{', '}':
			return i
		default:
			i++
		}
	}
	return i
}

// cssURL reads the content of url( ), from just after the opening parenthesis, and returns it and where it ends: at
// or before the closing parenthesis.
func (x *styles) cssURL(b []byte, i int) ([]byte, int) {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		ref, end := cssString(b, i)
		for end < len(b) && isSpace(b[end]) {
			end++
		}
		return x.cssUnescape(ref), end
	}
	start := i
	for i < len(b) && b[i] != ')' && !isSpace(b[i]) {
		if b[i] == '\\' {
			i = skipEscape(b, i)
		} else {
			i++
		}
	}
	i = min(i, len(b))
	ref := b[start:i]
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return x.cssUnescape(ref), i
}

// skipEscape is where the escape that begins at i ends, the space that ends a hex escape included.
func skipEscape(b []byte, i int) int {
	i++
	start := i
	for i < len(b) && i-start < 6 && hexDigit(b[i]) >= 0 {
		i++
	}
	if i == start || i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// cssString reads a string from its quote on, and returns its inside and where it ends. A line's end ends it too.
func cssString(b []byte, i int) ([]byte, int) {
	quote := b[i]
	i++
	start := i
	for i < len(b) && b[i] != quote && b[i] != '\n' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(b))
	return b[start:i], min(i+1, len(b))
}

// cssUnescape removes the escapes of CSS: up to six hex digits and a space, or a character as it is. Its result is
// valid until the next call.
func (x *styles) cssUnescape(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	out := x.scratch[:0]
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			out = append(out, v[i])
			continue
		}
		i++
		code, digits := rune(0), 0
		for i < len(v) && digits < 6 {
			d := hexDigit(v[i])
			if d < 0 {
				break
			}
			code, digits, i = code<<4|rune(d), digits+1, i+1
		}
		switch {
		case digits == 0 && i < len(v) && v[i] != '\n':
			out = append(out, v[i])
		case digits > 0:
			out = append(out, string(code)...)
			if i >= len(v) || !isSpace(v[i]) {
				i--
			}
		}
	}
	x.scratch = out
	return out
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func isNameByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '_' }
