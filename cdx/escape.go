package cdx

import "strings"

const hexDigits = "0123456789ABCDEF"

// unescape undoes percent escapes until none is left, in one pass.
// Escapes never overlap, so the order in which they are undone does not matter.
func unescape(s string) string {
	first := strings.IndexByte(s, '%')
	if first < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:first]...)
	for i := first; i < len(s); i++ {
		out = append(out, s[i])
		for n := len(out); n >= 3 && out[n-3] == '%'; n = len(out) {
			hi, lo := unhex(out[n-2]), unhex(out[n-1])
			if hi < 0 || lo < 0 {
				break
			}
			out = append(out[:n-3], byte(hi<<4|lo))
		}
	}
	return string(out)
}

// escape writes every byte that is not printable ASCII, and space, # and %, as an escape.
func escape(s string) string {
	n := 0
	for i := range len(s) {
		if mustEscape(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	out := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; mustEscape(c) {
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

func mustEscape(c byte) bool { return c <= ' ' || c >= 0x7f || c == '#' || c == '%' }

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// lower lower-cases ASCII letters only, so that other bytes stay as they are.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			out := []byte(s)
			for ; i < len(out); i++ {
				if 'A' <= out[i] && out[i] <= 'Z' {
					out[i] |= 0x20
				}
			}
			return string(out)
		}
	}
	return s
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
