package node

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
)

// BenchmarkStuckCopies has files whose only source is a node that is gone, 20 000 or HOLDFAST_STUCK of them, and reports
// how much of a processor each of three nodes at rest takes without and with them, and how long a file that is put then
// waits until it is complete.
func BenchmarkStuckCopies(b *testing.B) {
	files, window := 20_000, 20*time.Second
	if text := os.Getenv("HOLDFAST_STUCK"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		files = n
	}
	nodes := benchNodes(b)
	m := &manyDomains{b: b, n: nodes[0]}
	rest := func() float64 {
		began, used := time.Now(), processorTime(b)
		<-time.After(window)
		return float64(processorTime(b)-used) / float64(time.Since(began)) / 3 * 100
	}
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("g", 32))).Public().(ed25519.PublicKey)
	ghost := catalog.Member{ID: catalog.Fingerprint(key), Name: "ghost", Key: key, Replica: "north", Level: catalog.Level}
	m.decide(catalog.CreateToken, catalog.JoinToken{ID: "ghost", SecretHash: sha256.Sum256([]byte("secret")),
		Replica: "north", Expires: catalog.At(time.Now().Add(time.Hour))})
	m.propose(catalog.JoinMember, catalog.Joining{Token: "ghost", Secret: []byte("secret"), Member: ghost}, string(m.n.id))
	for b.Loop() {
		b.ReportMetric(rest(), "%-without")
		began := time.Now()
		for i := 0; i < files; {
			var some catalog.Additions
			for ; i < files && len(some.Files) < 60; i++ {
				name := catalog.FileName(fmt.Sprintf("%d-1-20261120120000000-%05d-ghost.warc.gz", i/100, i))
				some.Files = append(some.Files, catalog.Addition{Name: name, Size: 1000, Collection: "web",
					SHA256: sha256.Sum256([]byte(name)), Source: ghost.ID})
			}
			m.propose(catalog.AddFiles, some, string(m.n.id))
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-to-add")
		<-time.After(5 * time.Second)
		b.ReportMetric(rest(), "%-with")
		began = time.Now()
		f, err := nodes[0].files().Put(b.Context(), api.PutRequest{Collection: "web", Name: "put-later.bin", Size: 9,
			Body: strings.NewReader("put later"), Actor: "test"})
		if err != nil {
			b.Fatal(err)
		}
		m.await("the file is complete", func(v catalog.View) error {
			if f, err := v.File(f.Name); err != nil || !f.Complete() {
				return fmt.Errorf("%v: %+v", err, f.Copies)
			}
			return nil
		})
		b.ReportMetric(time.Since(began).Seconds(), "s-to-complete")
	}
}
