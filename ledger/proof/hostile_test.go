package proof_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
	"holdfast/ledger/proof"
)

// resealed changes the newest head's text, and has its holder and both other nodes sign it as it is then.
func (p *place) resealed(t *testing.T, old, now string) {
	t.Helper()
	head := ledger.HeadName(p.newer)
	text := string(p.Shelf[head])
	if !strings.Contains(text, old) {
		t.Fatalf("the head has no %q", old)
	}
	p.Shelf[head] = []byte(strings.Replace(text, old, now, 1))
	name := ledger.SignaturesName(p.newer)
	in, err := p.Shelf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ledger.ParseSignatures(name, in)
	if err != nil {
		t.Fatal(err)
	}
	s.Signed = s.Signed[:2] // of the pages
	for _, key := range append([]ed25519.PrivateKey{p.Keys[0]}, p.Outside...) {
		s.Signed = append(s.Signed, ledger.Sign(key, head, p.Shelf[head]))
	}
	p.Sign(s)
	p.lay(t)
}

// An institution that names another place in its ledger cannot have its own nodes countersign it: where they stand is
// what the list of who checks says.
func TestALedgerThatLiesAboutItsPlace(t *testing.T) {
	p := newPlace(t)
	p.resealed(t, `# place "Oslo"`, `# place "Elsewhere"`)
	r, found := p.check(t, func(c *proof.Config) {
		c.Witnesses = 1
		for i := range c.Trusted { // all four nodes are of one institution
			c.Trusted[i].Place = "Oslo"
		}
	})
	if r.Whole() || len(r.Signed) > 0 || !strings.Contains(found, "0 nodes at other places have countersigned it") {
		t.Errorf("signed by %v\n%s", r.Signed, found)
	}
}

// The name of the ledger before is one of a ledger, and no path: a check reads nothing outside of its folders.
func TestALedgerBeforeThatIsNoLedger(t *testing.T) {
	p := newPlace(t)
	before := ledger.HeadName(p.older)
	outside := filepath.Join(t.TempDir(), before)
	write(t, outside, "secret\n")
	path, err := filepath.Rel(p.ledgers, outside)
	if err != nil {
		t.Fatal(err)
	}
	p.resealed(t, " "+before+"\n", " "+path+"\n")
	r, found := p.check(t, func(c *proof.Config) { c.Ledgers = c.Ledgers[1:] })
	if r.Whole() || strings.Contains(found, "secret") || !strings.Contains(found, "is not the name of ledger 1 of replica oslo") {
		t.Error(found)
	}
}

// A pipe in the place of a file never ends; it is named, and the check goes on.
func TestAPipeInTheFolder(t *testing.T) {
	p := newPlace(t)
	want := []string{p.path("3.warc.gz"), filepath.Join(p.ledgers, ledger.HeadName(p.older))}
	for _, path := range want {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan string, 1)
	go func() {
		_, found := p.check(t, func(c *proof.Config) { c.Ledgers = c.Ledgers[1:] })
		ended <- found
	}()
	select {
	case found := <-ended:
		if strings.Count(found, "not a regular file") != 2 {
			t.Error(found)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the check does not end")
	}
}

// A disk that is not mounted is an empty folder: it is no part of a replica in which all is right.
func TestAPartWithNothingInIt(t *testing.T) {
	p := newPlace(t)
	empty := t.TempDir()
	r, found := p.check(t, func(c *proof.Config) { c.Partial, c.Dirs = true, []string{p.data, empty} })
	if r.Whole() || !strings.Contains(found, "missing "+empty) {
		t.Errorf("%+v\n%s", r, found)
	}
}

// Serial numbers that differ by more than half of all numbers are put in order, too.
func TestFarSerials(t *testing.T) {
	a := ledgertest.New(t)
	a.Put("x", "x")
	base := a.Make()
	text := string(a.Shelf[ledger.HeadName(base)])
	h, err := ledger.ReadHead(ledger.HeadName(base), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h.Previous = &ledger.File{SHA256: sha256.Sum256(nil)}
	h.Serial = math.MaxUint64
	h.Previous.Name = ledger.HeadName(ledger.Base("oslo", h.Time, h.Serial-1))
	h.Base = ledger.Base("oslo", h.Time, h.Serial)
	h.Trail.Name = ledger.TrailName(h.Base)
	h.Sheets, h.Total, h.Missing = nil, ledger.Root{}, 0
	dir := t.TempDir()
	for name, text := range a.Shelf {
		write(t, filepath.Join(dir, name), string(text))
	}
	write(t, filepath.Join(dir, ledger.HeadName(h.Base)), string(h.Encode()))
	r, err := proof.Run(t.Context(), proof.Config{Trusted: a.Trusted(), Ledgers: []string{
		filepath.Join(dir, ledger.HeadName(h.Base)), filepath.Join(dir, ledger.HeadName(base))}})
	if err != nil || r.Ledger != ledger.HeadName(h.Base) {
		t.Errorf("the newest is %s: %v", r.Ledger, err)
	}
}
