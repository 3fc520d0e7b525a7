package raft

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/disk"
)

// TestPartOfTheStateIsLost takes one part of a voter's folder away, or puts an older one in its place: the node says so at its
// start, each time, and does not take part. It forgot what it had agreed to, and could undo decisions.
func TestPartOfTheStateIsLost(t *testing.T) {
	t.Parallel()
	older := func(part string) func(*testing.T, string, string) {
		return func(t *testing.T, dir, old string) {
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, part)), copyTree(filepath.Join(old, part), filepath.Join(dir, part))); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(pattern string) func(*testing.T, string, string) {
		return func(t *testing.T, dir, _ string) {
			names, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %v %v", pattern, names, err)
			}
			if err := os.Remove(names[len(names)-1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(t *testing.T, dir, _ string) {
		names, err := filepath.Glob(filepath.Join(dir, "raft", "*.wal"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		// The last entries are gone, as if the file had been written back from an older copy.
		last := names[len(names)-1]
		text, err := os.ReadFile(last)
		if err != nil {
			t.Fatal(err)
		}
		end := len(text)
		for end > 0 && text[end-1] == 0 {
			end--
		}
		clear(text[end-100:])
		if err := os.WriteFile(last, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir, old string){
		"the log's metadata is gone":   remove("raft/wal-meta.db"),
		"the log's last file is gone":  remove("raft/*.wal"),
		"the log's metadata is older":  older("raft/wal-meta.db"),
		"the log's folder is older":    older("raft"),
		"the log's last entry is gone": cut,
		"the log's metadata, and no second record": func(t *testing.T, dir, old string) {
			remove("raft/wal-meta.db")(t, dir, old)
			remove("catalog/"+heldName)(t, dir, old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := lone(t)
			a := c.found("a", "north")
			c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
			c.stop("a")
			dir, old := c.configOf("a").Dir, filepath.Join(t.TempDir(), "old")
			if err := copyTree(dir, old); err != nil {
				t.Fatal(err)
			}
			for range 2 { // each start is an election, and so a term
				a = c.start("a")
				c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
				c.stop("a")
			}
			damage(t, dir, old)
			for range 2 {
				n, err := c.openAt(dir, "a", nil)
				if !errors.Is(err, ErrStateLost) {
					t.Errorf("the node starts: %v", err)
				}
				if err == nil {
					if err := n.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// TestAnOlderLogOfTheSameLengthIsFoundOut sets the log's folder back to a copy from before the node's last start, in which no entry and no
// term was added that the state has: what was added besides cannot be known.
func TestAnOlderLogOfTheSameLengthIsFoundOut(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("a")
	dir, old := c.configOf("a").Dir, filepath.Join(t.TempDir(), "old")
	if err := copyTree(filepath.Join(dir, "raft"), old); err != nil {
		t.Fatal(err)
	}
	if err := c.open("a").Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "raft")), copyTree(old, filepath.Join(dir, "raft"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := c.openAt(dir, "a", nil); !errors.Is(err, ErrStateLost) {
			t.Errorf("the node starts: %v", err)
			if err == nil {
				err = n.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNothingIsLostByUpgrading starts a node whose folder has none of the records that this version keeps.
func TestNothingIsLostByUpgrading(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("a")
	dir := c.configOf("a").Dir
	m := filepath.Join(dir, "catalog", "1", markerName)
	if err := errors.Join(os.Remove(filepath.Join(dir, "catalog", heldName)), os.WriteFile(m, []byte(`{"index":1,"term":1,"synced":1}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a = c.start("a")
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
		c.stop("a")
	}
}

// TestAnEmptyLogIsNotALostOne empties the log up to the state's place, as a purge does, and starts the node.
func TestAnEmptyLogIsNotALostOne(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("a")
	n := c.open("a")
	first, err := n.storage.wal.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := n.storage.wal.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	st := n.storage.state.store()
	if err := st.mark(last, st.position.Term); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.storage.wal.DeleteRange(first, last), n.Close()); err != nil {
		t.Fatal(err)
	}
	a = c.start("a")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
}

// TestLedgerIsALowerBound keeps the record from being written: the log goes on, and the next start finds nothing amiss.
func TestLedgerIsALowerBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLedger(filepath.Join(dir, "catalog"), disk.New(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	log, err := openLog(filepath.Join(dir), 64<<10, l, roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	l.path = filepath.Join(dir, "nowhere", heldName)
	if err := log.SetUint64([]byte(termKey), 7); err != nil {
		t.Errorf("the term could not be kept: %v", err)
	}
	for i := uint64(1); i < 60; i++ {
		if err := log.StoreLog(entryOf(i, 4<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = openLedger(filepath.Join(dir, "catalog"), disk.New(), quiet()); err != nil {
		t.Fatal(err)
	}
	if err := l.checkFiles(dir); err != nil {
		t.Error(err)
	}
}
