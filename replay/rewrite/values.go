package rewrite

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// srcset rewrites the candidates of a srcset.
func (l *Links) srcset(value, modifier string) (string, bool) {
	var b strings.Builder
	changed := false
	for rest := value; rest != ""; {
		start := strings.IndexFunc(rest, func(r rune) bool { return r > ' ' && r != ',' })
		if start < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:start])
		rest = rest[start:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' })
		if end < 0 {
			end = len(rest)
		}
		url := strings.TrimRight(rest[:end], ",")
		if to, ok := l.Rewrite(url, modifier); ok {
			b.WriteString(strings.ReplaceAll(to, ",", "%2C"))
			changed = true
		} else {
			b.WriteString(url)
		}
		if len(url) < end {
			b.WriteString(rest[len(url):end])
			rest = rest[end:]
			continue
		}
		rest = rest[end:]
		comma := strings.IndexByte(rest, ',')
		if comma < 0 {
			comma = len(rest)
		}
		b.WriteString(rest[:comma])
		rest = rest[comma:]
	}
	return b.String(), changed
}

// list rewrites references that have semicolons between them.
func (l *Links) list(value, modifier string) (string, bool) {
	refs, changed := strings.Split(value, ";"), false
	for i, ref := range refs {
		if to, ok := l.Rewrite(ref, modifier); ok {
			refs[i], changed = to, true
		}
	}
	return strings.Join(refs, ";"), changed
}

// Refresh rewrites the URL of a refresh, of a header or a meta element: "5; url=…", and its other spellings. It is read
// as browsers read it (HTML, shared declarative refresh steps). It reports false if the refresh has none, or its URL
// must stay.
func (l *Links) Refresh(content string) (string, bool) {
	at := refreshURL(content)
	if at < 0 {
		return "", false
	}
	url, rest := content[at:], ""
	if quote := url[0]; quote == '"' || quote == '\'' {
		at, url = at+1, url[1:]
		if end := strings.IndexByte(url, quote); end >= 0 {
			url, rest = url[:end], url[end:]
		}
	}
	to, ok := l.Rewrite(url, "")
	if !ok {
		return "", false
	}
	return content[:at] + to + rest, true
}

// refreshURL is where the URL of a refresh begins, with its quote if it has one; -1 if there is none.
func refreshURL(content string) int {
	i := 0
	skip := func(is func(c byte) bool) {
		for i < len(content) && is(content[i]) {
			i++
		}
	}
	skip(isSpace)
	time := i
	skip(func(c byte) bool { return '0' <= c && c <= '9' || c == '.' })
	if i == time || i == len(content) || content[i] != ';' && content[i] != ',' && !isSpace(content[i]) {
		return -1
	}
	skip(isSpace)
	if i < len(content) && (content[i] == ';' || content[i] == ',') {
		i++
	}
	skip(isSpace)
	bare := i
	if len(content)-i >= 3 && strings.EqualFold(content[i:i+3], "url") {
		i += 3
		skip(isSpace)
		if i < len(content) && content[i] == '=' {
			i++
			skip(isSpace)
			bare = i
		}
	}
	if bare >= len(content) {
		return -1
	}
	return bare
}

// unescape undoes the character references of an attribute's value, where, unlike in text, &copy=1 and &copyright are
// no references.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for s != "" {
		at := strings.IndexByte(s, '&')
		if at < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:at])
		s = s[at:]
		n := 1
		for n < len(s) && (isAlnum(s[n]) || n == 1 && s[n] == '#') {
			n++
		}
		switch ref := s[:n]; {
		case n < len(s) && s[n] == ';':
			n++
			b.WriteString(html.UnescapeString(s[:n]))
		case strings.HasPrefix(ref, "&#"):
			b.WriteString(html.UnescapeString(ref))
		case n < len(s) && s[n] == '=' || html.UnescapeString(ref) != html.UnescapeString(ref+";"):
			b.WriteString(ref)
		default:
			b.WriteString(html.UnescapeString(ref))
		}
		s = s[n:]
	}
	return b.String()
}

func isAlnum(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// asUTF8 percent-encodes the bytes of text that is not UTF-8, as older browsers sent them.
func asUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 0x80 {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c), 16)))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeCSS undoes backslash escapes.
func unescapeCSS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n := 0
		for n < 6 && i+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+n]) >= 0 {
			n++
		}
		switch {
		case n > 0:
			code, _ := strconv.ParseUint(s[i:i+n], 16, 32)
			b.WriteRune(rune(code))
			if i += n; i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
				i++
			}
			i--
		case s[i] == '\n':
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
