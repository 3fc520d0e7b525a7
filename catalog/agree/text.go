package agree

import (
	"strings"
	"unicode/utf8"
)

// Text is checked here byte by byte and not with package unicode: its tables change with the versions of Go, and
// members with different programs have to decide alike.

// Readable refuses control characters and characters that reverse, hide or break text.
func Readable(text string) bool {
	for _, r := range text {
		switch {
		case r < ' ', 0x7f <= r && r <= 0xa0, r == 0xad, r == 0x61c, r == utf8.RuneError, r == 0xfeff,
			0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f,
			0xe0000 <= r && r <= 0xe0fff:
			return false
		}
	}
	return true
}

// IsCode reports whether the text is of letters of ASCII, digits and the given signs, and has at most most bytes.
func IsCode(text, signs string, most int) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return len(text) <= most
}
