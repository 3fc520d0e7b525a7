package rebuild

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/internal/kv/memory"
	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
	"holdfast/replica"
)

// world is folders of nodes, and whose they are.
type world struct {
	t      *testing.T
	root   string
	owners map[string]Owner
	cfg    Config
}

func key(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }

func sum(text string) catalog.Digest { return sha256.Sum256([]byte(text)) }

func member(name string) catalog.Member {
	of, _, _ := strings.Cut(name, "-")
	return catalog.Member{ID: catalog.Fingerprint(key(name)), Name: name, Key: key(name),
		Replica: catalog.ReplicaName(of), Level: 4, Joined: 5}
}

// newWorld makes the data folders of nodes of one cluster.
func newWorld(t *testing.T, nodes ...string) *world {
	w := &world{t: t, root: t.TempDir(), owners: map[string]Owner{}}
	w.cfg = Config{Name: "test",
		Collections: []catalog.CollectionName{"art", "web"},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"},
			{Name: "south", Kind: catalog.Bitarchive, Place: "Southport"},
			{Name: "sums", Kind: catalog.Checksum, Place: "Elsewhere"}},
		Whose: func(dir string) (Owner, bool, error) { o, there := w.owners[dir]; return o, there, nil }}
	var all []catalog.Member
	for _, name := range nodes {
		all = append(all, member(name))
	}
	for i, name := range nodes {
		if err := os.MkdirAll(w.dir(name)+"/files", 0o755); err != nil {
			t.Fatal(err)
		}
		w.owners[w.dir(name)] = Owner{Cluster: catalog.Cluster{ID: "c1", Name: "test", Epoch: 3,
			Level: 4, Founded: 50}, Node: all[i].ID, Members: all}
		w.cfg.Dirs = append(w.cfg.Dirs, Dir{Path: w.dir(name)})
	}
	return w
}

func (w *world) dir(node string) string { return filepath.Join(w.root, node) }

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
		0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(node, name string) string {
	return filepath.Join(w.dir(node), "files", catalog.FileName(name).Shard().String(), name)
}

// put lays a file with its line in the manifest.
func (w *world) put(node, name, text string) {
	w.write(w.path(node, name), text)
	w.list(filepath.Dir(w.path(node, name)), name, text, "")
}

// list adds a line to a manifest.
func (w *world) list(dir, name, text, before string) {
	path := filepath.Join(dir, replica.ManifestName)
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	w.write(path, fmt.Sprintf("%s%s%s  %s\n", was, before, sum(text), name))
}

// checksum lists a file in a checksum replica.
func (w *world) checksum(node, name, text string) {
	w.list(filepath.Join(w.dir(node), "checksums", catalog.FileName(name).Shard().String()), name, text,
		fmt.Sprintf("# size %d  %s\n", len(text), name))
}

