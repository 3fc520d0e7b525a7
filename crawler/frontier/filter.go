package frontier

import (
	"context"
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// filter says of most URIs that are new that they are, so that these need no look into the database. It is a Bloom
// filter whose every entry lies in one cache line, in parts that double: it has 12 bits and more for a URI and
// overlooks about one new URI in twenty. It never says of a known one that it is new, for it has all that are in the
// database and all that are to be.
//
// It lives in memory only. That of a frontier that was used before is read from it in the background; until then it
// says nothing.
type filter struct {
	parts    []part
	size     int // words, of all parts
	complete bool
}

// part has room for a number of URIs; only the last one gets new ones.
type part struct {
	words []uint64
	room  int
}

const (
	lineWords    = 8         // of 64 bits: a cache line
	lineURIs     = 42        // that a line is made for
	firstLines   = 1 << 10   // 64 KiB
	filterWords  = 256 << 17 // 256 MiB: for 180 million URIs; of more it is wrong more often
	filterProbes = 6         // bits set for a URI, of nine bits of its fingerprint each
	probeMask    = 1<<9 - 1  // a bit of a line
	scanPage     = 1024      // fingerprints that are taken over at a time
)

// lines makes a part.
func (s *filter) lines(n int) {
	s.size += n * lineWords
	s.parts = append(s.parts, part{words: make([]uint64, n*lineWords), room: n * lineURIs})
}

// line returns the first word of a fingerprint's line, and its probes. It uses the digest's bytes, not the host's.
func (p *part) line(fp *fingerprintBytes) (words []uint64, probes uint64) {
	n, _ := bits.Mul64(uint64(binary.LittleEndian.Uint32(fp[12:]))<<32, uint64(len(p.words)/lineWords))
	return p.words[n*lineWords:][:lineWords], binary.LittleEndian.Uint64(fp[4:12]) >> 8
}

func (p *part) has(fp *fingerprintBytes) bool {
	words, probes := p.line(fp)
	for range filterProbes {
		if words[probes&probeMask>>6]&(1<<(probes&63)) == 0 {
			return false
		}
		probes >>= 9
	}
	return true
}

// isNew reports whether a URI is certainly unknown.
func (s *filter) isNew(fp fingerprintBytes) bool {
	if !s.complete {
		return false
	}
	for i := len(s.parts) - 1; i >= 0; i-- {
		if s.parts[i].has(&fp) {
			return false
		}
	}
	return true
}

// put takes a URI that is known from now on.
func (s *filter) put(fp fingerprintBytes) {
	if len(s.parts) == 0 {
		s.lines(firstLines)
	}
	last := &s.parts[len(s.parts)-1]
	if last.room <= 0 && s.size+2*len(last.words) <= filterWords {
		s.lines(2 * len(last.words) / lineWords)
		last = &s.parts[len(s.parts)-1]
	}
	last.room--
	words, probes := last.line(&fp)
	for range filterProbes {
		words[probes&probeMask>>6] |= 1 << (probes & 63)
		probes >>= 9
	}
}

// scan takes over the fingerprints of the database as txn sees it, until there are no more or ctx ends. All that
// become known after txn began are put in by those who make them known.
func (f *store) scan(ctx context.Context, txn *badger.Txn) {
	defer txn.Discard()
	begin := time.Now()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("u")})
	defer it.Close()
	page := make([]fingerprintBytes, 0, scanPage)
	total := 0
	take := func(last bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, fp := range page {
			f.filter.put(fp)
		}
		f.filter.complete = last
		total += len(page)
		page = page[:0]
	}
	for it.Rewind(); it.Valid(); it.Next() {
		if key := it.Item().Key(); len(key) == 1+len(fingerprintBytes{}) {
			page = append(page, fingerprintBytes(key[1:]))
		}
		if len(page) < scanPage {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		take(false)
	}
	take(true)
	if f.cfg.Log != nil {
		f.cfg.Log.Debug("frontier's filter is read", "uris", total, "took", time.Since(begin).Round(time.Millisecond))
	}
}
