package frontier

import "encoding/binary"

// seenCache remembers some URIs that are known for certain, so that links found on every page need no look into the
// database. It holds a fixed number; new ones displace old ones. Of a fingerprint it uses 83 bits of the digest.
type seenCache struct {
	slots []uint64
	mask  uint64
	turn  uint64
}

const (
	ways      = 4
	seenSlots = 1 << 21 // 16 MiB, where they are all used; no more than 2^24 sets could be told apart
)

// newSeenCache makes a cache of n URIs, a power of two.
func newSeenCache(n int) *seenCache {
	return &seenCache{slots: make([]uint64, n), mask: uint64(n/ways - 1)}
}

// set returns where fp may be, and as what.
func (c *seenCache) set(fp *fingerprintBytes) (set []uint64, tag uint64) {
	i := (binary.LittleEndian.Uint64(fp[:8]) >> 40 & c.mask) * ways
	return c.slots[i : i+ways], binary.LittleEndian.Uint64(fp[8:])
}

func (c *seenCache) has(fp fingerprintBytes) bool {
	set, tag := c.set(&fp)
	for _, s := range set {
		if s == tag {
			return tag != 0 // an empty slot
		}
	}
	return false
}

func (c *seenCache) put(fp fingerprintBytes) {
	set, tag := c.set(&fp)
	for _, s := range set {
		if s == tag {
			return
		}
	}
	c.turn++
	set[c.turn%ways] = tag
}

func (c *seenCache) remove(fp fingerprintBytes) {
	set, tag := c.set(&fp)
	for i := range set {
		if set[i] == tag {
			set[i] = 0
		}
	}
}
