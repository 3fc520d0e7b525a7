package rebuild

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
)

// A signed ledger outweighs the manifest beside it; one that is not signed by a member is named, and not used; nor is a
// list that was altered.
func TestLedgersAreWeighed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(a *ledgertest.Archive, base string)
		used   bool
		why    string
	}{
		"whole":   {func(*ledgertest.Archive, string) {}, true, ""},
		"altered": {func(a *ledgertest.Archive, base string) { alter(a, "-files.txt") }, false, "no copy of"},
		"unsigned": {func(a *ledgertest.Archive, base string) {
			s, err := ledger.ParseSignatures(ledger.SignaturesName(base),
				strings.NewReader(string(a.Shelf[ledger.SignaturesName(base)])))
			if err != nil {
				t.Fatal(err)
			}
			s.Signed = s.Signed[:1]
			a.Sign(s)
		}, false, "has not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "oslo-1")
			w.cfg.Replicas = []catalog.Replica{{Name: "oslo", Kind: catalog.Bitarchive, Place: "Oslo"}}
			a := ledgertest.New(t)
			a.Put("file", "as it was")
			a.Put("other", "x")
			base := a.Make()
			tt.change(a, base)
			w.put("oslo-1", "file", "as it is!")
			w.put("oslo-1", "other", "x")
			for name, text := range a.Shelf {
				w.put("oslo-1", name, string(text))
			}
			w.cfg.Signers = a.Trusted()
			s := w.look()
			r := s.Report()
			if used := len(r.Ledgers) == 1; used != tt.used {
				t.Errorf("%+v", r)
			}
			_, v := w.made(s, member("oslo-1"))
			f, err := v.File("file")
			want := "as it is!"
			if tt.used {
				want = "as it was"
				says(t, r, "file", "ledger of oslo")
			} else {
				says(t, r, ledger.HeadName(base), tt.why)
			}
			if err != nil || f.SHA256 != sum(want) {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

// One folder alone does not say who the members are, and a ledger is signed by a holder of its own replica.
func TestWhoMayVouch(t *testing.T) {
	w := newWorld(t, "north-1", "south-1", "sums-1")
	o := w.owners[w.dir("south-1")]
	o.Members = append(append([]catalog.Member{}, o.Members...), member("north-7"))
	bad := member("north-8")
	bad.ID = member("north-1").ID + "x"
	o.Members = append(o.Members, bad)
	w.owners[w.dir("south-1")] = o
	w.put("south-1", "x", "x")
	s := w.look()
	if len(s.members) != 3 || len(s.trusted()) != 3 {
		t.Errorf("%+v", s.members)
	}
	says(t, s.Report(), "north-7", "only 1 of 3 folders")
	says(t, s.Report(), w.dir("south-1"), "does not fit its id")
	w.cfg.Dirs[1].Own = "south" // on the node that names it, it counts
	if s := w.look(); len(s.members) != 4 {
		t.Errorf("%+v", s.members)
	}

	a := ledgertest.New(t)
	a.Put("file", "as it was")
	base := a.Make()
	w = newWorld(t, "north-1")
	for name, text := range a.Shelf {
		w.put("north-1", name, string(text))
	}
	w.cfg.Signers = a.Trusted()
	holder := catalog.Member{ID: catalog.NodeID(ledgertest.ID(a.Keys[0])), Name: "north-2", Key: a.Keys[0].Public().(ed25519.PublicKey), Replica: "north"}
	own := w.owners[w.dir("north-1")]
	own.Members = append(own.Members, holder)
	w.owners[w.dir("north-1")] = own
	if r := w.look().Report(); len(r.Ledgers) != 0 {
		t.Errorf("%+v", r.Ledgers)
	} else {
		says(t, r, ledger.HeadName(base), "is of replica north")
	}
}

func alter(a *ledgertest.Archive, ending string) {
	for name, text := range a.Shelf {
		if strings.HasSuffix(name, ending) {
			a.Shelf[name] = append(text, '\n')
		}
	}
}
