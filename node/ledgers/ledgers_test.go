package ledgers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/kv/memory"
	"holdfast/ledger"
)

func (w *world) make(name string) files.Ledger {
	w.t.Helper()
	l, err := w.nodes[name].make(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) newest() (l files.Ledger) {
	w.t.Helper()
	if err := w.nodes["south-1"].View(func(v catalog.View) (err error) { l, err = v.NewestLedger("north"); return err }); err != nil {
		w.t.Fatal(err)
	}
	return l
}

// book opens the newest ledger of north from the archive, and reads it to its end.
func (w *world) book() *ledger.Book {
	w.t.Helper()
	open := w.nodes["south-1"].open(w.t.Context())
	b, err := ledger.OpenBook(string(w.newest().Name), open)
	if err == nil {
		err = b.OpenLists(open)
	}
	for shard := 0; err == nil && shard < ledger.Shards; shard++ {
		_, _, err = b.Shard(shard)
	}
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func TestALedgerIsMadeSignedAndRecorded(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.add(fmt.Sprintf("%d.warc", i), "x")
	}
	one := w.make("north-1")
	if one.Files != 20 || len(one.Signed) != 2 || one.Serial != 1 || w.newest().Name != one.Name {
		t.Errorf("%+v", one)
	}
	w.book()
	two := w.make("north-2")
	if two.Files != 27 || two.First != one.Last+1 || two.Serial != 2 { // seven files: a head, a trail, signatures, two pages, two lists
		t.Errorf("%+v", two)
	}
	b := w.book()
	if b.Head.Previous == nil || b.Head.Previous.Name != string(one.Name) {
		t.Errorf("%+v", b.Head)
	}
}

// What the catalog counts on and the holder has not is not claimed: it is named, and the ledger is countersigned all the
// same.
func TestAHolderClaimsOnlyWhatItHas(t *testing.T) {
	w := newWorld(t)
	w.add("here", "x")
	w.add("gone", "x")
	w.nodes[w.holder("gone")].lacks["gone"] = true
	l := w.make("north-1")
	if l.Files != 1 || l.Missing != 1 || len(l.Signed) != 2 {
		t.Errorf("%+v", l)
	}
	row := false
	for _, p := range w.book().Pages {
		for _, r := range p.Rows {
			row = row || len(r.Missing) == 1 && r.Missing[0] == "gone"
		}
	}
	if !row {
		t.Error("the page does not name the file")
	}
}

// Whoever countersigns compares with its own catalog: each way in which it differs is a refusal with a reason, which the
// record tells, and the ledger is unsigned by that node.
func TestRefusalsToCountersign(t *testing.T) {
	altered := func(w *world, change func(tx *memory.Tx)) {
		tx := new(memory.Tx)
		_ = w.tx.Scan(nil, nil, func(k, v []byte) bool { _ = tx.Set(k, v); return true })
		change(tx)
		w.nodes["south-1"].catalog = tx
	}
	file := func(tx *memory.Tx, key, old, now string) {
		value, _ := tx.Get([]byte(key))
		text := strings.Replace(string(value), old, now, 1)
		if text == string(value) {
			panic("nothing was altered at " + key)
		}
		_ = tx.Set([]byte(key), []byte(text))
	}
	for name, tt := range map[string]struct {
		do   func(*world)
		want string
	}{
		"another size": {func(w *world) {
			altered(w, func(tx *memory.Tx) {
				shard := catalog.FileName("a").Shard().String()
				file(tx, "root/"+shard+"/web", `"bytes":1`, `"bytes":2`)
				file(tx, "file/a", `"size":1`, `"size":2`)
			})
		}, "shard " + catalog.FileName("a").Shard().String() + ": this node's catalog counts 1 files of 2 bytes"},
		"a file that the ledger has not": {func(w *world) {
			altered(w, func(tx *memory.Tx) {
				file(tx, "root/"+catalog.FileName("a").Shard().String()+"/web", `"files":1`, `"files":2`)
			})
			value, _ := w.nodes["south-1"].catalog.Get([]byte("file/a"))
			_ = w.nodes["south-1"].catalog.Set([]byte("file/a"), []byte(strings.Replace(string(value), `"added"`, `"lost":5,"added"`, 1)))
		}, "counts 0 files of 0 bytes"},
		"another trail": {func(w *world) {
			altered(w, func(tx *memory.Tx) { file(tx, "trail/0000000000000003", `"index":`, `"index":9`) })
		}, "the trail's events 1 to"},
		"away": {func(w *world) { w.dead[idOf("south-1")] = true }, "the node is away"},
		"no answer": {func(w *world) {
			w.fail = func(what string) error {
				if what == SignCall {
					return errors.New("the line is cut")
				}
				return nil
			}
		}, "the line is cut"},
		"another holder": {func(w *world) {
			altered(w, func(tx *memory.Tx) {
				file(tx, "layout/north/"+catalog.FileName("a").Shard().String(), string(idOf(w.holder("a"))), string(idOf("south-1")))
			})
		}, "is held by " + string(idOf("south-1"))},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("a", "x")
			w.add("b", "y")
			tt.do(w)
			l, err := w.nodes[w.holder("a")].make(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, r := range l.Unsigned {
				if r.Node == idOf("south-1") {
					reason = r.Reason
				}
			}
			if !strings.Contains(reason, tt.want) {
				t.Errorf("want %q, got %q; signed by %v", tt.want, reason, l.Signed)
			}
		})
	}
}

