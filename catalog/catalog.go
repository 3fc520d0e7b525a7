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
	"fmt"
)

// FileName names a file of the archive.
type FileName string

// Shard returns the part that holds the file: the first 12 bits of the SHA-256 of its name.
func (f FileName) Shard() Shard {
	sum := sha256.Sum256([]byte(f))
	return Shard(uint16(sum[0])<<4 | uint16(sum[1])>>4)
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
