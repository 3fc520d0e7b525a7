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
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Reader reads the agreed state's keys.
type Reader interface {
	// Get returns the value of key, or nil when there is none. The value must not be changed.
	Get(key []byte) ([]byte, error)
	// Scan calls visit for each key that has the prefix, in ascending order, starting at the first key
	// greater than or equal to from (from may be nil: the prefix's start), until visit returns false.
	// The slices are valid only during the call.
	Scan(prefix, from []byte, visit func(key, value []byte) bool) error
}

// Tx is a Reader whose writes are seen by its own later reads and become durable together. It may keep
// the slices it is given: they are not changed afterwards.
type Tx interface {
	Reader
	Set(key, value []byte) error
	Delete(key []byte) error
}

// Time is a moment in milliseconds since 1970-01-01 UTC, stamped by a leader.
type Time int64

// At returns the Time of t.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// NodeID is the fingerprint of a node's Ed25519 key: SHA-256 in lower-case base32 without padding, 52 characters.
type NodeID string

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
	return hexDigits(uint64(s), 3)
}

// hexDigits returns the last digits of n in hexadecimal.
func hexDigits(n uint64, digits int) string {
	var text [16]byte
	for i := digits - 1; i >= 0; i-- {
		text[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
	return string(text[:digits])
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

// Digest is a SHA-256 in binary; as text, 64 lower-case hexadecimal digits.
type Digest [sha256.Size]byte

// ErrDigest reports text that is not a SHA-256 in hexadecimal.
var ErrDigest = errors.New("not a SHA-256 in 64 hexadecimal digits")

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether no digest is known.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns the digest in hexadecimal; an unknown digest is the empty text.
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return []byte{}, nil
	}
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads 64 hexadecimal digits, or the empty text.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	if len(text) != 2*len(d) {
		return ErrDigest
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return ErrDigest
	}
	return nil
}
