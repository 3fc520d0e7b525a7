package rebuild

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Kind says what a claim stands in. A stronger kind is greater: of what one voter says, the strongest counts.
type Kind int

// The kinds of claims.
const (
	Manifest  Kind = iota // a line of a shard's manifest
	Note                  // of a file that waits in an outbox
	Checksums             // a checksum replica's manifest
	Ledger                // a signed ledger
	Bytes                 // the bytes themselves, read just now; they are nobody's voice
)

func (k Kind) String() string {
	return []string{"manifest", "outbox", "checksums", "ledger", "bytes"}[k]
}

// Claim is what one witness says a file is.
type Claim struct {
	Voter  string // the replica; the folder where it is not known whose it is
	Kind   Kind
	Where  string // for people
	SHA256 catalog.Digest
	Size   int64 // -1: not said
}

// Verdict is what a file is, by all that is claimed of it.
type Verdict struct {
	SHA256    catalog.Digest // zero if that is not decided
	Size      int64          // -1 if no claim for this SHA-256 says it
	Unanimous bool           // all claims say the same
	Why       string         // for people; empty if it is unanimous
}

// Decide votes: each voter has one voice, for what the strongest of its claims says; a voter of which two claims of the
// same strength differ has none. Most voices win. Where they are as many, that wins of which there are bytes, and then
// that which most ledgers say. Otherwise nothing is decided.
func Decide(claims []Claim) Verdict {
	all := digestsOf(claims)
	if len(all) == 0 {
		return Verdict{Size: -1}
	}
	v := Verdict{SHA256: all[0], Unanimous: len(all) == 1}
	if !v.Unanimous {
		voices := voicesOf(claims)
		left, how := all, ""
		for _, step := range []struct {
			name  string
			count func(catalog.Digest) int
		}{
			{"most voices", func(d catalog.Digest) int {
				return countOf(voices,
					func(is catalog.Digest) bool { return is == d })
			}},
			{"bytes that were read", func(d catalog.Digest) int {
				return min(1, len(claimsOf(claims, func(c Claim) bool {
					return c.Kind == Bytes &&
						c.SHA256 == d
				})))
			}},
			{"most ledgers", func(d catalog.Digest) int {
				return len(claimsOf(claims, func(c Claim) bool {
					return c.Kind == Ledger &&
						c.SHA256 == d
				}))
			}},
		} {
			if left, how = most(left, step.count), step.name; len(left) == 1 {
				break
			}
		}
		if len(left) != 1 {
			return Verdict{Size: -1, Why: describe(claims, all) + "; none outweighs the others"}
		}
		v.SHA256, v.Why = left[0], describe(claims, all)+"; "+left[0].String()[:12]+" has the "+how
	}
	v.Size = sizeOf(claims, v.SHA256)
	return v
}

// digestsOf returns what is claimed, in order.
func digestsOf(claims []Claim) []catalog.Digest {
	var all []catalog.Digest
	for _, c := range claims {
		if c.Kind != Bytes && !slices.Contains(all, c.SHA256) {
			all = append(all, c.SHA256)
		}
	}
	if len(all) == 0 { // nobody says what the bytes are to be
		for _, c := range claims {
			if !slices.Contains(all, c.SHA256) {
				all = append(all, c.SHA256)
			}
		}
	}
	slices.SortFunc(all, func(a, b catalog.Digest) int { return slices.Compare(a[:], b[:]) })
	return all
}

// voicesOf returns what each voter says.
func voicesOf(claims []Claim) map[string]catalog.Digest {
	strongest := map[string]Kind{}
	for _, c := range claims {
		if was, there := strongest[c.Voter]; c.Kind != Bytes && (!there || c.Kind > was) {
			strongest[c.Voter] = c.Kind
		}
	}
	voices, divided := map[string]catalog.Digest{}, map[string]bool{}
	for _, c := range claims {
		if kind, there := strongest[c.Voter]; !there || c.Kind != kind {
			continue
		}
		if said, there := voices[c.Voter]; there && said != c.SHA256 {
			divided[c.Voter] = true
		}
		voices[c.Voter] = c.SHA256
	}
	for voter := range divided {
		delete(voices, voter)
	}
	return voices
}

func countOf(voices map[string]catalog.Digest, is func(catalog.Digest) bool) (n int) {
	for _, d := range voices {
		if is(d) {
			n++
		}
	}
	return n
}

func claimsOf(claims []Claim, is func(Claim) bool) (out []Claim) {
	for _, c := range claims {
		if is(c) {
			out = append(out, c)
		}
	}
	return out
}

// most returns those with the greatest count.
func most[T any](all []T, count func(T) int) (out []T) {
	best := -1
	for _, one := range all {
		switch n := count(one); {
		case n > best:
			best, out = n, []T{one}
		case n == best:
			out = append(out, one)
		}
	}
	return out
}

// sizeOf returns the size that goes with a SHA-256: that of bytes that were read before that of ledgers, and so on.
func sizeOf(claims []Claim, of catalog.Digest) int64 {
	said := claimsOf(claims, func(c Claim) bool { return c.SHA256 == of && c.Size >= 0 })
	if len(said) == 0 {
		return -1
	}
	return slices.MaxFunc(said, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Size, b.Size))
	}).Size
}

// describe says who claims what.
func describe(claims []Claim, all []catalog.Digest) string {
	texts := make([]string, 0, len(all))
	for _, d := range all {
		var who []string
		for _, c := range claims {
			if text := fmt.Sprintf("%s of %s", c.Kind, c.Voter); c.SHA256 == d &&
				!slices.Contains(who, text) {
				who = append(who, text)
			}
		}
		texts = append(texts, d.String()[:12]+" ("+strings.Join(who, ", ")+")")
	}
	return strings.Join(texts, ", ")
}
