package raft

import (
	"errors"
	"fmt"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestLogIsTheSameFromMemory reads entries that are in memory, were pushed out, are too big, or were replaced by
// those of another leader.
func TestLogIsTheSameFromMemory(t *testing.T) {
	dir := t.TempDir()
	log, err := openLog(dir, 1<<20, quiet())
	if err != nil {
		t.Fatal(err)
	}
	entry := func(index, term uint64) *hraft.Log {
		data := fmt.Appendf(nil, "entry %d of term %d", index, term)
		if index%100 == 7 {
			data = append(data, make([]byte, recentBytes)...)
		}
		return &hraft.Log{Index: index, Term: term, Type: hraft.LogCommand, Data: data}
	}
	store := func(first, last, term uint64) {
		var logs []*hraft.Log
		for i := first; i <= last; i++ {
			logs = append(logs, entry(i, term))
		}
		if err := log.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
	}
	check := func(first, last, term uint64) {
		t.Helper()
		for i := first; i <= last; i++ {
			var got hraft.Log
			want := entry(i, term)
			if err := log.GetLog(i, &got); err != nil || got.Index != i || got.Term != term || string(got.Data) != string(want.Data) {
				t.Fatalf("entry %d of term %d is %.40q of term %d, %v", i, term, got.Data, got.Term, err)
			}
		}
	}
	store(1, 1000, 1)
	check(1, 1000, 1)
	if err := log.DeleteRange(901, 1000); err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{0, 901, 1000} {
		if err := log.GetLog(index, new(hraft.Log)); !errors.Is(err, hraft.ErrLogNotFound) {
			t.Errorf("entry %d, which is not there, is read: %v", index, err)
		}
	}
	store(901, 950, 2)
	check(1, 900, 1)
	check(901, 950, 2)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = openLog(dir, 1<<20, quiet()); err != nil {
		t.Fatal(err)
	}
	check(1, 900, 1)
	check(901, 950, 2)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
