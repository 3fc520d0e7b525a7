// Package agree is the engine of agreement: it carries out commands over a key-value transaction, and knows nothing of
// what they are about. A Table lists the commands; Apply finds the command's Rule, lets it change a State, and hands
// the changes to the transaction together: all of them, or none when the command is refused. Around each command the
// engine keeps the window of requests (a retry is applied once), the audit trail, the clock and the cluster's level.
//
// The package is pure and deterministic, and so must the rules be: the same commands in the same order give the same
// bytes on every node. A command carries the time that its leader stamped.
package agree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// Reader reads the agreed state's keys.
type Reader interface {
	// Get returns the value of key, or nil if there is none. The value must not be changed.
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

// Hex writes a number so that keys sort as numbers do.
func Hex(n uint64) string { return HexDigits(n, 16) }

// HexDigits returns the last digits of n in hexadecimal.
func HexDigits(n uint64, digits int) string {
	var text [16]byte
	for i := digits - 1; i >= 0; i-- {
		text[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
	return string(text[:digits])
}
