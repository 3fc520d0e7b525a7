package replay

import (
	"bytes"
	"unicode/utf8"
)

// attr is one attribute of a start tag, and its position there.
type attr struct {
	name           string // lower-case
	rawName, value []byte // as written, value without quotes
	quote          byte   // ' or ", 0 without
	nameStart, end int    // end is behind the closing quote
}

func find(attrs []attr, name string) ([]byte, bool) {
	for i := range attrs {
		if attrs[i].name == name {
			return attrs[i].value, true
		}
	}
	return nil, false
}

// scanAttributes finds the attributes of a start tag, as HTML's tokenizer does:
// after the name, up to the closing >. An attribute without a value is left out.
func scanAttributes(tag []byte) []attr {
	i := 1
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '/' && tag[i] != '>' {
		i++
	}
	var attrs []attr
	for i < len(tag) {
		for i < len(tag) && (isSpace(tag[i]) || tag[i] == '/') {
			i++
		}
		if i >= len(tag) || tag[i] == '>' {
			break
		}
		a := attr{nameStart: i}
		i++ // even = may begin a name
		for i < len(tag) && !isSpace(tag[i]) && tag[i] != '/' && tag[i] != '>' && tag[i] != '=' {
			i++
		}
		a.rawName = tag[a.nameStart:i]
		for i < len(tag) && isSpace(tag[i]) {
			i++
		}
		if i >= len(tag) || tag[i] != '=' {
			continue
		}
		for i++; i < len(tag) && isSpace(tag[i]); i++ {
		}
		if i >= len(tag) {
			break
		}
		if i = a.scanValue(tag, i); i < 0 {
			break
		}
		a.name = string(bytes.ToLower(a.rawName))
		attrs = append(attrs, a)
	}
	return attrs
}

// scanValue reads the value that begins at i and returns where it ends, -1 if its quote is never closed.
func (a *attr) scanValue(tag []byte, i int) int {
	if q := tag[i]; q == '"' || q == '\'' {
		n := bytes.IndexByte(tag[i+1:], q)
		if n < 0 {
			return -1
		}
		a.quote, a.value = q, tag[i+1:i+1+n]
		a.end = i + n + 2
		return a.end
	}
	start := i
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '>' {
		i++
	}
	a.value, a.end = tag[start:i], i
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isUTF8(p []byte) bool { return utf8.Valid(p) }

// escapeBytes makes a raw value safe between either quotes, whatever its charset.
func escapeBytes(value []byte) string {
	value = bytes.ReplaceAll(value, []byte(`"`), []byte("&#34;"))
	return string(bytes.ReplaceAll(value, []byte("'"), []byte("&#39;")))
}
