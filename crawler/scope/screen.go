package scope

import (
	"math/bits"
	"strings"
)

// gram is how many bytes of a pattern's literal are looked for first, in all places of a text at once.
const gram = 4

// screen tells whether any of many patterns matches. Of each pattern it knows four bytes in a row that every match
// contains; only the patterns whose bytes a text contains are tried. It is never changed.
type screen struct {
	all    patterns
	filter []uint64            // bits of the hashes of grams
	shift  int                 // of a hash, so that it is a bit's number
	grams  map[uint32][]uint32 // numbers of patterns
	others patterns            // those without such bytes
}

func newScreen(all patterns) *screen {
	size := max(10, bits.Len(uint(len(all)*64)))
	s := &screen{all: all, filter: make([]uint64, 1<<size/64), shift: 32 - size, grams: map[uint32][]uint32{}}
	for i, p := range all {
		if len(p.literal) < gram {
			s.others = append(s.others, p)
			continue
		}
		g := s.rarest(p.literal)
		s.grams[g] = append(s.grams[g], uint32(i))
		bit := s.bit(g)
		s.filter[bit/64] |= 1 << (bit % 64)
	}
	return s
}

// rarest returns the bytes of a literal that the fewest patterns have been found by, and not many URLs contain.
func (s *screen) rarest(literal string) (best uint32) {
	least := -1
	for i := range len(literal) - gram + 1 {
		used := len(s.grams[gramAt(literal, i)]) * 2
		if strings.Contains(commonInURLs, literal[i:i+gram]) {
			used += 1000
		}
		if least < 0 || used < least {
			best, least = gramAt(literal, i), used
		}
	}
	return best
}

const commonInURLs = "https://www. http://www. .com/ .org/ .html .php? .jpg .png .css " +
	"/wp-content/uploads/ /index. /image /static/"

func gramAt(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

// bit is the number of a gram's bit in the filter.
func (s *screen) bit(g uint32) uint32 { return g * 0x9e3779b1 >> s.shift }

// matches reports whether any pattern matches.
func (s *screen) matches(text string) bool {
	for i := 0; i+gram <= len(text); i++ {
		g := gramAt(text, i)
		if bit := s.bit(g); s.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, number := range s.grams[g] {
			if s.all[number].matches(text) {
				return true
			}
		}
	}
	return s.others.first(text) != nil
}
