package warc

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// ErrAlgorithm reports a digest made with an algorithm that is not known here.
var ErrAlgorithm = errors.New("unknown digest algorithm")

// Algorithm names a way to make a digest. The zero value is SHA-1, as most of the field uses.
type Algorithm int

// The algorithms. MD5 and SHA-512 are only met in other tools' files.
const (
	SHA1 Algorithm = iota
	SHA256
	SHA512
	MD5
)

// New returns the algorithm's hash.
func (a Algorithm) New() hash.Hash {
	switch a {
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	case MD5:
		return md5.New()
	}
	return sha1.New()
}

func (a Algorithm) String() string {
	switch a {
	case SHA256:
		return "sha256"
	case SHA512:
		return "sha512"
	case MD5:
		return "md5"
	}
	return "sha1"
}

// size returns the number of bytes of the algorithm's sums.
func (a Algorithm) size() int {
	switch a {
	case SHA256:
		return sha256.Size
	case SHA512:
		return sha512.Size
	case MD5:
		return md5.Size
	}
	return sha1.Size
}

// Digest is a labelled digest as WARC-Block-Digest and WARC-Payload-Digest carry it.
type Digest struct {
	Algorithm Algorithm
	Sum       []byte
}

// String writes the digest as other tools expect it: SHA-1 in base32, the others in hexadecimal.
func (d Digest) String() string {
	if d.Algorithm == SHA1 {
		return "sha1:" + base32.StdEncoding.EncodeToString(d.Sum)
	}
	return d.Algorithm.String() + ":" + hex.EncodeToString(d.Sum)
}

// Equal reports whether both digests say the same of the same bytes.
func (d Digest) Equal(other Digest) bool {
	return d.Algorithm == other.Algorithm && bytes.Equal(d.Sum, other.Sum)
}

// ParseDigest reads a labelled digest: base32 (with or without padding, of any case)
// or hexadecimal. The error is ErrAlgorithm for a label not known here.
func ParseDigest(s string) (Digest, error) {
	label, value, ok := strings.Cut(s, ":")
	if !ok {
		return Digest{}, fmt.Errorf("digest %.60q has no label", s)
	}
	var a Algorithm
	switch strings.ToLower(label) {
	case "sha1", "sha-1":
		a = SHA1
	case "sha256", "sha-256":
		a = SHA256
	case "sha512", "sha-512":
		a = SHA512
	case "md5":
		a = MD5
	default:
		return Digest{}, fmt.Errorf("digest label %.20q: %w", label, ErrAlgorithm)
	}
	if len(value) == 2*a.size() {
		if sum, err := hex.DecodeString(value); err == nil {
			return Digest{a, sum}, nil
		}
	}
	value = strings.TrimRight(strings.ToUpper(value), "=")
	sum, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(value)
	if err != nil || len(sum) != a.size() {
		return Digest{}, fmt.Errorf("digest value %.80q is neither base32 nor hexadecimal", value)
	}
	return Digest{a, sum}, nil
}

// DigestOf labels the sum of a hash made by the algorithm's New.
func DigestOf(a Algorithm, h hash.Hash) Digest { return Digest{a, h.Sum(nil)} }
