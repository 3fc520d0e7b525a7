package frontier

import "encoding/binary"

// seenCache remembers some fingerprints of URIs that are known for certain, so that links found on every page need no look
// into the database. It holds a fixed number; new ones displace old ones.
type seenCache struct {
	slots []fingerprintBytes
	mask  uint64
	turn  uint64
}

const ways = 4

// newSeenCache makes a cache of n fingerprints, a power of two.
func newSeenCache(n int) *seenCache {
	return &seenCache{slots: make([]fingerprintBytes, n), mask: uint64(n/ways - 1)}
}

func (c *seenCache) set(fp fingerprintBytes) []fingerprintBytes {
	i := (binary.LittleEndian.Uint64(fp[:8]) & c.mask) * ways
	return c.slots[i : i+ways]
}

func (c *seenCache) has(fp fingerprintBytes) bool {
	for _, s := range c.set(fp) {
		if s == fp {
			return true
		}
	}
	return false
}

func (c *seenCache) put(fp fingerprintBytes) {
	set := c.set(fp)
	for i := range set {
		if set[i] == fp {
			return
		}
	}
	c.turn++
	set[c.turn%ways] = fp
}

func (c *seenCache) remove(fp fingerprintBytes) {
	set := c.set(fp)
	for i := range set {
		if set[i] == fp {
			set[i] = fingerprintBytes{}
		}
	}
}
