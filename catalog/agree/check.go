package agree

import "unicode/utf8"

// CheckName refuses what cannot be the name of a thing of this kind: 1 to 64 letters, digits and ._- not
// beginning with a dot.
func CheckName(thing, name string) error {
	if len(name) == 0 || len(name) > 64 || name[0] == '.' {
		return Refuse(Invalid, "%s name %q: want 1 to 64 bytes, the first no dot", thing, Clip(name, 64))
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return Refuse(Invalid, "%s name %q: only letters, digits and ._-", thing, name)
		}
	}
	return nil
}

// Clip shortens text to at most n bytes of whole characters.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// ClipReason bounds what nodes and people give as a reason.
func ClipReason(text string) string { return Clip(text, 500) }

// CheckItems refuses a command with no items or too many.
func CheckItems(n int) error {
	if n < 1 || n > MaxItems {
		return Refuse(Invalid, "%d items: want 1 to %d", n, MaxItems)
	}
	return nil
}
