package cdx

import "strings"

// stripPathSession drops ASP.NET session segments, /(S(24 letters))/page.aspx.
func stripPathSession(path string) string {
	if !strings.Contains(path, ".aspx") {
		return path
	}
	for _, isSession := range []func(string) bool{isNamedSession, isBareSession} {
		for end := strings.LastIndexByte(path, '/'); end > 0; {
			start := strings.LastIndexByte(path[:end], '/')
			if start < 0 {
				break
			}
			if isSession(path[start+1:end]) && isASPX(path[end+1:]) {
				path = path[:start+1] + path[end+1:]
				break
			}
			end = start
		}
	}
	return path
}

// isNamedSession reports whether s is ((S(24)F(24)…)).
func isNamedSession(s string) bool {
	if len(s) < 29 || s[0] != '(' || s[len(s)-1] != ')' {
		return false
	}
	s = s[1 : len(s)-1]
	for ; len(s) >= 27; s = s[27:] {
		if !isAlpha(s[0]) || !isBareSession(s[1:27]) {
			return false
		}
	}
	return s == ""
}

// isBareSession reports whether s is (24 letters or digits).
func isBareSession(s string) bool {
	return len(s) == 26 && s[0] == '(' && s[25] == ')' && spanOf(s[1:25], isAlnum) == 24
}

// isASPX reports whether s names an .aspx page before any question mark.
func isASPX(s string) bool {
	if s == "" || s[0] == '?' {
		return false
	}
	i := strings.Index(s[1:], ".aspx")
	return i >= 0 && !strings.Contains(s[1:][:i], "?")
}

// stripQuerySession drops the session parameters that the field's indexers drop.
func stripQuerySession(query string) string {
	if query == "" {
		return query
	}
	query = stripParam(query, "jsessionid=", value32)
	query = stripParam(query, "phpsessid=", value32)
	query = stripParam(query, "sid=", value32)
	query = stripParam(query, "aspsessionid", valueASP)
	return stripParam(query, "cfid=", valueCF)
}

// stripParam removes the last parameter of that name (in any case) whose value is a session, with the & after it. The
// name may be the end of a longer one, as in the regular expressions that this replaces.
func stripParam(query, name string, value func(string) int) string {
	folded := lower(query)
	for at := len(folded); ; {
		at = strings.LastIndex(folded[:at], name)
		if at < 0 {
			return query
		}
		n := value(query[at+len(name):])
		if n < 0 {
			continue
		}
		end := at + len(name) + n
		switch {
		case end == len(query):
			return query[:at]
		case query[end] == '&':
			return query[:at] + query[end+1:]
		}
	}
}

// value32, valueASP and valueCF return the length of a session value at the start of s, -1 if there is none.
func value32(s string) int {
	if len(s) < 32 || spanOf(s[:32], isAlnum) < 32 {
		return -1
	}
	return 32
}

func valueASP(s string) int {
	if len(s) < 33 || spanOf(s[:8], isAlpha) < 8 || s[8] != '=' || spanOf(s[9:33], isAlpha) < 24 {
		return -1
	}
	return 33
}

func valueCF(s string) int {
	id := spanOf(s, notAmp)
	rest := s[id:]
	const token = "&cftoken="
	if id == 0 || len(rest) < len(token) || lower(rest[:len(token)]) != token {
		return -1
	}
	n := spanOf(rest[len(token):], notAmp)
	if n == 0 {
		return -1
	}
	return id + len(token) + n
}

func notAmp(c byte) bool { return c != '&' }

// spanOf returns how many bytes at the start of s are in the set.
func spanOf(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}
