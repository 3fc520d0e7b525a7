package raft

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestTailHoldsWhatWasWritten writes a file to its end, as the log does, and again from a place in its middle after it was opened
// again. Behind the log's end there are zeros only, even if other bytes were there.
func TestTailHoldsWhatWasWritten(t *testing.T) {
	t.Parallel()
	const size = 3*aheadBytes + 1000
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, size), 0o600); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, size)
	write := func(from int) {
		files := newSpares(dir, size, ledgerOf(t).disk, ledgerOf(t))
		f, err := files.OpenWriter(dir, "log")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for at := from; at < size; {
			n := min(1+random.IntN(300<<10), size-at)
			for i := range n {
				want[at+i] = byte(random.Uint32())
			}
			if _, err := f.WriteAt(want[at:at+n], int64(at)); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			at += n
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			end := min((at/aheadBytes+1)*aheadBytes, size)
			if len(got) != size || !bytes.Equal(got[:at], want[:at]) || !bytes.Equal(got[at:end], make([]byte, end-at)) {
				t.Fatalf("written up to %d, the file of %d bytes has something else", at, len(got))
			}
		}
	}
	write(0)
	write(aheadBytes + 5000)
}

// TestLogOverRemains opens a log behind whose end there are remains of an append that was cut off, and goes on.
func TestLogOverRemains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *logStore {
		t.Helper()
		l, err := openLog(dir, 2*aheadBytes, ledgerOf(t), roomy(), quiet(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	shut := func(l *logStore) {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	store := func(l *logStore, index uint64) {
		t.Helper()
		if err := l.StoreLog(&hraft.Log{Index: index, Term: 1, Data: bytes.Repeat([]byte{byte(index)}, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	l := open()
	for i := uint64(1); i <= 10; i++ {
		store(l, i)
	}
	shut(l)
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(text, "\x00"))
	copy(text[(end+7)/8*8+4000:], bytes.Repeat([]byte{9}, 3*aheadBytes/2)) // a later page of it came to be on the disk
	if err := os.WriteFile(names[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(3) {
		l = open()
		for i := 11 + 50*round; i < 61+50*round; i++ {
			store(l, i)
		}
		shut(l)
	}
	l = open()
	for i := uint64(1); i <= 160; i++ {
		var got hraft.Log
		if err := l.GetLog(i, &got); err != nil || len(got.Data) != 1000 || got.Data[999] != byte(i) {
			t.Errorf("entry %d is %.10q: %v", i, got.Data, err)
		}
	}
	shut(l)
}
