package rebuild

import (
	"crypto/sha256"
	"strings"
	"testing"

	"holdfast/catalog"
)

func TestDecide(t *testing.T) {
	a, b, c := catalog.Digest(sha256.Sum256([]byte("a"))), catalog.Digest(sha256.Sum256([]byte("b"))),
		catalog.Digest(sha256.Sum256([]byte("c")))
	say := func(voter string, kind Kind, is catalog.Digest, size int64) Claim {
		return Claim{Voter: voter, Kind: kind, Where: voter + "/x", SHA256: is, Size: size}
	}
	for _, tt := range []struct {
		name   string
		claims []Claim
		want   catalog.Digest
		size   int64
		why    string
	}{
		{"nobody says anything", nil, catalog.Digest{}, -1, ""},
		{"one manifest", []Claim{say("north", Manifest, a, -1)}, a, -1, ""},
		{"its ledger has the size", []Claim{say("north", Manifest, a, -1), say("north", Ledger, a, 7)},
			a, 7, ""},
		{"bytes alone", []Claim{say("north", Bytes, a, 7)}, a, 7, ""},
		{"different bytes alone", []Claim{say("north", Bytes, a, 7), say("south", Bytes, b, 7)},
			catalog.Digest{}, -1, "none outweighs"},
		{"bytes have no voice", []Claim{say("north", Manifest, a, -1), say("north", Bytes, b, 7)}, a, -1, ""},
		{"two against one", []Claim{say("north", Manifest, a, -1), say("south", Manifest, b, -1),
			say("sums", Checksums, b, 9)}, b, 9, "most voices"},
		{"two folders of a replica are one voice", []Claim{say("north", Manifest, a, 1), say("north",
			Manifest, a, 1), say("south", Manifest, b, 1)},
			catalog.Digest{}, -1, "none outweighs"},
		{"a replica's ledger outweighs its manifest", []Claim{say("north", Manifest, a, 1), say("north",
			Ledger, b, 2), say("south", Manifest, b, 2)}, b, 2, "most voices"},
		{"a replica's own manifest does not outweigh its ledger", []Claim{say("north", Manifest, a, 1),
			say("north", Ledger, b, 2)}, b, 2, "most voices"},
		{"a divided replica has no voice", []Claim{say("north", Manifest, a, 1), say("north", Manifest,
			b, 1), say("south", Manifest, c, 3)}, c, 3, "most voices"},
		{"as many: the bytes", []Claim{say("north", Manifest, a, -1), say("south", Manifest, b, -1),
			say("south", Bytes, b, 4), say("north", Bytes, c, 4)}, b, 4, "bytes that were read"},
		{"as many, both with bytes: the ledger", []Claim{say("north", Ledger, a, 1), say("south",
			Manifest, b, 1), say("south", Bytes, b, 1), say("north", Bytes, a, 1)}, a, 1, "most ledgers"},
		{"as many in all", []Claim{say("north", Ledger, a, 1), say("south", Ledger, b, 1), say("south",
			Bytes, b, 1), say("north", Bytes, a, 1)}, catalog.Digest{}, -1, "none outweighs"},
		{"bytes of the fewer do not win", []Claim{say("north", Manifest, a, 1), say("south", Manifest, a,
			1), say("west", Manifest, b, 1), say("west", Bytes, b, 1)}, a, 1, "most voices"},
		{"a size that was read counts more than one that was said", []Claim{say("north", Ledger, a, 5),
			say("north", Bytes, a, 6)}, a, 6, ""},
	} {
		got := Decide(tt.claims)
		if got.SHA256 != tt.want || got.Size != tt.size || got.Unanimous != (tt.why == "" &&
			len(tt.claims) > 0) ||
			!strings.Contains(got.Why, tt.why) || (got.Why == "") != (tt.why == "") {
			t.Errorf("%s: %+v", tt.name, got)
		}
		for i, j := 0, len(tt.claims)-1; i < j; i, j = i+1, j-1 {
			tt.claims[i], tt.claims[j] = tt.claims[j], tt.claims[i]
		}
		if again := Decide(tt.claims); again.SHA256 != got.SHA256 || again.Size != got.Size {
			t.Errorf("%s: the order of the claims counts: %+v", tt.name, again)
		}
	}
}
