package raft

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestRestoredFolderGetsNewNumbers starts a node several times, puts an older copy of its folder back, and checks that
// what it then asks is carried out and not answered as something it had asked before.
func TestRestoredFolderGetsNewNumbers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.found("a", "north")
	b := c.grow(a, "b", "south")
	c.propose(b, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("b")
	dir, backup := c.configOf("b").Dir, filepath.Join(t.TempDir(), "b")
	if err := copyTree(dir, backup); err != nil {
		t.Fatal(err)
	}
	var last uint64
	for range 2 {
		b = c.start("b")
		c.propose(b, addKind, tinyAdd{Key: "x", N: 1})
		last = b.storage.boot
		c.stop("b")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(backup, dir); err != nil {
		t.Fatal(err)
	}
	b = c.start("b")
	if b.storage.boot <= last {
		t.Errorf("boot %d after %d", b.storage.boot, last)
	}
	if got := c.propose(b, addKind, tinyAdd{Key: "x", N: 10}); string(got.Value) != "13" {
		t.Errorf("a new request is answered %s, as one of before", got.Value)
	}
}

// TestLostCountGoesOnFromTheState takes the file away that counts the starts, while the clock is behind.
func TestLostCountGoesOnFromTheState(t *testing.T) {
	t.Parallel()
	for name, machine := range map[string]Machine{"counter": tiny{}, "catalog": theCatalog{}} {
		t.Run(name, func(t *testing.T) {
			c := lone(t)
			c.machine = machine
			n := c.open(benchID('a'))
			found := founding('a')
			if name == "counter" {
				found = catalog.Command{Kind: catalog.Found, Body: member(benchID('a'), "north")}
			}
			if err := n.Bootstrap(t.Context(), found); err != nil {
				t.Fatal(err)
			}
			n.proposer.boot = 1 << 50 // thousands of years ahead
			a := c.run(n)
			c.propose(a, catalog.SetCollection, catalog.Collection{Name: "radio"})
			c.stop(a.cfg.Self)
			if err := os.Remove(filepath.Join(c.configOf(a.cfg.Self).Dir, "raft", "boot")); err != nil {
				t.Fatal(err)
			}
			a = c.start(a.cfg.Self)
			if a.storage.boot != 1<<50+1 {
				t.Errorf("boot %d", a.storage.boot)
			}
		})
	}
}

func TestBootsGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct{ past, want uint64 }{{0, 1}, {0, 2}, {2, 3}, {100, 101}, {50, 102}} {
		if got, err := nextBoot(disk.New(), dir, tt.past); err != nil || got != tt.want {
			t.Errorf("with %d past: boot %d, %v, want %d", tt.past, got, err, tt.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "boot"), []byte("many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nextBoot(disk.New(), dir, 0); err == nil {
		t.Error("a damaged count is taken for one")
	}
}
