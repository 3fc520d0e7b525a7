package scope

import (
	"bytes"
	"iter"
	"slices"
)

// Page is a fetched page, for the trap heuristics, which read it if they suspect something. The zero Page is unknown:
// it counts as one with new content.
type Page struct {
	// Text returns the document, unpacked, or its beginning.
	Text func() []byte
	// Found yields the URIs that were queued for it and may be new to the crawl, and whether each is a part of the
	// page.
	Found iter.Seq2[string, bool]
}

// passages are the runs of three words that a page has to read, each as a hash. Words with digits in them are left out,
// as are tags, but not the texts in their attributes, and scripts are read: a page may hold its text in either.
func passages(doc []byte) []uint64 {
	r := reader{}
	for len(doc) > 0 {
		open := bytes.IndexByte(doc, '<')
		if open < 0 || open+1 == len(doc) {
			r.read(doc)
			break
		}
		r.read(doc[:open])
		doc = doc[open+1:]
		if c := doc[0]; c != '/' && c != '!' && c != '?' && (c|0x20 < 'a' || c|0x20 > 'z') {
			continue // not a tag
		}
		doc = r.tag(doc)
	}
	return r.found
}

// reader turns text into passages.
type reader struct {
	before [2]uint64 // the two words before
	found  []uint64
}

// tag reads the inside of a tag, and returns what follows it.
func (r *reader) tag(doc []byte) []byte {
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; c {
		case '>':
			return doc[i+1:]
		case '"', '\'':
			if i == 0 || doc[i-1] != '=' {
				continue
			}
			n := bytes.IndexByte(doc[i+1:], c)
			if n < 0 {
				return doc[i+1:]
			}
			if value := doc[i+1 : i+1+n]; bytes.IndexByte(value, ' ') >= 0 {
				r.read(value)
			}
			i += n + 1
		}
	}
	return nil
}

// read adds text.
func (r *reader) read(text []byte) {
	for i := 0; i < len(text); {
		h, from, plain := uint64(hashSeed), i, true
		for ; i < len(text); i++ {
			c := text[i]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c >= '0' && c <= '9' || c == '_' {
				plain = false
			} else if (c < 'a' || c > 'z') && c < 0x80 {
				break
			}
			h = (h ^ uint64(c)) * hashPrime
		}
		if i == from {
			i++
			continue
		}
		if plain {
			r.found = append(r.found, (r.before[0]*hashPrime^r.before[1])*hashPrime^h)
			r.before[0], r.before[1] = r.before[1], h
		}
	}
}

// textOf stands for the readable text, 0 if that is not known.
func textOf(passages []uint64) uint64 {
	if len(passages) == 0 {
		return 0
	}
	h := uint64(hashSeed)
	for _, p := range passages {
		h = (h ^ p) * hashPrime
	}
	return h | 1
}

// readBefore remembers the passages of the last pages of a pattern, roughly: now and then it takes one for read that
// was not.
type readBefore struct {
	bits [64]uint64
	set  int
}

// filters is how many of the entries that are bounded one of these stands for.
const filters = 6

// mostTaken bounds roughly how many passages of a page are remembered; for a longer page, some of them stand for all,
// the same each time.
const mostTaken = 1024

// takeIn adds a page's passages, and reports whether any of them was new.
func (f *readBefore) takeIn(passages []uint64) bool {
	every := uint64(1)
	for uint64(len(passages))/every > mostTaken {
		every *= 2
	}
	if every > 1 {
		passages = slices.DeleteFunc(slices.Clone(passages), func(p uint64) bool { return p*hashPrime>>32%every != 0 })
	}
	if !slices.ContainsFunc(passages, f.isNew) {
		return false
	}
	if f.set > len(f.bits)*64/2 {
		*f = readBefore{}
	}
	for _, p := range passages {
		if word, bit := f.place(p); *word&bit == 0 {
			*word |= bit
			f.set++
		}
	}
	return true
}

func (f *readBefore) isNew(p uint64) bool {
	word, bit := f.place(p)
	return *word&bit == 0
}

func (f *readBefore) place(p uint64) (word *uint64, bit uint64) {
	p ^= p >> 32
	p *= hashPrime
	return &f.bits[p>>20%64], 1 << (p >> 40 % 64)
}
