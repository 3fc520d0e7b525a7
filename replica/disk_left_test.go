package replica

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestNothingGoesBeforeTheNewDiskIsThere takes the new disk away when the shard has moved and the old one is not
// cleared; then it is given up.
func TestNothingGoesBeforeTheNewDiskIsThere(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	unmount(t, s.roots[1].path)
	if err := s.left.clear(s.left.list()[0], nobodyWants); !errors.Is(err, ErrNotMounted) {
		t.Fatalf("without the new disk: %v", err)
	}
	text, err := os.ReadFile(s.cfg.Known)
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "more\n") {
			rest = append(rest, line)
		}
	}
	if err := os.WriteFile(s.cfg.Known, []byte(strings.Join(rest, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	lies(t, reopen(t, s, disk.New()), names, 3000, 0)
	// The same when the old folder was already set aside.
	n := catalog.FileName(names[0]).Shard()
	if err := os.Rename(s.roots[0].folder(n), s.roots[0].left(n)); err != nil {
		t.Fatal(err)
	}
	lies(t, reopen(t, s, disk.New()), names, 3000, 0)
}

// TestALeftoverKeepsWhatTheShardHasLost: a file that was lost on the new disk meanwhile is not deleted on the old
// one, and what is not the archive's stays, and is told.
func TestALeftoverKeepsWhatTheShardHasLost(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	n := catalog.FileName(names[0]).Shard()
	foreign := filepath.Join(s.roots[0].folder(n), "notes of an operator")
	if err := os.WriteFile(foreign, []byte("do not delete"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.Path(catalog.FileName(names[1]))); err != nil {
		t.Fatal(err)
	}
	if err := s.left.clear(s.left.list()[0], allWanted); !errors.Is(err, errForeign) {
		t.Fatalf("clear: %v", err)
	}
	if err := moveTo(s, names, 3000, 0).run(t.Context()); !errors.Is(err, errElsewhere) {
		t.Errorf("a shard moved that has something left elsewhere: %v", err)
	}
	aside, err := filepath.Glob(filepath.Join(s.roots[0].quarantine, names[1]+".*"))
	if err != nil || len(aside) != 2 {
		t.Fatalf("set aside: %v, %v", aside, err)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(b, content(1, 3000)) {
		t.Error("other bytes were set aside")
	}
	left := filepath.Join(s.roots[0].left(n), filepath.Base(foreign))
	if b, err := os.ReadFile(left); err != nil || string(b) != "do not delete" {
		t.Fatalf("%q, %v", b, err)
	}
	s = reopen(t, s, disk.New())
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	if err := keep(s, names[1], content(1, 3000)); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	lies(t, s, names, 3000, 1)
}

// TestTwoFoldersOfAShardWithoutANoteAreRefused: nobody can tell which of them is the shard.
func TestTwoFoldersOfAShardWithoutANoteAreRefused(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 1, 3000)
	n := catalog.FileName(names[0]).Shard()
	if err := os.Mkdir(s.roots[1].folder(n), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(s.cfg, disk.New(), discard()); err == nil || !strings.Contains(err.Error(),
		"is in two folders") {
		t.Fatal(err)
	}
}

// TestLooseAndMissingFilesMoveAsTheyAre keeps what an operator has to know about a shard.
func TestLooseAndMissingFilesMoveAsTheyAre(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 4, 3000)
	loose, missing := catalog.FileName(names[2]), catalog.FileName(names[3])
	if err := dropLine(s.disk, s.shards[loose.Shard()].manifest(loose.Shard()), loose); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.Path(missing)); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, disk.New())
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	for range 2 {
		if !slices.Equal(s.Loose(), []catalog.FileName{loose}) || !slices.Equal(s.Missing(),
			[]catalog.FileName{missing}) {
			t.Errorf("loose %v, missing %v", s.Loose(), s.Missing())
		}
		if b, err := os.ReadFile(s.Path(loose)); err != nil || !bytes.Equal(b, content(2, 3000)) {
			t.Error("the loose file has not come along")
		}
		s = reopen(t, s, disk.New())
	}
}
