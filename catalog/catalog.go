// Package catalog is what the nodes of a cluster agree on: who is a member, which replica keeps
// which shards where, which files the archive holds and how their copies stand, which jobs there
// are and who runs them. Commands change it; Apply carries them out over a key-value transaction
// that the caller commits; View answers questions over the same keys.
//
// The package is pure and deterministic: the same commands in the same order give the same bytes
// on every node. It knows no clock (a command carries the time its leader stamped), no randomness
// and no I/O but the transaction it is handed. A command that cannot be carried out is answered
// with a Refusal and changes nothing but the request window; only the transaction can fail.
package catalog

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"holdfast/catalog/agree"
)

// ReplicaName, CollectionName and FileName name a replica, a collection and a file of the archive.
type (
	ReplicaName    string
	CollectionName string
	FileName       string
)

// Shards is the number of parts into which each replica's files are divided, for ever.
const Shards = 4096

// Shard is one of the Shards parts, 0 to 4095.
type Shard uint16

// Shard returns the part that holds the file: the first 12 bits of the SHA-256 of its name.
func (f FileName) Shard() Shard {
	sum := sha256.Sum256([]byte(f))
	return Shard(uint16(sum[0])<<4 | uint16(sum[1])>>4)
}

// String returns the shard as three lower-case hexadecimal digits.
func (s Shard) String() string {
	if s >= Shards {
		return fmt.Sprintf("%03x", uint16(s))
	}
	return agree.HexDigits(uint64(s), 3)
}

// ParseShard reads three hexadecimal digits.
func ParseShard(text string) (Shard, error) {
	var n uint16
	if len(text) != 3 {
		return 0, fmt.Errorf("shard %q: want three hexadecimal digits", text)
	}
	for _, c := range []byte(text) {
		d := hexDigit(c)
		if d < 0 {
			return 0, fmt.Errorf("shard %q: want three hexadecimal digits", text)
		}
		n = n<<4 | uint16(d)
	}
	return Shard(n), nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// Check returns an error that says what is wrong with the name as a file's name, or nil. A name is 1 to 200
// bytes of letters, digits and ._-~+,=@ and does not begin with a dot, so that it is safe in any file system,
// URL and manifest.
func (f FileName) Check() error {
	if len(f) == 0 || len(f) > 200 {
		return fmt.Errorf("file name of %d bytes: want 1 to 200", len(f))
	}
	if f[0] == '.' {
		return fmt.Errorf("file name %q begins with a dot", string(f))
	}
	if f == "manifest-sha256.txt" {
		return fmt.Errorf("file name %q is that of the manifests", string(f))
	}
	for i := range len(f) {
		if !nameByte(f[i]) {
			return fmt.Errorf("file name %q: byte %d (%q) is not a letter, a digit or one of ._-~+,=@", string(f), i, f[i])
		}
	}
	return nil
}

func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '.', '_', '-', '~', '+', ',', '=', '@':
		return true
	}
	return false
}

// Fingerprint returns the id of the node whose Ed25519 public key it is.
func Fingerprint(key []byte) NodeID {
	sum := sha256.Sum256(key)
	return NodeID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])))
}
