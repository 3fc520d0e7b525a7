package duty

import (
	"crypto/sha256"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/notices"
)

// TestSilentUnderAnOldName has a node join under the name of one that an alert still calls away: what it has been away
// begins when it joined.
func TestSilentUnderAnOldName(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	w := newNewswire(t)
	w.raise("north-1", notices.Of{Kind: "node-away", Subject: "south-2"}, "bad")
	w.pass(2 * day)
	secret := sha256.Sum256([]byte("s"))
	w.do(catalog.CreateToken, catalog.JoinToken{ID: "k", SecretHash: secret, Replica: "south",
		Expires: catalog.At(w.now.Add(time.Hour))})
	w.do(catalog.JoinMember, catalog.Joining{Token: "k", Secret: []byte("s"), Member: catalog.Member{
		ID: nodeID("south-2"), Name: "south-2", Key: nodeKey("south-2"), Replica: "south", Level: notices.Level}})
	for _, at := range []struct {
		later time.Duration
		want  bool
	}{{0, false}, {day - time.Second, false}, {day, true}} {
		got, err := Silent(w.view(), func(catalog.NodeID) bool { return true }, w.now.Add(at.later), day)
		if err != nil {
			t.Fatal(err)
		}
		if got[nodeID("south-2")] != at.want || len(got) > 1 {
			t.Errorf("%s after it joined: silent %v, want it to be: %t", at.later, got, at.want)
		}
	}
}
