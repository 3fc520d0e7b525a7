package chain

import (
	"hash/maphash"
	"strings"
	"sync"
)

// maxSearched is how many contents are remembered.
const maxSearched = 100_000

// Searched remembers what was looked through for links, so that what pages in a browser request again and again, as a
// script that is not to be cached, is not searched once more on each of them. It is safe for concurrent use.
type Searched struct {
	seed maphash.Seed
	mu   sync.Mutex
	hops map[uint64]int // of the shortest path
}

// NewSearched remembers nothing yet.
func NewSearched() *Searched { return &Searched{seed: maphash.MakeSeed(), hops: map[uint64]int{}} }

// key is that of a content, of where its links are relative to: itself, or the folder of the page that requested it.
func (s *Searched) key(v *Visit) uint64 {
	via, _, _ := strings.Cut(v.URI.Via, "?")
	return maphash.Comparable(s.seed, [3]string{v.Exchange.Response.PayloadDigest(), v.URI.URL,
		via[:strings.LastIndexByte(via, '/')+1]})
}

// part reports whether a visit is of a part of a page in a browser.
func part(v *Visit) bool {
	return v.Page.ID != "" && v.Page.Leave == nil && v.Exchange != nil && v.Exchange.Response != nil
}

// before reports whether the same was searched, at no longer a path.
func (s *Searched) before(v *Visit) bool {
	if !part(v) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hops, known := s.hops[s.key(v)]
	return known && hops <= len(v.URI.Path)
}

// done notes that the links of a visit are queued.
func (s *Searched) done(v *Visit) {
	if !part(v) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.key(v)
	if hops, known := s.hops[key]; known && hops <= len(v.URI.Path) {
		return
	}
	for old := range s.hops {
		if len(s.hops) < maxSearched {
			break
		}
		delete(s.hops, old)
	}
	s.hops[key] = len(v.URI.Path)
}
