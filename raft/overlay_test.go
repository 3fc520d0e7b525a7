package raft

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/kv/memory"
)

// TestOverlayIsAMap compares the overlay with a plain map through random changes, reads and scans.
func TestOverlayIsAMap(t *testing.T) {
	t.Parallel()
	s := filled(t)
	base := map[string]string{"one": "one at 2", "two": "two at 2", "three": "three at 2"}
	var last *overlay
	rapid.Check(t, func(t *rapid.T) {
		st := s.store()
		txn := st.db.NewTransactionAt(st.applied.Load(), false)
		defer txn.Discard()
		w, model := last.reuse(txn), maps.Clone(base)
		last = w
		keys := rapid.SampledFrom([]string{"a", "o", "on", "one", "one/x", "t", "three", "two", "two\xff", "z"})
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			key := keys.Draw(t, "key")
			if rapid.Bool().Draw(t, "look") {
				w.touches([]byte("o")) // sorts what is changed so far
			}
			if rapid.Bool().Draw(t, "delete") {
				delete(model, key)
				if err := w.Delete([]byte(key)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			model[key] = rapid.String().Draw(t, "value")
			if err := w.Set([]byte(key), []byte(model[key])); err != nil {
				t.Fatal(err)
			}
		}
		key := keys.Draw(t, "read")
		value, err := w.Get([]byte(key))
		if want, there := model[key]; err != nil || there != (value != nil) || string(value) != want {
			t.Fatalf("%q is %q, %v; want %q %v", key, value, err, want, there)
		}
		prefix, from := rapid.SampledFrom([]string{"", "o", "one", "t", "q"}).Draw(t, "prefix"), keys.Draw(t, "from")
		var want, got []string
		for _, key := range slices.Sorted(maps.Keys(model)) {
			if strings.HasPrefix(key, prefix) && key >= from {
				want = append(want, key+"="+model[key])
			}
		}
		err = w.Scan([]byte(prefix), []byte(from), func(key, value []byte) bool {
			got = append(got, fmt.Sprintf("%s=%s", key, value))
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("scan of %q from %q: %q, %v; want %q", prefix, from, got, err, want)
		}
	})
}

func TestOverlayKeepsTheStatesOwnKeys(t *testing.T) {
	t.Parallel()
	s := filled(t)
	st := s.store()
	txn := st.db.NewTransactionAt(st.applied.Load(), false)
	defer txn.Discard()
	w := newOverlay(txn)
	for _, key := range []string{"", positionKey, "\x00x"} {
		if err := w.Set([]byte(key), nil); err == nil {
			t.Errorf("key %q could be written", key)
		}
		if value, err := w.Get([]byte(key)); value != nil || err != nil {
			t.Errorf("key %q reads %q, %v", key, value, err)
		}
	}
	err := w.Scan(nil, nil, func(key, _ []byte) bool {
		if reserved(key) {
			t.Errorf("a scan shows %q", key)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOverlayIsATransaction holds the overlay, over a state whose keys it has deleted, to what the catalog's tests rely on
// in memory.
func TestOverlayIsATransaction(t *testing.T) {
	t.Parallel()
	s := filled(t)
	memory.Contract(t, func() memory.Transaction {
		st := s.store()
		txn := st.db.NewTransactionAt(st.applied.Load(), false)
		t.Cleanup(txn.Discard)
		w := newOverlay(txn)
		for _, key := range []string{"one", "two", "three"} {
			if err := w.Delete([]byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		return w
	})
}
