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
	t.Parallel()
	dir := t.TempDir()
	log, err := openLog(dir, 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
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
	if log, err = openLog(dir, 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	check(1, 900, 1)
	check(901, 950, 2)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogCutWhileAFileBegins takes entries off the end right after one that filled a file, when the library is about to begin
// the next one by itself.
func TestLogCutWhileAFileBegins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := openLog(dir, 64<<10, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	terms := []uint64{0} // by index
	for term := uint64(1); term <= 100; term++ {
		for _, size := range []int{1, 1, 64 << 10} { // the last one fills a file
			next := uint64(len(terms))
			if err := log.StoreLog(&hraft.Log{Index: next, Term: term, Data: make([]byte, size)}); err != nil {
				t.Fatalf("store %d in term %d: %v", next, term, err)
			}
			terms = append(terms, term)
		}
		keep := len(terms) - 1 - int(term%2)
		if err := log.DeleteRange(uint64(keep), uint64(len(terms)-1)); err != nil {
			t.Fatal(err)
		}
		terms = terms[:keep]
	}
	for try := range 2 {
		for i, term := range terms[1:] {
			var got hraft.Log
			if err := log.WAL.GetLog(uint64(i+1), &got); err != nil || got.Term != term {
				t.Fatalf("open %d: entry %d is of term %d, want %d: %v", try, i+1, got.Term, term, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if log, err = openLog(dir, 64<<10, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogThatCannotReplace has an append fail after entries were taken off the end, and one that fails without.
func TestLogThatCannotReplace(t *testing.T) {
	t.Parallel()
	var failed []error
	log, err := openLog(t.TempDir(), 1<<20, ledgerOf(t), roomy(), quiet(), func(err error) { failed = append(failed, err) })
	if err != nil {
		t.Fatal(err)
	}
	store := func(index uint64) error {
		return log.StoreLog(&hraft.Log{Index: index, Term: 1, Data: []byte("entry")})
	}
	if err := errors.Join(store(1), store(2), store(3)); err != nil {
		t.Fatal(err)
	}
	if err := store(9); err == nil || failed != nil {
		t.Errorf("an entry out of order: %v, told %v", err, failed)
	}
	if err := log.DeleteRange(2, 3); err != nil {
		t.Fatal(err)
	}
	if err := store(4); err == nil || len(failed) != 1 || !errors.Is(failed[0], err) {
		t.Errorf("an entry after a gap: %v, told %v", err, failed)
	}
	if err := errors.Join(store(2), log.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTheLogBeyondAStateStays removes the whole log, as Raft does when a state was installed: what is beyond the state and
// follows it stays, because Raft goes on as if it did.
func TestTheLogBeyondAStateStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state       marker
		first, last uint64 // of what stays; 0: nothing
		fails       bool
	}{
		"no state":                {marker{}, 0, 0, false},
		"a state within the log":  {marker{Index: 15, Term: 2}, 16, 20, false},
		"at a change of the term": {marker{Index: 10, Term: 1}, 11, 20, false},
		"at the end":              {marker{Index: 20, Term: 2}, 0, 0, false},
		"beyond the end":          {marker{Index: 25, Term: 3}, 0, 0, false},
		"another entry there":     {marker{Index: 15, Term: 3}, 1, 20, true},
	} {
		failed := 0
		log, err := openLog(t.TempDir(), 1<<20, ledgerOf(t), roomy(), quiet(), func(error) { failed++ })
		if err != nil {
			t.Fatal(err)
		}
		for i := uint64(1); i <= 20; i++ {
			if err := log.StoreLog(&hraft.Log{Index: i, Term: 1 + (i-1)/10, Data: []byte("entry")}); err != nil {
				t.Fatal(err)
			}
		}
		log.state = func() marker { return tt.state }
		for range 2 { // the second time as after a state at the same place
			first, err := log.FirstIndex()
			if err != nil {
				t.Fatal(err)
			}
			last, err := log.LastIndex()
			if err != nil {
				t.Fatal(err)
			}
			if err := log.DeleteRange(first, last); (err != nil) != tt.fails || (failed > 0) != tt.fails {
				t.Errorf("%s: %v, told %d times", name, err, failed)
			}
			first, err = log.FirstIndex()
			last, lastErr := log.LastIndex()
			if err := errors.Join(err, lastErr); err != nil || first != tt.first && tt.first > 0 || last != tt.last {
				t.Errorf("%s: %d to %d stay, want %d to %d, %v", name, first, last, tt.first, tt.last, err)
			}
			for i := tt.first; i > 0 && i <= tt.last; i++ {
				if err := log.GetLog(i, new(hraft.Log)); err != nil {
					t.Errorf("%s: entry %d: %v", name, i, err)
				}
			}
		}
		if tt.last > 0 && !tt.fails {
			if err := log.StoreLog(&hraft.Log{Index: 21, Term: 2}); err != nil {
				t.Errorf("%s: it does not go on: %v", name, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
