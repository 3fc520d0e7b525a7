package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
	"holdfast/ledger/proof"
)

// place is an archive with two ledgers, on disk: the ledgers in one folder, the files in another, by shards.
type place struct {
	*ledgertest.Archive
	older, newer  string
	ledgers, data string
}

func newPlace(t testing.TB) *place {
	p := &place{Archive: ledgertest.New(t), ledgers: t.TempDir(), data: t.TempDir()}
	for i := range 40 {
		p.Put(fmt.Sprintf("%d.warc.gz", i), fmt.Sprint("content ", i))
	}
	p.Put("empty", "")
	p.older = p.Make()
	p.Put("new.warc.gz", "new")
	p.Remove("7.warc.gz")
	p.newer = p.Make()
	p.lay(t)
	return p
}

// lay writes down what is in memory.
func (p *place) lay(t testing.TB) {
	for name, text := range p.Shelf {
		write(t, filepath.Join(p.ledgers, name), string(text))
	}
	for _, files := range p.Files {
		for name, content := range files {
			write(t, p.path(name), content)
		}
	}
}

func (p *place) path(name string) string {
	return filepath.Join(p.data, "files", ledger.ShardName(ledger.ShardOf(name)), name)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *place) head(base string) string { return filepath.Join(p.ledgers, ledger.HeadName(base)) }

func (p *place) check(t *testing.T, change func(*proof.Config)) (proof.Result, string) {
	t.Helper()
	var found []string
	cfg := proof.Config{Ledgers: []string{p.head(p.older), p.head(p.newer)}, Dirs: []string{p.data}, Witnesses: 2,
		Trusted: p.Trusted(), Found: func(f proof.Finding) { found = append(found, fmt.Sprintf("%s %s: %s", f.Kind, f.Name, f.Detail)) }}
	if change != nil {
		change(&cfg)
	}
	r, err := proof.Run(t.Context(), cfg)
	if err != nil {
		found = append(found, "error "+err.Error())
	}
	slices.Sort(found)
	return r, strings.Join(found, "\n")
}

func TestAWholeReplica(t *testing.T) {
	p := newPlace(t)
	for name, change := range map[string]func(*proof.Config){
		"two ledgers": nil,
		"the newest alone": func(c *proof.Config) {
			c.Ledgers = c.Ledgers[1:]
		},
		"files folder": func(c *proof.Config) { c.Dirs = []string{filepath.Join(p.data, "files")} },
	} {
		r, found := p.check(t, change)
		if found != "" || !r.Whole() || r.Good != 41 || r.Files != 41 || !r.First || r.Ledgers != 2 || len(r.Signed) != 2 {
			t.Errorf("%s: %+v\n%s", name, r, found)
		}
	}
	flat := t.TempDir()
	for _, files := range p.Files {
		for name, content := range files {
			write(t, filepath.Join(flat, name), content)
		}
	}
	for name, text := range p.Shelf {
		if strings.HasPrefix(name, p.newer) {
			write(t, filepath.Join(flat, name), string(text))
		}
	}
	if r, found := p.check(t, func(c *proof.Config) { c.Dirs = []string{flat} }); found != "" || r.Good != 41 {
		t.Errorf("%+v\n%s", r, found)
	}
}

