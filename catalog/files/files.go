// Package files is the subject of what the archive holds: files and their copies, what each replica owes, what nodes
// found wrong and who may delete what; and the acts that move shards, for a shard is as much as its files. It is pure
// and deterministic.
package files

import (
	"crypto/sha256"
	"fmt"

	"holdfast/catalog/cluster"
)

// FileName names a file of the archive.
type FileName string

// Shard returns the part that holds the file: the first 12 bits of the SHA-256 of its name.
func (f FileName) Shard() cluster.Shard {
	sum := sha256.Sum256([]byte(f))
	return cluster.Shard(uint16(sum[0])<<4 | uint16(sum[1])>>4)
}

// Check returns what is wrong with the name as a file's name, or nil. A name has 1 to 200 bytes of letters, digits
// and ._-~+,=@ and does not begin with a dot, so that it is safe in any file system, URL and manifest.
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
			return fmt.Errorf("file name %q: byte %d (%q) is not a letter, a digit or one of ._-~+,=@", string(f),
				i, f[i])
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

// Cursor is a place in a walk over the files of shards, in the order of shards and then names: behind the file
// After of the shard, or before all its files. The zero Cursor is the start.
type Cursor struct {
	Shard cluster.Shard `json:"shard"`
	After FileName      `json:"after,omitempty"`
}

// ReplicaShard is one shard of one replica.
type ReplicaShard struct {
	Replica cluster.ReplicaName `json:"replica"`
	Shard   cluster.Shard       `json:"shard"`
}
