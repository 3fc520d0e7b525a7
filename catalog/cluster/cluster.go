// Package cluster is the subject of who the cluster is: its members, its replicas and collections, where the shards of
// each replica are, and the tokens by which nodes join. It knows nothing of files. It is pure and deterministic.
package cluster

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"holdfast/catalog/agree"
)

// ReplicaName and CollectionName name a replica and a collection of the archive.
type (
	ReplicaName    string
	CollectionName string
)

// Shards is the number of parts into which each replica's files are divided, for ever.
const Shards = 4096

// Shard is one of the Shards parts, 0 to 4095.
type Shard uint16

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

// Fingerprint returns the id of the node whose Ed25519 public key it is.
func Fingerprint(key []byte) agree.NodeID {
	sum := sha256.Sum256(key)
	return agree.NodeID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])))
}