// What is wrong with files, signatures, the trail and the order of ledgers is found, and named.
func TestWhatIsWrongIsFound(t *testing.T) {
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
	resign := func(t *testing.T, p *place, change func(*ledger.Signatures)) {
		name := ledger.SignaturesName(p.newer)
		s, err := ledger.ParseSignatures(name, bytes.NewReader(p.Shelf[name]))
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		p.Sign(s)
		p.lay(t)
	}
	edit := func(t *testing.T, path, old, now string) {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%v, or no %q", err, old)
		}
		write(t, path, strings.Replace(string(text), old, now, 1))
	}
	for name, tt := range map[string]struct {
		do     func(*testing.T, *place)
		change func(*proof.Config)
		want   []string
	}{
		"file missing": {do: func(t *testing.T, p *place) { os.Remove(p.path("3.warc.gz")) },
			want: []string{"missing 3.warc.gz: 9 bytes"}},
		"file changed":    {do: func(t *testing.T, p *place) { write(t, p.path("3.warc.gz"), "CONTENT 3") }, want: []string{"changed 3.warc.gz: "}},
		"file longer":     {do: func(t *testing.T, p *place) { write(t, p.path("3.warc.gz"), "content 33") }, want: []string{"changed 3.warc.gz: "}},
		"file not empty":  {do: func(t *testing.T, p *place) { write(t, p.path("empty"), "x") }, want: []string{"changed empty: "}},
		"file unreadable": {do: func(t *testing.T, p *place) { os.Remove(p.path("3.warc.gz")); os.Mkdir(p.path("3.warc.gz"), 0o755) }, want: []string{"unread 3.warc.gz: "}},
		"file too many":   {do: func(t *testing.T, p *place) { write(t, p.path("more.warc"), "x") }, want: []string{"extra more.warc: "}},
		"file of a removed name": {do: func(t *testing.T, p *place) { write(t, p.path("7.warc.gz"), "content 7") },
			want: []string{"extra 7.warc.gz: "}},
		"file like one of the ledger": {do: func(t *testing.T, p *place) { write(t, p.path(p.newer+"-more.txt"), "x") },
			want: []string{"extra " + "ledger-oslo-20261102T030000Z-000002-more.txt: "}},
		"page in the folder changed": {do: func(t *testing.T, p *place) {
			page := ledger.PageName(p.newer, ledgertest.ID(p.Keys[0]))
			write(t, p.path(page), "x")
		}, want: []string{"changed ledger-oslo-20261102T030000Z-000002-"}},
		"file in another shard": {do: func(t *testing.T, p *place) { write(t, filepath.Join(p.data, "files", "000", "3.warc.gz"), "x") },
			change: func(c *proof.Config) { c.Newer = true }, want: []string{"extra 3.warc.gz: it lies in the folder of shard 000"}},
		"unsigned": {do: func(t *testing.T, p *place) { os.Remove(filepath.Join(p.ledgers, ledger.SignaturesName(p.newer))) },
			want: []string{"it is not signed"}},
		"holder has not signed": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) { s.Signed = s.Signed[1:] })
		}, want: []string{"has not signed it"}},
		"head not signed by a holder": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) { s.Signed = slices.Delete(s.Signed, 2, 3) })
		}, want: []string{"no holder has signed it"}},
		"not countersigned": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) { s.Signed = s.Signed[:4] })
		}, want: []string{"1 nodes at other places have countersigned it, 2 are asked for"}},
		"countersigned twice by one": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) { s.Signed[4] = s.Signed[3] })
		}, want: []string{"1 nodes at other places"}},
		"countersigned at its own place": {do: func(t *testing.T, p *place) {}, change: func(c *proof.Config) { c.Trusted[3].Place = "Oslo" },
			want: []string{"1 nodes at other places"}},
		"signed by a stranger": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) {
				s.Signed = append(s.Signed, ledger.Sign(stranger, ledger.HeadName(p.newer), p.Shelf[ledger.HeadName(p.newer)]))
			})
		}, want: []string{"signed by a stranger, " + ledgertest.ID(stranger)}},
		"a stranger's key under a member's id": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) {
				s.Signed[4] = ledger.Sign(stranger, ledger.HeadName(p.newer), p.Shelf[ledger.HeadName(p.newer)])
				s.Signed[4].Signer = ledgertest.ID(p.Outside[1])
			})
		}, want: []string{"the key is not that of"}},
		"a signature of another file": {do: func(t *testing.T, p *place) {
			resign(t, p, func(s *ledger.Signatures) { s.Signed[4].Bytes = s.Signed[0].Bytes })
		}, want: []string{"is wrong: ledger is wrong"}},
		"trail cut": {do: func(t *testing.T, p *place) {
			path := filepath.Join(p.ledgers, ledger.TrailName(p.newer))
			text, _ := os.ReadFile(path)
			lines := strings.SplitAfter(string(text), "\n")
			write(t, path, strings.Join(lines[:2], ""))
		}, want: []string{"the trail is cut"}},
		"trail without its middle": {do: func(t *testing.T, p *place) {
			path := filepath.Join(p.ledgers, ledger.TrailName(p.newer))
			text, _ := os.ReadFile(path)
			lines := strings.SplitAfter(string(text), "\n")
			write(t, path, lines[0]+lines[2])
		}, want: []string{"event 5: it has number 6"}},
		"trail with another act": {do: func(t *testing.T, p *place) {
			edit(t, filepath.Join(p.ledgers, ledger.TrailName(p.newer)), "file.add", "file.ADD")
		}, want: []string{"does not match its hash"}},
		"trail missing": {do: func(t *testing.T, p *place) { os.Remove(filepath.Join(p.ledgers, ledger.TrailName(p.newer))) },
			want: []string{"trail.txt: "}},
		"older in the place of the newer": {do: func(t *testing.T, p *place) {
			text, _ := os.ReadFile(p.head(p.older))
			write(t, p.head(p.newer), string(text))
		}, want: []string{"in the place of another"}},
		"the ledger before changed": {do: func(t *testing.T, p *place) { edit(t, p.head(p.older), "Oslo", "Olso") },
			change: func(c *proof.Config) { c.Ledgers = c.Ledgers[1:] }, want: []string{"the older one was changed"}},
		"the ledger before left out": {do: func(t *testing.T, p *place) {
			p.Put("third", "3")
			p.Make()
			p.lay(t)
		}, change: func(c *proof.Config) {
			c.Ledgers[1] = strings.Replace(c.Ledgers[1], "20261102T030000Z-000002", "20261103T030000Z-000003", 1)
		}, want: []string{"one between them is missing"}},
		"list line changed": {do: func(t *testing.T, p *place) {
			edit(t, filepath.Join(p.ledgers, ledger.ListName(p.older, ledgertest.ID(p.Keys[0]))), "# size 9 ", "# size 8 ")
		}, want: []string{"ledger ledger-oslo-20261102T030000Z-000002.txt: "}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			tt.do(t, p)
			r, found := p.check(t, tt.change)
			if r.Whole() {
				t.Error("it is whole")
			}
			for _, want := range tt.want {
				if !strings.Contains(found, want) {
					t.Errorf("no %q in:\n%s", want, found)
				}
			}
		})
	}
}

