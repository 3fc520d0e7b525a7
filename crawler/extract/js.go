package extract

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// quoteClass marks the bytes that a string begins or ends with.
var quoteClass = func() (t [256]bool) {
	t['"'], t['\''], t['`'] = true, true, true
	return t
}()

// scripts reads JavaScript and JSON.
type scripts struct{ *collector }

// js looks for strings of JavaScript or JSON that look like URLs. It does not parse: everything between two quotes of
// one kind is a candidate, whether or not a parser would call it a string. It therefore works on scripts that no
// parser can read, and finds strings within strings; other text rarely looks like a URL. Modules that a script
// imports are certain links, not guesses.
func (x *scripts) js(b []byte) {
	b = plainQuotes(b)
	open := -1
	for i, c := range b {
		if !quoteClass[c] {
			continue
		}
		if open >= 0 && b[open] == c && i-open > minLikely && i-open <= 4*maxLikely {
			x.candidate(b, open, i)
		}
		open = i
	}
}

// plainQuotes writes quotes and slashes as they are that are written as escapes, as in JSON within a string of a
// script.
func plainQuotes(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u002`)) {
		return b
	}
	for _, e := range [...]struct{ escape, plain string }{{`\u0022`, `"`}, {`\u0027`, `'`}, {`\u002f`, `/`},
		{`\u002F`, `/`}} {
		b = bytes.ReplaceAll(b, []byte(e.escape), []byte(e.plain))
	}
	return b
}

// candidate judges the text between two quotes.
func (x *scripts) candidate(b []byte, open, end int) {
	c := b[open+1 : end]
	if c[len(c)-1] == '\\' { // the quotes themselves were escaped
		c = c[:len(c)-1]
	}
	if bytes.IndexByte(c, '\\') >= 0 {
		var ok bool
		if c, ok = x.jsUnescape(c); !ok {
			return
		}
	}
	c = fixUp(c)
	if !likelyURL(c) {
		return
	}
	switch imported(b[:open], b[end+1:]) {
	case importModule:
		if c[0] == '.' || c[0] == '/' || isHTTP(c) {
			x.addTo(&x.self, c, x.certain(), "script/import")
		}
	case importScript:
		x.addTo(&x.self, c, x.certain(), "script/import")
	case importRelative:
		x.addTo(&x.self, c, Speculative, scriptString)
	default:
		x.add(c, Speculative, scriptString)
	}
}

// certain returns the hop of certain links: Embed, except in a template.
func (x *scripts) certain() byte {
	if x.guessing {
		return Speculative
	}
	return Embed
}

type importKind int

const (
	importNone     importKind = iota
	importModule              // import … from "x", import "x", import("x"), export … from "x"
	importScript              // importScripts("x")
	importRelative            // new URL("x", import.meta.url)
)

// maxLookBack is how far before a string its statement is looked at.
const maxLookBack = 160

// imported tells whether a string names a module; before ends where the string begins, after begins where it ends.
func imported(before, after []byte) importKind {
	b := before[max(0, len(before)-maxLookBack):]
	if rest := trim(after[:min(len(after), 40)]); len(rest) > 1 && rest[0] == ',' &&
		bytes.HasPrefix(trim(rest[1:]), []byte("import.meta.url")) {
		return importRelative
	}
	b = trimRight(b)
	call := len(b) > 0 && b[len(b)-1] == '('
	if call {
		b = trimRight(b[:len(b)-1])
	}
	word := lastWord(b)
	b = b[:len(b)-len(word)]
	kind := importNone
	switch string(word) {
	case "importScripts":
		if call {
			kind = importScript
		}
	case "import":
		kind = importModule
	case "from":
		if !call && bindings(trimRight(b)) {
			kind = importModule
		}
	}
	if kind == importNone || len(b) > 0 && (b[len(b)-1] == '.' || quoteClass[b[len(b)-1]]) || commented(b) {
		return importNone
	}
	return kind
}

// bindings reports whether b ends with the names of an import or export, before its from.
func bindings(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	if c := b[len(b)-1]; c == '}' || c == '*' {
		return true
	}
	word := lastWord(b)
	previous := trimRight(b[:len(b)-len(word)])
	if len(previous) > 0 && previous[len(previous)-1] == ',' {
		return len(word) > 0
	}
	switch string(lastWord(previous)) {
	case "import", "as", "export":
		return len(word) > 0
	}
	return false
}

// commented reports whether b ends within a comment of one line, or of the usual form of several.
func commented(b []byte) bool {
	line := trim(b[bytes.LastIndexByte(b, '\n')+1:])
	if bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("*")) ||
		bytes.HasPrefix(line, []byte("/*")) {
		return true
	}
	i := bytes.LastIndex(line, []byte("//"))
	return i > 0 && (isSpace(line[i-1]) || line[i-1] == ';')
}

func lastWord(b []byte) []byte {
	i := len(b)
	for i > 0 && (isLetter(b[i-1]) || isDigit(b[i-1]) || b[i-1] == '_' || b[i-1] == '$') {
		i--
	}
	return b[i:]
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// jsUnescape removes the escapes of a string of JavaScript or JSON. It returns false for a string that cannot be a
// URL. Its result is valid until the next call.
func (x *scripts) jsUnescape(c []byte) ([]byte, bool) {
	out := x.scratch[:0]
	for i := 0; i < len(c); i++ {
		if c[i] != '\\' {
			out = append(out, c[i])
			continue
		}
		for i < len(c) && c[i] == '\\' { // a string within a string is escaped twice
			i++
		}
		if i == len(c) {
			break
		}
		switch c[i] {
		case '/', '\'', '"', '`', '-', '.', '&', '?', '=', ':', '_', '%':
			out = append(out, c[i])
		case 'x':
			r, ok := hexRune(c, i+1, 2)
			if !ok {
				return nil, false
			}
			out, i = utf8.AppendRune(out, r), i+2
		case 'u':
			r, n := unicodeEscape(c, i+1)
			if n == 0 {
				return nil, false
			}
			out, i = utf8.AppendRune(out, r), i+n
		default:
			return nil, false // a line's end, a tab, or a pattern
		}
	}
	x.scratch = out
	return out, true
}

// hexRune reads n hex digits at i.
func hexRune(c []byte, i, n int) (rune, bool) {
	if i+n > len(c) {
		return 0, false
	}
	r := rune(0)
	for _, d := range c[i : i+n] {
		v := hexDigit(d)
		if v < 0 {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}

// unicodeEscape reads what follows \u: four hex digits, a pair of them for one character, or {hex}. It answers how
// long that was, 0 if it was none.
func unicodeEscape(c []byte, i int) (rune, int) {
	if i < len(c) && c[i] == '{' {
		end := bytes.IndexByte(c[i:min(len(c), i+9)], '}')
		if end < 2 {
			return 0, 0
		}
		r, ok := hexRune(c, i+1, end-1)
		if !ok {
			return 0, 0
		}
		return r, end + 1
	}
	r, ok := hexRune(c, i, 4)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && i+6 <= len(c) && c[i+4] == '\\' && c[i+5] == 'u' {
		if low, ok := hexRune(c, i+6, 4); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 10
			}
		}
	}
	return r, 4
}
