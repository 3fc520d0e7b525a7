package replica

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/catalog"
)

// notAFile puts something into a file's place that can neither be opened nor read.
func notAFile(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Symlink(filepath.Base(path), path)); err != nil {
		t.Fatal(err)
	}
}

// TestAShardThatIsLeftLeavesNothing moves a shard away from a node on which a file of it is missing or cannot be opened.
// Its manifest kept the line, and sha256sum -c failed there for ever.
func TestAShardThatIsLeftLeavesNothing(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, string){
		"missing": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"not to be opened": notAFile,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1", "north-2", "sums-1")
			first, file := c.node("north-1"), fileName(1)
			stop := c.run("north-1", "south-1", "sums-1")
			c.node("south-1").put(file, 1, 3000)
			c.complete(file)
			stop()
			path := first.r.store.Path(file)
			spoil(t, path)
			c.assign("north", "north-2", int(file.Shard()), int(file.Shard())+1)
			stop = c.run("north-1", "south-1", "north-2", "sums-1")
			c.until("the shard has left north-1", func(v catalog.View) bool {
				_, err := os.Lstat(path)
				m, bad := readManifest(filepath.Join(filepath.Dir(path), ManifestName))
				_, listed := m.lines[file]
				p, unknown := v.Placement("north", file.Shard())
				return errors.Is(err, fs.ErrNotExist) && bad == nil && !listed && unknown == nil && p.Holder == nodeID("north-2")
			})
			stop()
		})
	}
}

// TestAShardThatCannotBeLeftKeepsNoOther lets two shards go away from a node, one of which lies on a disk that is away.
func TestAShardThatCannotBeLeftKeepsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		first := c.node("north-1")
		stop := c.run("north-1", "south-1")
		for i := range 2 {
			c.node("south-1").put(fileName(i), uint64(i), 3000)
		}
		c.complete(fileName(0), fileName(1))
		stop()
		away, here := fileName(0).Shard(), fileName(1).Shard()
		for _, n := range []catalog.Shard{away, here} {
			c.assign("north", "north-2", int(n), int(n)+1)
		}
		stop = c.run("north-2", "south-1")
		c.until("the shards are north-2's", func(v catalog.View) bool {
			layout, err := v.Layout("north")
			return err == nil && layout[away].Holder == nodeID("north-2") && layout[here].Holder == nodeID("north-2")
		})
		stop()
		was := first.r.store.shards[away].root
		first.r.store.shards[away].root = &root{path: was.path, mark: was.mark, absent: ErrNotMounted}
		left := func(want ...catalog.Shard) {
			t.Helper()
			moves, err := first.r.releases.duties.Moves()
			if err != nil || !slices.Equal(moves.Out, want) {
				t.Errorf("still to be left: %v, %v, want %v", moves.Out, err, want)
			}
		}
		if _, err := first.r.leaveShards(t.Context()); !errors.Is(err, ErrNotMounted) {
			t.Errorf("nothing is said of the disk that is away: %v", err)
		}
		left(away)
		first.r.store.shards[away].root = was
		if _, err := first.r.leaveShards(t.Context()); err != nil {
			t.Error(err)
		}
		left()
	})
}

// TestACopyIsPlacedWhereNoFileLies repairs a copy, from the source's bytes on the same node and from another node, where
// something that is no file has its name.
func TestACopyIsPlacedWhereNoFileLies(t *testing.T) {
	for _, source := range []string{"north-1", "south-1"} {
		t.Run("source "+source, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1", "sums-1")
			first, file := c.node("north-1"), fileName(1)
			path := filepath.Join(first.r.store.roots[0].path, file.Shard().String(), string(file))
			c.node(source).put(file, 1, 3000)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(filepath.Base(path), path)); err != nil {
				t.Fatal(err)
			}
			stop := c.run("north-1", "south-1", "sums-1")
			c.complete(file)
			stop()
			if !isFile(path) {
				t.Error("there is no copy")
			}
		})
	}
}
