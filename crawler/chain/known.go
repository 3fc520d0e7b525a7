package chain

import (
	"hash/maphash"
	"sync/atomic"
)

// Known remembers some links that are in the frontier for certain: most of a page's were on the page before, and need
// neither a decision nor a look into the frontier. It is of a fixed size; new ones displace old ones. It is safe for
// concurrent use.
type Known struct {
	seeds [2]maphash.Seed
	slots []atomic.Pointer[knownLink]
}

// knownLink stands for a link by two hashes of it, as long as the frontier has forgotten nothing since.
type knownLink struct {
	hashes    [2]uint64
	forgotten uint64
}

// maxKnown is how many links are remembered, in 2 MB; a power of two.
const maxKnown = 1 << 16

func NewKnown() *Known {
	return &Known{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([]atomic.Pointer[knownLink], maxKnown)}
}

// has tells whether the frontier, which has forgotten URIs so many times, knows the link. False: it may know it.
func (k *Known) has(url string, forgotten uint64) bool {
	first := maphash.String(k.seeds[0], url)
	have := k.slots[first%maxKnown].Load()
	return have != nil && have.hashes[0] == first && have.forgotten == forgotten && have.hashes[1] == maphash.String(k.seeds[1], url)
}

// add takes in a link that the frontier came to know, or knew, after it had forgotten URIs so many times.
func (k *Known) add(url string, forgotten uint64) {
	hashes := [2]uint64{maphash.String(k.seeds[0], url), maphash.String(k.seeds[1], url)}
	k.slots[hashes[0]%maxKnown].Store(&knownLink{hashes, forgotten})
}
