package ledger_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/seed"
	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
)

// read reads the whole ledger and returns its files by name.
func read(t *testing.T, s ledgertest.Shelf, base string) map[string]ledger.Entry {
	t.Helper()
	b, err := ledger.OpenBook(ledger.HeadName(base), s.Open)
	if err == nil {
		err = b.OpenLists(s.Open)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]ledger.Entry{}
	for shard := range ledger.Shards {
		files, _, err := b.Shard(shard)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			out[f.Name] = f
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever comes and goes, each ledger lists what is held, its ledgers follow each other, and lists stay few and are
// seldom written again.
func TestEachLedgerListsWhatIsHeld(t *testing.T) {
	random := seed.Rand(t)
	a := ledgertest.New(t)
	bases := []string{}
	states := []map[string]string{}
	var names []string
	written := 0
	for day := range 24 {
		for i := range 40 {
			name := fmt.Sprintf("%d-%d.warc.gz", day, i)
			names = append(names, name)
			a.Put(name, strings.Repeat("x", random.IntN(50)))
		}
		for range random.IntN(6) {
			gone := names[random.IntN(len(names))]
			a.Remove(gone)
			if random.IntN(3) == 0 {
				a.Put(gone, "again, as another")
			}
		}
		bases = append(bases, a.Make())
		state := maps.Clone(a.Files[0])
		maps.Copy(state, a.Files[1])
		states = append(states, state)
		for _, p := range a.Pages {
			if len(p.Lists) > 7 {
				t.Errorf("day %d: a page with %d lists", day, len(p.Lists))
			}
			if l := p.Lists[len(p.Lists)-1]; strings.HasPrefix(l.Name, bases[day]) {
				written += int(l.Lines)
			}
		}
	}
	for i, base := range bases {
		got := read(t, a.Shelf, base)
		if len(got) != len(states[i]) {
			t.Fatalf("%s lists %d files, %d are held", base, len(got), len(states[i]))
		}
		for name, content := range states[i] {
			if got[name].Size != int64(len(content)) {
				t.Errorf("%s: %s is listed with %d bytes, it has %d", base, name, got[name].Size, len(content))
			}
		}
	}
	if most := 6 * len(names); written > most {
		t.Errorf("%d lines were written for %d files", written, len(names))
	}
	t.Logf("%d files, %d lines written in %d days", len(names), written, len(bases))
}

func TestDifference(t *testing.T) {
	a := ledgertest.New(t)
	a.Put("stays", "1")
	a.Put("goes", "2")
	a.Put("changes", "3")
	before := a.Make()
	a.Remove("goes")
	a.Put("changes", "4")
	a.Put("comes", "5")
	after := a.Make()
	var came, gone []string
	books := make([]*ledger.Book, 2)
	for i, base := range []string{before, after} {
		b, err := ledger.OpenBook(ledger.HeadName(base), a.Shelf.Open)
		if err == nil {
			err = b.OpenLists(a.Shelf.Open)
		}
		if err != nil {
			t.Fatal(err)
		}
		books[i] = b
	}
	err := ledger.Diff(books[0], books[1], func(c ledger.Changes) error {
		for _, e := range c.Came {
			came = append(came, e.Name)
		}
		for _, e := range c.Gone {
			gone = append(gone, e.Name)
		}
		return nil
	})
	slices.Sort(came)
	slices.Sort(gone)
	if got := fmt.Sprint(came, gone, err); got != "[changes comes] [changes goes] <nil>" {
		t.Error(got)
	}
}

// The refusals of what a forger does to the text of a ledger, its pages, lists and trail. That folders and signatures
// are compared too is tested in proof.
func TestForgeries(t *testing.T) {
	a := ledgertest.New(t)
	for i := range 60 {
		a.Put(fmt.Sprintf("%d.warc", i), fmt.Sprint("content ", i))
	}
	older := a.Make()
	a.Put("new.warc", "new")
	base := a.Make()
	page := ledger.PageName(base, ledgertest.ID(a.Keys[0]))
	list := a.Pages[0].Lists[0].Name
	edit := func(name, old, new string) func(ledgertest.Shelf) {
		return func(s ledgertest.Shelf) {
			text := strings.Replace(string(s[name]), old, new, 1)
			if text == string(s[name]) {
				t.Fatalf("%s has no %q", name, old)
			}
			s[name] = []byte(text)
		}
	}
	dropLine := func(name, with string) func(ledgertest.Shelf) {
		return func(s ledgertest.Shelf) {
			lines := strings.SplitAfter(string(s[name]), "\n")
			at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, with) })
			if at < 0 {
				t.Fatalf("%s has no line with %q", name, with)
			}
			s[name] = []byte(strings.Join(slices.Delete(lines, at, at+1), ""))
		}
	}
	head := ledger.HeadName(base)
	for name, tt := range map[string]struct {
		forge func(ledgertest.Shelf)
		want  string
	}{
		"head of an older ledger":  {func(s ledgertest.Shelf) { s[head] = s[ledger.HeadName(older)] }, "in the place of another"},
		"head with another total":  {edit(head, "files 61 ", "files 60 "), "add up to"},
		"head without a page":      {dropLine(head, page), "not a SHA-256, two spaces"},
		"head cut off":             {dropLine(head, "# end"), "cut off"},
		"head without its first":   {edit(head, "# previous", "# Previous"), "has to stand here"},
		"head with another page":   {edit(head, fmt.Sprintf("%x", sum(a.Shelf[page])), fmt.Sprintf("%x", sum(nil))), "the ledger says"},
		"page with another number": {edit(page, " bytes ", " bytes 1"), "the ledger says"},
		"page without a shard":     {dropLine(page, "# shard"), "the ledger says"},
		"page missing":             {func(s ledgertest.Shelf) { delete(s, page) }, "open " + page},
		"page of an older ledger":  {func(s ledgertest.Shelf) { s[page] = s[ledger.PageName(older, ledgertest.ID(a.Keys[0]))] }, "the ledger says"},
		"list with another digest": {edit(list, "\n00", "\n11"), "root"},
		"list with another size":   {edit(list, "# size 10 ", "# size 11 "), "root"},
		"list without a shard":     {dropLine(list, "# shard"), ""},
		"list without a comment":   {edit(list, "# end", "# ende"), list},
		"list missing":             {func(s ledgertest.Shelf) { delete(s, list) }, "open list"},
		"list cut off":             {func(s ledgertest.Shelf) { s[list] = s[list][:len(s[list])/2] }, "cut off"},
		"list with a line too many": {func(s ledgertest.Shelf) { s[list] = append(s[list], "# more\n"...) },
			"behind the end"},
	} {
		t.Run(name, func(t *testing.T) {
			s := maps.Clone(a.Shelf)
			if name == "list with another digest" {
				line := strings.Split(string(s[list]), "\n")
				at := slices.IndexFunc(line, func(l string) bool { return len(l) > 64 && l[0] != '#' })
				tt.forge = edit(list, line[at][:8], "01234567")
			}
			tt.forge(s)
			b, err := ledger.OpenBook(head, s.Open)
			if err == nil {
				err = b.OpenLists(s.Open)
			}
			for shard := 0; err == nil && shard < ledger.Shards; shard++ {
				_, _, err = b.Shard(shard)
			}
			if err == nil {
				err = b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want %q, got %v", tt.want, err)
			}
			if err != nil && !errors.Is(err, ledger.ErrWrong) && !strings.Contains(name, "missing") {
				t.Errorf("not ErrWrong: %v", err)
			}
		})
	}
}

func sum(text []byte) [32]byte { return sha256.Sum256(text) }
