package scope

import "strings"

// canonicalPath writes escapes in one way: bytes beyond ASCII escaped; escaped letters, digits and -._~ plain; hex
// digits in capitals. In a path, * and $ are escaped, just as a rule escapes those that it means literally; in a
// rule, a $ that is not at the end is escaped.
func canonicalPath(path string, rule bool) string {
	plain := true
	for i := range len(path) {
		if c := path[i]; c == '%' || c > 0x7e || c <= ' ' || c == '*' && !rule || c == '$' &&
			(!rule || i < len(path)-1) {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path)+16)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			hi, lo := unhex(path[i+1]), unhex(path[i+2])
			if hi >= 0 && lo >= 0 {
				if d := byte(hi<<4 | lo); unreserved(d) {
					b = append(b, d)
				} else {
					b = append(b, '%', hex[hi], hex[lo])
				}
				i += 2
				continue
			}
		}
		if c > 0x7e || c <= ' ' || c == '*' && !rule || c == '$' && (!rule || i < len(path)-1) {
			b = append(b, '%', hex[c>>4], hex[c&15])
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
