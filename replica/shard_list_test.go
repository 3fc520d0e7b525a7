package replica

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// onEach opens a store on three roots with one file on each, of different shards, and returns it and the names.
func onEach(t *testing.T, cfg StoreConfig, d disk.Disk) (*Store, []catalog.FileName) {
	t.Helper()
	s := openStore(t, cfg, d)
	var names []catalog.FileName
	for i := range s.roots {
		name := fileName(i)
		for _, r := range s.roots {
			r.draining.Store(r != s.roots[i])
		}
		if err := keep(s, string(name), []byte("bytes")); err != nil || s.shards.on(name.Shard()) != s.roots[i] {
			t.Fatalf("%s: %v", name, err)
		}
		names = append(names, name)
	}
	for _, r := range s.roots {
		r.draining.Store(false)
	}
	return s, names
}

func threeRoots(dir string) StoreConfig {
	cfg := twoRoots(dir)
	cfg.Roots = append(cfg.Roots, filepath.Join(dir, "third"))
	return cfg
}

// TestTheShardsOfADiskThatIsAwayAreKnown starts without two of three disks: the shards of each are known, and one that
// no disk had is free.
func TestTheShardsOfADiskThatIsAwayAreKnown(t *testing.T) {
	t.Parallel()
	cfg := threeRoots(t.TempDir())
	_, names := onEach(t, cfg, disk.New())
	mounts := []func(){unmount(t, cfg.Roots[1]), unmount(t, cfg.Roots[2])}
	for range 2 { // the list outlives starts without the disks
		s := openStore(t, cfg, disk.New())
		for i, name := range names {
			if r := s.shards.on(name.Shard()); r == nil || r.path != cfg.Roots[i] || s.Away(name) != (i > 0) ||
				s.Has(name) != (i == 0) {
				t.Errorf("%s is on %+v", name, r)
			}
		}
		for n := range catalog.Shard(catalog.Shards) {
			if n != names[0].Shard() && n != names[1].Shard() && n != names[2].Shard() && s.shards.on(n) != nil {
				t.Fatalf("shard %s, which had no file, is on %s", n, s.shards.on(n).path)
			}
		}
	}
	s := openStore(t, cfg, disk.New())
	if err := keep(s, string(fileName(7)), []byte("new")); err != nil {
		t.Errorf("a shard that no disk had takes no file: %v", err)
	}
	if err := keep(s, string(names[1]), []byte("bytes")); !errors.Is(err, ErrNotMounted) {
		t.Errorf("a shard of a disk that is away takes a file: %v", err)
	}
	for _, mount := range mounts {
		mount()
	}
	s = openStore(t, cfg, disk.New())
	for _, name := range append(names, fileName(7)) {
		if !s.Has(name) {
			t.Errorf("with all disks again, %s is not here", name)
		}
	}
}

// TestWithoutAListNothingIsTakenForEmpty starts without a disk and without the list, or with a damaged one: no shard is
// taken for unused, and the list is not made again before all disks are there.
func TestWithoutAListNothingIsTakenForEmpty(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{"absent": "", "damaged": shardListText + "0ab\n", "foreign": "0ab 12\n"} {
		cfg := threeRoots(t.TempDir())
		_, names := onEach(t, cfg, disk.New())
		if err := os.Remove(cfg.Shards); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(cfg.Shards, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		mount := unmount(t, cfg.Roots[1])
		for range 2 {
			s := openStore(t, cfg, disk.New())
			if !s.Away(names[1]) || !s.Away(fileName(7)) || !s.Has(names[0]) {
				t.Errorf("%s: away %v, %v, here %v", what, s.Away(names[1]), s.Away(fileName(7)), s.Has(names[0]))
			}
		}
		mount()
		openStore(t, cfg, disk.New())
		mount = unmount(t, cfg.Roots[1])
		if s := openStore(t, cfg, disk.New()); !s.Away(names[1]) || s.Away(fileName(7)) {
			t.Errorf("%s: made again: away %v, %v", what, s.Away(names[1]), s.Away(fileName(7)))
		}
		mount()
	}
}

// TestTheListIsWrittenBeforeItIsReliedOn fails at each write and cuts the power: no file that was acknowledged is taken
// for gone when its disk is away at the next start.
func TestTheListIsWrittenBeforeItIsReliedOn(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		dir := t.TempDir()
		scratch := filepath.Join(dir, "scratch")
		if err := os.Mkdir(scratch, 0o755); err != nil {
			t.Fatal(err)
		}
		twin := disk.NewFaulty(scratch)
		cfg := twoRoots(dir)
		s := openStore(t, cfg, twin.Disk())
		s.roots[0].draining.Store(true)
		twin.FailAt(step, nil)
		kept := keep(s, "a.warc", []byte("bytes"))
		twin.FailAt(0, nil)
		if err := twin.Crash(); err != nil {
			t.Fatal(err)
		}
		mount := unmount(t, cfg.Roots[1])
		s, err := OpenStore(cfg, disk.New(), discard())
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if kept == nil && !s.Away("a.warc") {
			t.Fatalf("step %d: an acknowledged file is taken for gone", step)
		}
		mount()
		if s := openStore(t, cfg, disk.New()); kept == nil && !s.Has("a.warc") {
			t.Fatalf("step %d: an acknowledged file is lost", step)
		}
		if kept == nil {
			return
		}
	}
}

// TestAMovedShardIsNotTakenBackFromItsOldDisk moves a shard and takes the new disk away before the old one has given up
// its folder: the shard waits for the new disk.
func TestAMovedShardIsNotTakenBackFromItsOldDisk(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 2, 3000)
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := catalog.FileName(names[0])
	if _, err := os.Lstat(s.roots[0].folder(name.Shard())); err != nil {
		t.Fatal(err)
	}
	mount := unmount(t, s.roots[1].path)
	away := reopen(t, s, disk.New())
	if !away.Away(name) || away.Has(name) {
		t.Error("the old folder is taken for the shard")
	}
	if err := keep(away, siblings(3)[2], []byte("more")); !errors.Is(err, ErrNotMounted) {
		t.Errorf("the old folder takes a file: %v", err)
	}
	mount()
	s = reopen(t, s, disk.New())
	clearAll(t, s)
	lies(t, s, names, 3000, 1)
	if text, err := os.ReadFile(s.cfg.Shards); err != nil || !strings.Contains(string(text), s.roots[1].mark) {
		t.Errorf("the list: %s, %v", text, err)
	}
}
