// Package look holds what all pages of the program look like: one style sheet, with the colours, type and grid for
// light and dark. Pages have no style of their own beside it, so that their Content-Security-Policy needs no
// exception.
package look

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
)

//go:embed look.css
var sheet []byte

// Sheet is the style sheet.
type Sheet struct {
	// Name is the file's name in URLs. It changes with the content, so that what is kept under it never grows old.
	Name    string
	Content []byte
}

// Style returns the style sheet.
func Style() Sheet {
	sum := sha256.Sum256(sheet)
	return Sheet{Name: "look-" + hex.EncodeToString(sum[:6]) + ".css", Content: sheet}
}

// Cache is the Cache-Control of what has such a name.
const Cache = "public, max-age=31536000, immutable"