// Somebody who alters catalog and files makes a newer ledger that agrees with them. The older one shows it.
func TestYesterdaysLedgerShowsWhatWasAltered(t *testing.T) {
	p := newPlace(t)
	p.Remove("3.warc.gz")
	p.Put("3.warc.gz", "what somebody would rather have been archived")
	altered := p.Make()
	p.lay(t)
	if r, found := p.check(t, func(c *proof.Config) { c.Ledgers = []string{p.head(altered)} }); !r.Whole() {
		t.Fatal("the ledger of the altered archive: ", found)
	}
	r, found := p.check(t, func(c *proof.Config) { c.Newer = true })
	if r.Whole() || !strings.HasPrefix(found, "changed 3.warc.gz: ") || strings.Contains(found, "\n") {
		t.Errorf("%+v\n%s", r, found)
	}
}

// A disk has a part of the replica: what it has is checked, the rest is counted.
func TestAPart(t *testing.T) {
	p := newPlace(t)
	os.Remove(p.path("3.warc.gz"))
	write(t, p.path("more"), "x")
	r, found := p.check(t, func(c *proof.Config) { c.Partial, c.Newer = true, true })
	if found != "" || r.Absent != 1 || r.Good != 40 || r.Newer != 1 {
		t.Errorf("%+v\n%s", r, found)
	}
}

// The commands of doc/format/ledger.md, as they stand there.
func TestTheFormatsOwnCommands(t *testing.T) {
	for _, program := range []string{"sh", "awk", "openssl", "sha256sum", "csplit", "base32"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("this test needs %s: %v", program, err)
		}
	}
	doc, err := os.ReadFile(filepath.FromSlash("../../doc/format/ledger.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```sh\n")
	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no commands in the document")
	}
	for name, tt := range map[string]struct {
		do   func(*place)
		fail bool
	}{
		"whole":         {do: func(*place) {}},
		"file changed":  {do: func(p *place) { write(t, p.path("3.warc.gz"), "CONTENT 3") }, fail: true},
		"file missing":  {do: func(p *place) { os.Remove(p.path("3.warc.gz")) }, fail: true},
		"head changed":  {do: func(p *place) { write(t, p.head(p.newer), string(p.Shelf[ledger.HeadName(p.newer)])+"# x\n") }, fail: true},
		"older changed": {do: func(p *place) { write(t, p.head(p.older), string(p.Shelf[ledger.HeadName(p.older)])+"# x\n") }, fail: true},
		"stranger": {do: func(p *place) {
			all, _ := os.ReadFile(filepath.Join(p.ledgers, "members.txt"))
			write(t, filepath.Join(p.ledgers, "members.txt"), strings.Split(string(all), "\n")[0]+"\n")
		}, fail: true},
		"trail": {do: func(p *place) {
			name := ledger.TrailName(p.newer)
			write(t, filepath.Join(p.ledgers, name), strings.Replace(string(p.Shelf[name]), "add", "ADD", 1))
		}, fail: true},
	} {
		p := newPlace(t)
		var members strings.Builder
		for _, m := range p.Trusted() {
			fmt.Fprintf(&members, "%s\t%s\t%s\n", m.ID, m.Name, m.Place)
		}
		write(t, filepath.Join(p.ledgers, "members.txt"), members.String())
		tt.do(p)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Dir = p.ledgers
		cmd.Env = append(os.Environ(), "L="+p.newer, "FILES="+filepath.Join(p.data, "files"))
		out, err := cmd.CombinedOutput()
		if whole := strings.Contains(string(out), "all is as "+p.newer+" says"); (err != nil) != tt.fail || whole == tt.fail {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if !tt.fail && (strings.Count(string(out), "is signed by") != 5 || !strings.Contains(string(out), "Bergen")) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}
