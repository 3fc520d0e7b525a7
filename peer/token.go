package peer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// tokenPrefix begins every join token; its number is the version of what follows.
const tokenPrefix = "holdfast-join-1-"

const (
	maxTokenText      = 16 << 10
	maxTokenAddresses = 64
	maxTokenField     = 255
	minTokenSecret    = 16
	tokenCheckBytes   = 4
)

// Token lets one machine join a cluster, once. It tells the machine where members are
// and which keys they have, and proves to them, by its secret, that it was invited.
// The cluster keeps only the hash of the secret.
type Token struct {
	ID        string // names the token in lists and logs; no secret
	Cluster   string
	Addresses []TokenAddress
	Replica   string    // the replica that the machine is to join
	Expires   time.Time // to the second
	Secret    []byte
}

// TokenAddress is one address of one member, with the key that must answer there.
type TokenAddress struct {
	Address     string
	Fingerprint ID
}

// ErrMalformedToken reports that a text is no join token, or was damaged on its way.
var ErrMalformedToken = errors.New("malformed join token")

// SecretHash returns the SHA-256 of the token's secret, which the cluster stores.
func (t Token) SecretHash() []byte {
	sum := sha256.Sum256(t.Secret)
	return sum[:]
}

// Check reports why the token cannot be encoded or used: a field missing or too long.
func (t Token) Check() error {
	switch {
	case t.ID == "" || t.Cluster == "":
		return fmt.Errorf("%w: id or cluster missing", ErrMalformedToken)
	case len(t.ID) > maxTokenField || len(t.Cluster) > maxTokenField || len(t.Replica) > maxTokenField:
		return fmt.Errorf("%w: a field is longer than %d bytes", ErrMalformedToken, maxTokenField)
	case len(t.Secret) < minTokenSecret || len(t.Secret) > maxTokenField:
		return fmt.Errorf("%w: secret of %d bytes", ErrMalformedToken, len(t.Secret))
	case len(t.Addresses) == 0 || len(t.Addresses) > maxTokenAddresses:
		return fmt.Errorf("%w: %d addresses", ErrMalformedToken, len(t.Addresses))
	}
	for _, a := range t.Addresses {
		if _, _, err := net.SplitHostPort(a.Address); err != nil || len(a.Address) > maxTokenField {
			return fmt.Errorf("%w: address %q", ErrMalformedToken, clip(a.Address))
		}
		if _, err := ParseID(string(a.Fingerprint)); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformedToken, err)
		}
	}
	return nil
}

// Encode returns the token as one word of text, with a checksum. A token that Check refuses is encoded too, and
// refused when it is parsed.
func (t Token) Encode() string {
	var b []byte
	b = appendText(b, t.ID)
	b = appendText(b, t.Cluster)
	b = appendText(b, t.Replica)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Expires.Unix()))
	b = appendText(b, string(t.Secret))
	b = append(b, byte(len(t.Addresses)))
	for _, a := range t.Addresses {
		b = appendText(b, a.Address)
		b = appendText(b, string(a.Fingerprint))
	}
	sum := sha256.Sum256(b)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(b, sum[:tokenCheckBytes]...))
}

// ParseToken reads a token that Encode wrote; spaces around it are ignored. Whether it
// has expired or was used is for the cluster to say.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxTokenText {
		return Token{}, fmt.Errorf("%w: %d characters", ErrMalformedToken, len(text))
	}
	body, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return Token{}, fmt.Errorf("%w: it does not begin with %q", ErrMalformedToken, tokenPrefix)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(raw) < tokenCheckBytes {
		return Token{}, fmt.Errorf("%w: characters missing or wrong", ErrMalformedToken)
	}
	data, check := raw[:len(raw)-tokenCheckBytes], raw[len(raw)-tokenCheckBytes:]
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:tokenCheckBytes], check) {
		return Token{}, fmt.Errorf("%w: its checksum is wrong; was it copied completely?", ErrMalformedToken)
	}
	r := fields{rest: data}
	t := Token{ID: r.text(), Cluster: r.text(), Replica: r.text()}
	t.Expires = time.Unix(int64(r.uint64()), 0).UTC()
	t.Secret = []byte(r.text())
	for range r.byte() {
		t.Addresses = append(t.Addresses, TokenAddress{Address: r.text(), Fingerprint: ID(r.text())})
		if r.short {
			break
		}
	}
	if r.short || len(r.rest) > 0 {
		return Token{}, fmt.Errorf("%w: wrong length", ErrMalformedToken)
	}
	if err := t.Check(); err != nil {
		return Token{}, err
	}
	return t, nil
}

// appendText appends one byte of length and the text, cut to at most 255 bytes.
func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), maxTokenField)]
	b = append(b, byte(len(text)))
	return append(b, text...)
}

// fields reads what appendText and encoding/binary wrote; short is set, for good, once
// bytes were asked for that are not there.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if f.short || len(f.rest) < n {
		f.short = true
		return nil
	}
	out := f.rest[:n]
	f.rest = f.rest[n:]
	return out
}

func (f *fields) byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) uint64() uint64 {
	if b := f.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (f *fields) text() string { return string(f.take(int(f.byte()))) }
