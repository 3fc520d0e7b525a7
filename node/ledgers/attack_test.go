package ledgers

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/internal/kv/memory"
	"holdfast/ledger"
	"holdfast/replica"
)

// A shard that changes its holder while the pages are made is on neither page: such a ledger does not count as whole.
func TestAShardThatNoPageHas(t *testing.T) {
	w := newWorld(t)
	w.add("a", "x")
	w.add("c", "z")
	maker, other := w.holder("a"), w.holder("c")
	if maker == other {
		t.Fatal("both are of one holder: the test needs other names")
	}
	tx := new(memory.Tx) // the maker knows already that the other node is the holder
	_ = w.tx.Scan(nil, nil, func(k, v []byte) bool { _ = tx.Set(k, v); return true })
	key := []byte("layout/north/" + catalog.FileName("a").Shard().String())
	value, _ := tx.Get(key)
	_ = tx.Set(key, []byte(strings.ReplaceAll(string(value), string(idOf(maker)), string(idOf(other)))))
	w.add("b"+maker, "y") // the maker may be a holder of nothing else
	w.nodes[maker].catalog = tx
	l, err := w.nodes[other].make(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "its holder changed") {
		t.Errorf("a ledger of %d files: %v", l.Files, err)
	}
}

// Two nodes that make a ledger at the same time do not end each other's pages: the older ledger goes on.
func TestTwoLedgersAtOnce(t *testing.T) {
	w := newWorld(t)
	w.add("a", "x")
	gate := make(chan struct{})
	n := w.nodes["north-1"]
	list := n.cfg.Bytes.List
	n.cfg.Bytes.List = func(s catalog.Shard) ([]replica.Held, error) { <-gate; return list(s) }
	at := w.clock().Std()
	older, newer := ledger.Base("north", at, 1), ledger.Base("north", at.Add(time.Minute), 1)
	ask := func(from, base string) (PageReply, error) { return n.Page(t.Context(), idOf(from), PageRequest{base}) }
	if _, err := ask("north-1", newer); err != nil {
		t.Fatal(err)
	}
	if _, err := ask("north-2", older); err != nil {
		t.Fatal("the older ledger does not go first: ", err)
	}
	if _, err := ask("north-1", newer); err == nil || !strings.Contains(err.Error(), older) {
		t.Errorf("the newer ledger ends the page of the older one: %v", err)
	}
	close(gate)
	var r PageReply
	for err := error(nil); !r.Done; time.Sleep(time.Millisecond) {
		if r, err = ask("north-2", older); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Keep(context.Background(), idOf("north-2"), KeepRequest{older, "web"}); err != nil {
		t.Fatal(err)
	}
	for r.Done = false; !r.Done; time.Sleep(time.Millisecond) {
		var err error
		if r, err = ask("north-1", newer); err != nil {
			t.Fatal("when the older one is done: ", err)
		}
	}
	// What was made for a ledger that came to nothing does not stay.
	if _, err := ask("north-1", ledger.Base("north", at.Add(time.Hour), 1)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(n.cfg.Dir, newer))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
	for r.Done = false; !r.Done; time.Sleep(time.Millisecond) {
		if r, err = ask("north-1", ledger.Base("north", at.Add(time.Hour), 1)); err != nil {
			t.Fatal(err)
		}
	}
}
