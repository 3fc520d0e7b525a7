package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"holdfast/catalog"
)

// ErrToken reports text that is not an access token.
var ErrToken = errors.New("not an access token: want holdfast-ID-SECRET")

const tokenPrefix = "holdfast-"

// SessionPrefix begins the text of a session, by which a person who is signed in to the pages uses the API. No access
// token has such an id.
const SessionPrefix = tokenPrefix + "session-"

// Token is an access token as its holder keeps it. The catalog keeps the ID and the secret's hash.
type Token struct {
	ID     string
	Secret string
}

// NewToken makes a token with a secret of 160 random bits.
func NewToken() Token {
	text := func(n int) string {
		b := make([]byte, n)
		rand.Read(b)
		return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
	}
	return Token{ID: text(5), Secret: text(20)}
}

// ParseToken reads holdfast-ID-SECRET. The error does not repeat the text.
func ParseToken(text string) (Token, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	if !ok || len(rest) > 200 {
		return Token{}, ErrToken
	}
	id, secret, ok := strings.Cut(rest, "-")
	if !ok || id == "" || secret == "" {
		return Token{}, ErrToken
	}
	return Token{ID: id, Secret: secret}, nil
}

// String returns the token's text, secret included.
func (t Token) String() string { return tokenPrefix + t.ID + "-" + t.Secret }

// Format hides the secret from %v and its kin in logs; String alone tells it.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, tokenPrefix+t.ID+"-…") }

// Hash returns the part of the secret that the catalog keeps.
func (t Token) Hash() catalog.Digest { return sha256.Sum256([]byte(t.Secret)) }