func (w *world) look() *Survey {
	w.t.Helper()
	s, err := Look(w.t.Context(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// made carries out the commands, and checks what they make.
func (w *world) made(s *Survey, self catalog.Member) (*memory.Tx, catalog.View) {
	w.t.Helper()
	tx := new(memory.Tx)
	index := uint64(0)
	for c, err := range s.Commands(w.t.Context(), self, 1_000_000) {
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := json.Marshal(c)
		if err != nil {
			w.t.Fatal(err)
		}
		index++
		res, err := catalog.Apply(tx, index, text)
		if err != nil || res.Refusal != nil {
			w.t.Fatalf("%s: %v %v", c.Kind, res.Refusal, err)
		}
	}
	v := catalog.NewView(tx)
	_, err := catalog.Check(v, func() error { return nil }, func(key, what string) {
		w.t.Errorf("the check "+
			"found %s: %s", key, what)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return tx, v
}

// says fails unless the report names the difference.
func says(t *testing.T, r Report, name, what string) {
	t.Helper()
	for _, d := range r.Differences {
		if strings.Contains(d.Name, name) && strings.Contains(d.What, what) {
			return
		}
	}
	t.Errorf("nothing says %q of %s: %+v", what, name, r.Differences)
}

// Folders that are whole, half copied, damaged, and at odds with each other: what they agree on, and what is voted,
// comes back, and the rest is named.
func TestFoldersThatDiffer(t *testing.T) {
	w := newWorld(t, "north-1", "north-2", "south-1", "sums-1")
	for _, node := range []string{"north-1", "south-1"} {
		w.put(node, "same", "the same")
	}
	w.put("north-2", "lone", "of one replica")
	w.put("south-1", "cut", "cut off on its way")
	w.put("north-1", "cut", "cut off on its way")
	w.write(w.path("north-1", "cut"), "cut off")
	w.put("north-1", "voted", "right")
	w.put("south-1", "voted", "wrong")
	w.checksum("sums-1", "voted", "right")
	w.put("north-1", "tie", "one")
	w.put("south-1", "tie", "two")
	w.put("north-1", "absent", "x")
	w.checksum("sums-1", "absent", "x")
	if err := os.Remove(w.path("north-1", "absent")); err != nil {
		t.Fatal(err)
	}
	w.list(filepath.Dir(w.path("south-1", "unsized")), "unsized", "of which there is a line alone", "")
	w.write(w.path("south-1", "unlisted"), "without a line")
	w.put("south-1", "rotten", "as it was")
	w.write(w.path("south-1", "rotten"), "as it is!")
	w.write(filepath.Join(w.dir("north-2"), "outbox", "waits"), "waits to be copied")
	entry, err := json.Marshal(catalog.Addition{Name: "waits", Size: 18, SHA256: sum("waits to be copied"),
		Collection: "web", Job: 9, Attempt: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.dir("north-2"), "outbox", ".entry-waits"), string(entry))
	w.write(filepath.Join(w.dir("north-1"), "files", "000", "astray"), "in the wrong shard")
	if err := os.MkdirAll(filepath.Join(w.dir("south-1"), "files", "001", replica.ManifestName),
		0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, w.root)
	s := w.look()
	r := s.Report()
	if r.Files != 7 || r.Undecided != 3 || r.Absent != 1 || r.Voted != 2 || r.Unlisted != 1 ||
		r.Unread != 1 || r.Whole() {
		t.Errorf("%+v", r)
	}
	says(t, r, "unlisted", "taken as it lies")
	says(t, r, "cut", "has 7 bytes, the file has 18")
	says(t, r, "voted", "most voices")
	says(t, r, "voted", "has other bytes than the file")
	says(t, r, "tie", "none outweighs")
	says(t, r, "absent", "no folder has its bytes")
	says(t, r, "unsized", "its size is not known")
	says(t, r, "rotten", "no bytes match")
	says(t, r, "files/000", "does not belong to")
	says(t, r, "files/001", "manifest")

	_, v := w.made(s, member("north-1"))
	for name, want := range map[catalog.FileName]string{"same": "the same", "lone": "of one replica",
		"cut": "cut off on its way", "voted": "right", "absent": "x",
		"unlisted": "without a line", "waits": "waits to be copied"} {
		f, err := v.File(name)
		if err != nil || f.SHA256 != sum(want) || f.Size != int64(len(want)) || len(f.Copies) != 3 ||
			f.Complete() {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for _, name := range []catalog.FileName{"tie", "unsized", "rotten", "astray"} {
		if f, err := v.File(name); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if f, err := v.File("waits"); err != nil || f.Source != member("north-2").ID || f.Released ||
		f.Collection != "web" || f.Job != 9 || f.Attempt != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if p, err := v.Placement("north", catalog.FileName("lone").Shard()); err != nil ||
		p.Holder != member("north-2").ID {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := v.Placement("sums", catalog.FileName("voted").Shard()); err != nil ||
		p.Holder != member("sums-1").ID {
		t.Errorf("%+v, %v", p, err)
	}
	if c, err := v.Cluster(); err != nil || c.ID != "c1" || c.Level != catalog.Level || c.Founded != 50 {
		t.Errorf("%+v, %v", c, err)
	}
	if after := tree(t, w.root); after != before {
		t.Error("something was changed in the folders")
	}
	// On a new machine that takes the place of one: it has a key of its own, and the old node is no member.
	fresh := member("north-9")
	fresh.Name = "north-2"
	_, v = w.made(s, fresh)
	if f, err := v.File("waits"); err != nil || f.Source != fresh.ID || !f.Released {
		t.Errorf("%+v, %v", f, err)
	}
	if members, err := v.Members(); err != nil || len(members) != 4 {
		t.Errorf("%+v, %v", members, err)
	}
	// Again, with another node, from the same survey and from a new one: the same.
	for _, again := range []*Survey{s, w.look()} {
		_, v := w.made(again, member("south-1"))
		if f, err := v.File("voted"); err != nil || f.SHA256 != sum("right") {
			t.Errorf("%+v, %v", f, err)
		}
	}
	w.put("north-1", "later", "came while it was asked")
	for _, err = range s.Commands(t.Context(), member("north-1"), 1) {
		if err != nil {
			break
		}
	}
	if !errors.Is(err, errChanged) {
		t.Errorf("the folders have changed: %v", err)
	}
}

// tree is all that lies in a folder.
func tree(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&out, "%s %x\n", path, sum(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A folder of another cluster is refused, and taken in when it is named; its node is none of this one.
func TestAFolderOfAnotherCluster(t *testing.T) {
	w := newWorld(t, "north-1", "south-1")
	w.put("north-1", "ours", "ours")
	w.put("south-1", "ours", "ours")
	w.put("south-1", "theirs", "theirs")
	o := w.owners[w.dir("south-1")]
	o.Cluster.ID, o.Cluster.Name = "c2", "other"
	w.owners[w.dir("south-1")] = o
	if _, err := Look(t.Context(), w.cfg); !errors.Is(err, ErrOtherCluster) || !strings.Contains(err.Error(),
		"--also c2") || !strings.Contains(err.Error(), w.dir("south-1")) {
		t.Errorf("%v", err)
	}
	w.cfg.Others = []string{"c2"}
	s := w.look()
	_, v := w.made(s, member("north-1"))
	if f, err := v.File("theirs"); err != nil || f.Size != 6 {
		t.Errorf("%+v, %v", f, err)
	}
	if members, err := v.Members(); err != nil || len(members) != 1 {
		t.Errorf("%+v, %v", members, err)
	}
	// Of none that is known: its ledgers say it.
	a := ledgertest.New(t)
	a.Put("x", "x")
	base := a.Make()
	bare := filepath.Join(w.root, "bare")
	w.write(filepath.Join(bare, ledger.HeadName(base)),
		strings.Replace(string(a.Shelf[ledger.HeadName(base)]), "# cluster c1", "# cluster c3", 1))
	w.cfg.Dirs = append(w.cfg.Dirs, Dir{Path: bare})
	if _, err := Look(t.Context(), w.cfg); !errors.Is(err, ErrOtherCluster) || !strings.Contains(err.Error(),
		"--also c3") {
		t.Errorf("%v", err)
	}
	none := newWorld(t)
	none.write(filepath.Join(none.root, "d", "x"), "x")
	none.cfg.Dirs = []Dir{{Path: filepath.Join(none.root, "d")}}
	if _, err := Look(t.Context(), none.cfg); err == nil || !strings.Contains(err.Error(), "--cluster") {
		t.Errorf("nothing says which cluster: %v", err)
	}
	none.cfg.Cluster = "c9"
	none.write(filepath.Join(none.root, "d", "y"), "y")
	none.list(filepath.Join(none.root, "d"), "y", "y", "")
	if r := none.look().Report(); r.Cluster != "c9" || !r.Folders[0].Unsaid || r.Files != 1 {
		t.Errorf("%+v", r)
	} else {
		says(t, r, "x", "nothing lists it")
	}
	none.cfg.Dirs = append(none.cfg.Dirs, Dir{Path: t.TempDir()})
	if r := none.look().Report(); r.Whole() || !strings.Contains(strings.Join(r.Lacking, "\n"), "not mounted") {
		t.Errorf("an empty folder is as good as one with files: %+v", r)
	}
	none.cfg.Dirs[0].Path += "/nosuch"
	if _, err := Look(t.Context(), none.cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// What events say comes back: removals, restorations, corrections, losses, dates; and a trail without its beginning is
// told from a whole one.
func TestEventsAreToldAgain(t *testing.T) {
	at := catalog.At(time.Date(2026, 11, 1, 12, 0, 0, 5e6, time.UTC))
	d := sum("x").String()
	var events []catalog.Event
	add := func(act, subject, detail string) {
		e := catalog.Event{Seq: uint64(len(events) + 1), At: at, Actor: "person:anna", Act: act,
			Subject: subject, Detail: detail}
		if len(events) > 0 {
			e.Previous = events[len(events)-1].Hash
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		e.Hash = sha256.Sum256(text)
		events = append(events, e)
		at += 1000
	}
	add("file.put", "put", "node=n collection=web size=7 sha256="+d)
	add("file.remove", "hidden", "sha256="+d+" until=2026-12-01T12:00:01Z reason=two words")
	add("file.remove", "restored", "sha256="+d+" until=2026-12-01T12:00:02Z reason=x")
	add("file.restore", "restored", "sha256="+d)
	add("file.remove", "expired", "sha256="+d+" until=2026-11-01T12:00:04Z reason=y")
	add("file.expire", "expired", "sha256="+d+" removed=2026-11-01T12:00:04Z by=person:anna")
	add("file.remove", "gone", "sha256="+d+" reason=z")
	add("file.lose", "lost", "sha256="+d+" checked=1 reason=fire")
	add("file.lose", "found", "sha256="+d+" checked=1 reason=fire")
	add("file.found", "found", "sha256="+d)
	add("file.checksum", "right", "was="+d+" sha256="+sum("y").String()+" reason=r")
	add("person.invite", "p", "invitation=i")
	known := map[catalog.Digest]catalog.Event{}
	var text strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	bad, err := readEvents(strings.NewReader(strings.Replace(text.String(), "two words", "two wordz", 1)),
		func(e catalog.Event) { known[e.Hash] = e })
	if err != nil || bad != 1 || len(known) != len(events)-1 {
		t.Fatalf("%d bad, %d events, %v", bad, len(known), err)
	}
	head := events[len(events)-1].Hash
	if some, whole := chain(known, head); whole || len(some) != len(events)-2 || some[0].Seq != 3 {
		t.Errorf("%d events, %v", len(some), whole)
	}
	known[events[1].Hash] = events[1]
	some, whole := chain(known, head)
	if !whole || len(some) != len(events) {
		t.Errorf("%d events, %v", len(some), whole)
	}
	if _, whole := chain(known, sum("nothing")); whole {
		t.Error("a trail without its head is whole")
	}
	told := fold(some)
	if p := told.puts["put"]; p.at != events[0].At || p.collection != "web" || p.size != 7 {
		t.Errorf("%+v", p)
	}
	if f := told.fates["hidden"]; f.hidden != events[1].At || f.until != f.hidden+30*24*3600*1000 ||
		f.reason != "two words" || f.by != "person:anna" {
		t.Errorf("%+v", f)
	}
	if _, there := told.fates["restored"]; there {
		t.Error("what was restored is removed")
	}
	if f := told.fates["expired"]; f.removed != events[4].At || f.hidden != 0 || f.reason != "y" {
		t.Errorf("%+v", f)
	}
	if f := told.fates["gone"]; f.removed != events[6].At || f.reason != "z" {
		t.Errorf("%+v", f)
	}
	if f := told.fates["lost"]; f.lost != events[7].At || f.lostWhy != "fire" {
		t.Errorf("%+v", f)
	}
	if _, there := told.fates["found"]; there {
		t.Error("what was found is lost")
	}
	if c := told.corrected["right"]; len(c) != 1 || c[0].now != sum("y") {
		t.Errorf("%+v", c)
	}
	if told.counts["people"] != 1 || told.counts[ruleCount] != 0 {
		t.Errorf("%+v", told.counts)
	}
	if agree.CheckTimes(told.fates["hidden"].until) != nil {
		t.Error("a time that is none")
	}
}

func TestNamesOfJobs(t *testing.T) {
	for name, want := range map[string]uint64{"12-3-20261126132408136-00000-a.warc.gz": 12,
		"7-metadata-2.warc.gz": 7, "x.warc.gz": 0, "7-metadata-x.warc.gz": 0,
		"12-3-2026-00000-a.warc.gz": 0, "ledger-north-20261126T132410Z-000001.txt": 0,
		"-1-3-20261126132408136-00000-a.warc.gz": 0} {
		if got := jobOfName(name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestLostRulesAreNotTakenForNone: a trail that has rules, or is not whole, shuts the archive to readers.
func TestLostRulesAreNotTakenForNone(t *testing.T) {
	with := fold([]catalog.Event{{Act: "rule.add", Subject: "1"}})
	for _, tt := range []struct {
		s    Survey
		want bool
	}{{Survey{whole: true, told: fold(nil)}, false}, {Survey{told: fold(nil)}, true}, {Survey{whole: true, told: with}, true}} {
		if got := tt.s.shut(); got != tt.want {
			t.Errorf("whole %t, counts %v: %t", tt.s.whole, tt.s.told.counts, got)
		}
	}
}
