package extract

import (
	"bytes"
	"html"
	"unicode/utf8"
)

// unescape replaces the character references of an attribute's value, by the standard's rules for attributes: without
// a semicolon, a name counts only if neither '=' nor a letter or digit follows. A value without references is
// returned as it is.
func unescape(v []byte) []byte {
	i := bytes.IndexByte(v, '&')
	if i < 0 {
		return v
	}
	out := append(make([]byte, 0, len(v)), v[:i]...)
	for v = v[i:]; len(v) > 0; {
		n := referenceLen(v)
		if n == 0 {
			out = append(out, '&')
			v = v[1:]
		} else {
			out = append(out, reference(v, n)...)
			v = v[n:]
		}
		i := bytes.IndexByte(v, '&')
		if i < 0 {
			return append(out, v...)
		}
		out = append(out, v[:i]...)
		v = v[i:]
	}
	return out
}

// referenceLen returns the length of the possible character reference at the start of v, which begins with '&'; 0 if
// there is none.
func referenceLen(v []byte) int {
	i := 1
	if i < len(v) && v[i] == '#' {
		i++
	}
	for i < len(v) && i < 40 && (isLetter(v[i]) || v[i] >= '0' && v[i] <= '9') {
		i++
	}
	if i < len(v) && v[i] == ';' {
		return i + 1
	}
	if i == 1 || v[1] != '#' && i < len(v) && v[i] == '=' {
		return 0
	}
	return i
}

// reference returns the text of the character reference v[:n], or v[:n] itself if it is none.
func reference(v []byte, n int) []byte {
	text := []byte(html.UnescapeString(string(v[:n])))
	if v[n-1] != ';' && v[1] != '#' && utf8.RuneCount(text) > 1 {
		return v[:n] // a name that merely begins like one
	}
	return text
}
