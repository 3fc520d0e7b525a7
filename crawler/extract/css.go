package extract

import "bytes"

// css scans a style sheet, or a style attribute, for url() and @import.
func (x *Extractor) css(b []byte, context string) {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
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
			ref, i = cssURL(b, i+4)
			x.add(ref, Embed, context)
		case '@':
			i++
			if !hasPrefixFold(b[i:], "import") {
				continue
			}
			j := i + len("import")
			for j < len(b) && isSpace(b[j]) {
				j++
			}
			if j < len(b) && (b[j] == '"' || b[j] == '\'') {
				var ref []byte
				ref, i = cssString(b, j)
				x.add(cssUnescape(ref), Embed, context)
			} else {
				i = j
			}
		case '"', '\'':
			_, i = cssString(b, i)
		case '\\':
			i += 2
		default:
			i++
		}
	}
}

// cssURL reads what stands in url( ), from just after the parenthesis, and returns it and where it ends.
func cssURL(b []byte, i int) ([]byte, int) {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		ref, end := cssString(b, i)
		return cssUnescape(ref), end
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
	return cssUnescape(b[start:i]), i
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

// cssUnescape removes the escapes of CSS: up to six hex digits and a space, or a character as it is.
func cssUnescape(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	out := make([]byte, 0, len(v))
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
