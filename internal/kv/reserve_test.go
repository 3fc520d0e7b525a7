package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestMappedFilesHaveTheirBlocks writes through several memtables, with flushes and compactions: no file that Badger maps may
// have holes, for a write to a hole of a full disk ends the process by SIGBUS.
func TestMappedFilesHaveTheirBlocks(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(options(dir).WithNumMemtables(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte{1}, 64<<10)
	for i := range uint32(1000) {
		if i%8 == 0 {
			if err := Reserve(db); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Update(func(txn *badger.Txn) error {
			return txn.Set(binary.BigEndian.AppendUint32(nil, i), value)
		}); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			withoutHoles(t, dir)
		}
	}
	withoutHoles(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(options(dir), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func withoutHoles(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range entries {
		if !slices.Contains([]string{".mem", ".sst", ".vlog"}, filepath.Ext(e.Name())) && e.Name() != "DISCARD" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // flushed or compacted meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		if has := info.Sys().(*syscall.Stat_t).Blocks * 512; has < info.Size() {
			t.Errorf("%s has blocks for %d of its %d bytes", e.Name(), has, info.Size())
		}
		seen++
	}
	if seen < 3 {
		t.Fatalf("looked at %d files", seen)
	}
}

func TestReserveReadiesTheNextMemtable(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(options(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if err := Reserve(db); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil || len(logs) != 2 || !strings.HasSuffix(logs[1], "00002.mem") {
		t.Fatalf("%v %v", logs, err)
	}
	info, err := os.Stat(logs[1])
	if err != nil {
		t.Fatal(err)
	}
	if has := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != 0 || has < 16<<20 {
		t.Errorf("the next log has size %d and blocks for %d", info.Size(), has)
	}
}
