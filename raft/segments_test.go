package raft

import (
	"fmt"
	"testing"

	hraft "github.com/hashicorp/raft"
)

func TestALogWhoseEndWasCutOffOpensAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLog(dir, 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	store := func(term, from, to uint64) {
		t.Helper()
		for i := from; i <= to; i++ {
			if err := l.StoreLog(&hraft.Log{Index: i, Term: term, Data: fmt.Appendf(nil, "%d in %d", i, term)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(from, to uint64) {
		t.Helper()
		if err := l.DeleteRange(from, to); err != nil {
			t.Fatal(err)
		}
	}
	store(1, 1, 10)
	cut(6, 10)
	store(2, 6, 12)
	cut(12, 12)
	store(3, 12, 13)
	want := []uint64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3}
	for try := range 3 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = openLog(dir, 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) }); err != nil {
			t.Fatalf("open %d: %v", try, err)
		}
		for i, term := range want {
			var got hraft.Log
			if err := l.GetLog(uint64(i+1), &got); err != nil || got.Term != term || string(got.Data) != fmt.Sprintf("%d in %d", i+1, term) {
				t.Errorf("open %d: entry %d is %q of term %d, want term %d: %v", try, i+1, got.Data, got.Term, term, err)
			}
		}
		if last, err := l.LastIndex(); err != nil || last != uint64(len(want)) {
			t.Errorf("open %d: the last entry is %d: %v", try, last, err)
		}
		last := uint64(len(want))
		store(9, last+1, last+1)
		want = append(want, 9)
	}
	cut(1, 8) // the files before are let go
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = openLog(dir, 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	if first, err := l.FirstIndex(); err != nil || first != 9 {
		t.Errorf("the first entry is %d: %v", first, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
