package rewrite

import "strings"

// plain resolves a reference that is written as it is resolved: nearly all are, and parsing a URL by the letter of its
// specification costs a hundred allocations. It reports false where that may not hold; then the parser decides. An
// absolute reference is resolved even against a base that is no URL.
func (l *Links) plain(ref string) (string, bool) {
	if n := plainOrigin(ref); n > 0 {
		if len(ref) == n {
			return ref + "/", true
		}
		return ref, plainRest(ref[n:])
	}
	if l.origin == "" {
		return "", false
	}
	switch c := ref[0]; {
	case c == '/' && (len(ref) == 1 || ref[1] != '/'):
		return l.origin + ref, plainRest(ref)
	case c == '?' || c == '#' || c == '/':
		return "", false
	case c == '.':
		return l.step(ref)
	}
	if end := strings.IndexAny(ref, ":/?#"); end >= 0 && ref[end] == ':' {
		return "", false // a scheme, or what looks like one
	}
	return l.folder + ref, plainRest("/" + ref)
}

// step resolves a reference that begins with ./ or ../.
func (l *Links) step(ref string) (string, bool) {
	folder := l.folder
	for {
		if rest, ok := strings.CutPrefix(ref, "./"); ok {
			ref = rest
			continue
		}
		rest, ok := strings.CutPrefix(ref, "../")
		if !ok {
			break
		}
		ref = rest
		if len(folder) > len(l.origin)+1 {
			folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
		}
	}
	if ref == "" || ref[0] == '.' || ref[0] == '/' {
		return "", false
	}
	return folder + ref, plainRest("/" + ref)
}

// plainOrigin is the length of "http://host" at the start of a URL that is written as browsers write it; 0 if it is
// not.
func plainOrigin(url string) int {
	rest, ok := strings.CutPrefix(url, "http://")
	if !ok {
		if rest, ok = strings.CutPrefix(url, "https://"); !ok {
			return 0
		}
	}
	end := len(rest)
	label := 0 // where the last label begins
	for i := range len(rest) {
		c := rest[i]
		if c == '/' || c == '?' || c == '#' {
			end = i
			break
		}
		switch {
		case c == '.':
			if i == label {
				return 0
			}
			label = i + 1
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-' && i > label && (i-label != 3 || rest[i-1] != '-'): // no xn--
		default:
			return 0
		}
	}
	if label >= end || rest[label] < 'a' || rest[label] > 'z' { // what ends in a number is an address
		return 0
	}
	if end < len(rest) && rest[end] != '/' {
		return 0
	}
	return len(url) - len(rest) + end
}

// plainPath reports whether a path is written as browsers write it. It may be empty.
func plainPath(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/' && i+1 < len(path) && path[i+1] == '.', c == '%' && i+2 < len(path) && path[i+1] == '2' &&
			path[i+2]|0x20 == 'e': // a step up, perhaps
			return false
		case !plainByte(c):
			return false
		}
	}
	return true
}

// plainRest reports whether a path with query and fragment is written as browsers write it.
func plainRest(rest string) bool {
	path, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(path, "?")
	if !plainPath(path) {
		return false
	}
	for i := range len(query) {
		if c := query[i]; !plainByte(c) && c != '?' || c == '\'' {
			return false
		}
	}
	for i := range len(fragment) {
		if c := fragment[i]; !plainByte(c) && c != '?' {
			return false
		}
	}
	return true
}

// plainByte reports whether browsers leave the byte as it is in each part of a URL behind the host.
func plainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '-', '.', '_', '~', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@', '/', '%':
		return true
	}
	return false
}
