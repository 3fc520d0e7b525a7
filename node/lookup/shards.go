package lookup

import (
	"encoding/base64"
	"fmt"

	"holdfast/catalog"
)

// shardList is a list of shards as nodes send it to each other: one bit for each of the 4 096, the first shard's the
// lowest of the first byte, in base64. Queries name most shards most of the time; as numbers they would take longer to
// read than the query takes.
type shardList []catalog.Shard

// MarshalText writes the list's set of shards.
func (l shardList) MarshalText() ([]byte, error) {
	var bits [catalog.Shards / 8]byte
	for _, s := range l {
		if s >= catalog.Shards {
			return nil, fmt.Errorf("shard %d: want a number below %d", s, catalog.Shards)
		}
		bits[s/8] |= 1 << (s % 8)
	}
	return base64.StdEncoding.AppendEncode(nil, bits[:]), nil
}

// UnmarshalText reads what MarshalText wrote; the list is in order.
func (l *shardList) UnmarshalText(text []byte) error {
	const size = catalog.Shards / 8
	bits, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	if len(bits) != size {
		return fmt.Errorf("read shards: %d bytes, want %d", len(bits), size)
	}
	*l = (*l)[:0]
	for s := range catalog.Shards {
		if bits[s/8]&(1<<(s%8)) != 0 {
			*l = append(*l, catalog.Shard(s))
		}
	}
	return nil
}
