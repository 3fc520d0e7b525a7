package raft

import (
	"bytes"
	"fmt"
	"testing"
)

// TestCacheCountsWhatItKeeps writes the same keys again and again: what the cache takes for its size is what it keeps, so that it
// is emptied because it is large, and not because keys that come often were written often.
func TestCacheCountsWhatItKeeps(t *testing.T) {
	t.Parallel()
	s := filled(t)
	var c cache
	for round := range 5000 {
		st := s.store()
		txn := st.db.NewTransactionAt(st.applied.Load(), false)
		c.of(st)
		w := newOverlay(txn)
		w.cache = &c
		for _, key := range []string{"one", "two"} {
			value, err := w.Get([]byte(key))
			if err != nil || value == nil {
				t.Fatalf("round %d: %q is %q, %v", round, key, value, err)
			}
		}
		if err := w.Scan([]byte("t"), nil, func(_, _ []byte) bool { return true }); err != nil {
			t.Fatal(err)
		}
		value := bytes.Repeat([]byte("x"), 1+round%2000)
		if err := w.Set([]byte("one"), value); err != nil {
			t.Fatal(err)
		}
		if round%3 == 0 { // the scan is forgotten
			if err := w.Set(fmt.Append(nil, "t", round%7), value); err != nil {
				t.Fatal(err)
			}
		}
		c.committed(w)
		txn.Discard()
		want := 0
		for key, value := range c.values {
			want += len(key) + len(value) + cachedExtra
		}
		for prefix, seen := range c.scans {
			want += sizeOfScan(prefix, seen)
		}
		if c.bytes != want {
			t.Fatalf("round %d: the cache counts %d bytes and keeps %d", round, c.bytes, want)
		}
		if got := c.values["one"]; !bytes.Equal(got, value) {
			t.Fatalf("round %d: a value of %d bytes is kept as %d", round, len(value), len(got))
		}
	}
	if len(c.values) < 2 {
		t.Errorf("%d values are kept after keys were written often", len(c.values))
	}
}
