package catalog

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"unicode/utf8"
)

// Fingerprint returns the id of the node whose Ed25519 public key it is.
func Fingerprint(key []byte) NodeID {
	sum := sha256.Sum256(key)
	return NodeID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])))
}

// checkName refuses what cannot be the name of a thing of this kind: 1 to 64 letters, digits and ._- not
// beginning with a dot.
func checkName(thing, name string) error {
	if len(name) == 0 || len(name) > 64 || name[0] == '.' {
		return refuse(Invalid, "%s name %q: want 1 to 64 bytes, the first no dot", thing, clip(name, 64))
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return refuse(Invalid, "%s name %q: only letters, digits and ._-", thing, name)
		}
	}
	return nil
}

// clip shortens text to at most n bytes of whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// clipReason bounds what nodes and people give as a reason.
func clipReason(text string) string { return clip(text, 500) }

func checkItems(n int) error {
	if n < 1 || n > MaxItems {
		return refuse(Invalid, "%d items: want 1 to %d", n, MaxItems)
	}
	return nil
}

// item makes an item's result of a handler's error: a refusal is the item's, another error the command's.
func item(name FileName, err error) (ItemResult, error) {
	if r, ok := err.(*Refusal); ok {
		return ItemResult{Name: FileName(clip(string(name), 200)), Refusal: r}, nil
	}
	return ItemResult{Name: name}, err
}