// Files that come while a ledger is countersigned are no reason to refuse.
func TestFilesThatComeMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.add("a", "x")
	came := 0
	w.fail = func(what string) error {
		if what == SignCall {
			w.fail = nil
			for came = range 5 {
				w.add(fmt.Sprintf("late-%d", came), "y")
			}
		}
		return nil
	}
	if l := w.make(w.holder("a")); len(l.Signed) != 2 || came != 4 || l.Files != 1 {
		t.Errorf("%+v", l)
	}
}

// Wherever making fails or its node is killed, no ledger counts; the next try makes it whole, and nothing is left.
func TestANodeThatDiesOnTheWayLeavesNothingHalf(t *testing.T) {
	for step := 1; ; step++ {
		w := newWorld(t)
		w.add("a", "x")
		w.add("c", "z")
		maker := w.holder("a")
		first := w.make(maker)
		w.add("b", "y")
		ctx, kill := context.WithCancel(t.Context())
		steps := 0
		w.fail = func(what string) error {
			if steps++; steps == step {
				kill()
				return errors.New("killed")
			}
			return nil
		}
		_, err := w.nodes[maker].make(ctx, "")
		kill()
		w.fail = nil
		if err == nil {
			if step < 8 {
				t.Errorf("only %d steps were seen", step)
			}
			return
		}
		if newest := w.newest(); newest.Serial != first.Serial {
			t.Fatalf("step %d: %v, and ledger %d counts", step, err, newest.Serial)
		}
		w.book()
		w.now += 60_000
		again := w.start(maker)
		if _, err := os.Stat(again.cfg.Dir); !os.IsNotExist(err) {
			t.Errorf("step %d: %s is left", step, again.cfg.Dir)
		}
		if l := w.make(maker); l.Serial != 2 || len(l.Signed) != 2 || l.First != first.Last+1 {
			t.Errorf("step %d: %+v", step, l)
		}
		w.book()
		left, _ := filepath.Glob(filepath.Join(again.cfg.Dir, "*", "*"))
		if len(left) > 0 {
			t.Errorf("step %d: %v is left", step, left)
		}
	}
}

func TestWhatMakesNoLedger(t *testing.T) {
	w := newWorld(t)
	if _, err := w.nodes["north-1"].make(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "holds no files") {
		t.Errorf("of an empty replica: %v", err)
	}
	w.add("a", "x")
	w.add("c", "x") // of the other holder
	if w.holder("a") == w.holder("c") {
		t.Fatal("both are of one holder: the test needs other names")
	}
	if _, err := w.nodes["sums-1"].make(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "holds no bytes") {
		t.Errorf("of a checksum replica: %v", err)
	}
	maker := w.holder("a")
	w.dead[idOf(w.holder("c"))] = true
	if _, err := w.nodes[maker].make(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "get the ledger page of "+w.holder("c")) {
		t.Errorf("without a holder: %v", err)
	}
	w.dead = map[catalog.NodeID]bool{}
	one := w.make(maker)
	w.bytes[one.Name] = []byte("# something else\n")
	if _, err := w.nodes[maker].make(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "another SHA-256") {
		t.Errorf("behind a ledger that was altered: %v", err)
	}
}

func TestWhenALedgerIsDue(t *testing.T) {
	w := newWorld(t)
	due := func() (names []string) {
		for _, name := range []string{"north-1", "north-2", "south-1", "sums-1"} {
			if is, err := w.nodes[name].due(); err != nil {
				t.Fatal(err)
			} else if is {
				names = append(names, name)
			}
		}
		return names
	}
	if got := due(); len(got) != 0 {
		t.Errorf("without files: %v", got)
	}
	w.add("a", "x")
	w.add("c", "x")
	got := due()
	if len(got) != 2 || got[1] != "south-1" {
		t.Fatalf("%v", got)
	}
	w.dead[idOf(got[0])] = true
	other := map[string]string{"north-1": "north-2", "north-2": "north-1"}[got[0]]
	if after := due(); len(after) < 2 || after[0] != other && after[1] != other {
		t.Errorf("when %s is away: %v", got[0], after)
	}
	w.dead = map[catalog.NodeID]bool{}
	w.make(got[0])
	if after := due(); len(after) != 1 || after[0] != "south-1" {
		t.Errorf("just made: %v", after)
	}
	w.now += catalog.Time(25 * time.Hour / time.Millisecond)
	if after := due(); len(after) != 2 {
		t.Errorf("a day later: %v", after)
	}
	for _, n := range w.nodes {
		n.cfg.First = time.Hour
		n.opened = w.clock().Std()
	}
	if after := due(); len(after) != 1 || after[0] != got[0] {
		t.Errorf("of a replica that has none, by nodes that have just started: %v", after)
	}
	w.now += catalog.Time(time.Hour / time.Millisecond)
	if after := due(); len(after) != 2 {
		t.Errorf("an hour after the start: %v", after)
	}
}

// TestALedgerThatNobodySignedIsMadeAgain is about a ledger that all nodes at other places refused to sign.
func TestALedgerThatNobodySignedIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.add("a", "x")
	maker := ""
	for _, name := range []string{"north-1", "north-2"} {
		if is, err := w.nodes[name].due(); err == nil && is {
			maker = name
		}
	}
	w.dead[idOf("south-1")], w.dead[idOf("sums-1")] = true, true
	if made, err := w.nodes[maker].make(t.Context(), ""); err != nil || len(made.Signed) > 0 || len(made.Unsigned) == 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	if is, err := w.nodes[maker].due(); err != nil || is {
		t.Errorf("at once: %v, %v", is, err)
	}
	w.now += catalog.Time(61 * time.Minute / time.Millisecond)
	if is, err := w.nodes[maker].due(); err != nil || !is {
		t.Errorf("an hour later: %v, %v", is, err)
	}
}
