package replica

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestTheOutboxIsNoWordOnTheCopy spoils the copy of a node whose outbox still has right bytes, in each way, and the
// bytes in the outbox besides: what is said of the one is not said of the other.
func TestTheOutboxIsNoWordOnTheCopy(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		copy   func(t *testing.T, path string, body []byte)
		outbox func(t *testing.T, path string, body []byte)
		want   ReadState
		kept   ReadState // of the outbox; empty: there is nothing in it
		err    error     // of Verify
		told   bool      // the catalog is told of the copy
	}{
		"both right":              {want: ReadRight, kept: ReadRight},
		"the copy is gone":        {copy: drop, want: ReadMissing, kept: ReadRight, err: ErrNotHere, told: true},
		"the copy is wrong":       {copy: garble, want: ReadWrong, kept: ReadRight, told: true},
		"the copy is unreadable":  {copy: bar, want: ReadFailed, kept: ReadRight, err: errUnreadable, told: true},
		"the outbox is wrong":     {outbox: garble, want: ReadRight, kept: ReadWrong},
		"the outbox is empty":     {outbox: drop, want: ReadRight},
		"gone, the other wrong":   {copy: drop, outbox: garble, want: ReadMissing, kept: ReadWrong, err: ErrNotHere, told: true},
		"the manifest's line":     {copy: unlisted, want: ReadRight, kept: ReadRight},
		"gone, and nothing there": {copy: drop, outbox: drop, want: ReadMissing, err: ErrNotHere, told: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, north, name, body := withOutbox(t)
				defer c.run("south-1")()
				for _, one := range []struct {
					spoil func(*testing.T, string, []byte)
					path  string
				}{{tt.copy, north.r.store.Path(name)}, {tt.outbox, north.r.store.outboxPath(name)}} {
					if one.spoil != nil {
						one.spoil(t, one.path, body)
					}
				}
				if what == "the manifest's line" {
					north.open()
				}
				open := north.r.store.open
				north.r.store.media.open = func(path string) (*Bytes, error) {
					if info, err := os.Lstat(path); err == nil && info.Mode().Perm() == 0 {
						return nil, os.ErrPermission // root may read all
					}
					return open(path)
				}
				got, err := north.r.Again.Read(t.Context(), name)
				if err != nil || got.Copy.State != tt.want {
					t.Errorf("the copy: %+v, %v, want %s", got.Copy, err, tt.want)
				}
				if is := got.Outbox; is == nil && tt.kept != "" || is != nil && is.State != tt.kept {
					t.Errorf("the outbox: %+v, want %q", is, tt.kept)
				}
				if one := c.copyOf(name, "north"); one.Disputed != tt.told {
					t.Errorf("in the catalog: %+v", one)
				}
				held, err := north.r.Again.Verify(t.Context(), name)
				if !errors.Is(err, tt.err) || err == nil && (held == heldOf(string(name), body)) != (tt.want == ReadRight) {
					t.Errorf("the copy alone: %+v, %v", held, err)
				}
				if what == "the manifest's line" && (!north.r.store.Has(name) || got.Copy.Why == "") {
					t.Errorf("the line was not put right: %+v", got.Copy)
				}
			})
		})
	}
}

func drop(t *testing.T, path string, _ []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func garble(t *testing.T, path string, body []byte) {
	t.Helper()
	drop(t, path, body)
	bad := bytes.Clone(body)
	bad[len(bad)/2] ^= 4
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
}

func bar(t *testing.T, path string, body []byte) {
	t.Helper()
	drop(t, path, body)
	if err := os.WriteFile(path, body, 0); err != nil {
		t.Fatal(err)
	}
}

func unlisted(t *testing.T, path string, _ []byte) {
	t.Helper()
	drop(t, filepath.Join(filepath.Dir(path), ManifestName), nil)
}

// withOutbox is a cluster in which north has a good copy of a file and keeps its bytes in the outbox, as a third replica
// has none. Nothing runs.
func withOutbox(t *testing.T) (c *cluster, north *node, name catalog.FileName, body []byte) {
	t.Helper()
	c = newCluster(t, "north-1", "south-1", "third-1")
	stop := c.run("north-1", "south-1")
	c.raiseTo(files.LevelOfWitnesses)
	north, name = c.node("north-1"), fileName(1)
	body = north.put(name, 1, 400_000)
	c.until("two copies", func(v catalog.View) bool {
		f, err := v.File(name)
		return err == nil && f.Copy("north").Good() && f.Copy("south").Good()
	})
	sleep(t.Context(), time.Second)
	stop()
	if !north.inOutbox(name) {
		t.Fatal("the source has released its bytes")
	}
	return c, north, name, body
}

// TestTheDiskOfACopyIsAwayAndTheOutboxIsNot unmounts the disk of a copy, once while the node runs and once before it starts:
// nobody can tell how the copy is, whatever the outbox has.
func TestTheDiskOfACopyIsAwayAndTheOutboxIsNot(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, north, name, _ := withOutbox(t)
			north.roots = []string{filepath.Join(north.dir, "files"), filepath.Join(north.dir, "other")}
			north.open()
			defer unmount(t, filepath.Dir(filepath.Dir(north.r.store.Path(name))))()
			if restart {
				north.open()
			}
			got, err := north.r.Again.Read(t.Context(), name)
			if err != nil || got.Copy.State != ReadAway || got.Copy.Why == "" || got.Outbox == nil || got.Outbox.State != ReadRight {
				t.Errorf("restart %t: %+v, %v", restart, got, err)
			}
			if _, err := north.r.Again.Verify(t.Context(), name); !errors.Is(err, ErrNotMounted) {
				t.Errorf("restart %t: the copy alone: %v", restart, err)
			}
			if one := c.copyOf(name, "north"); !one.Good() || one.Disputed {
				t.Errorf("restart %t: in the catalog: %+v", restart, one)
			}
		})
	}
}

// TestANewCopyIsNotReadBackFromTheOutbox removes a new copy before it is read back: that the outbox has the bytes is no
// reason to call it read, and whoever asks for a checksum learns of the loss on the way.
func TestANewCopyIsNotReadBackFromTheOutbox(t *testing.T) {
	t.Parallel()
	for what, read := range map[string]func(*node, catalog.FileName) error{
		"read back": func(n *node, name catalog.FileName) error { return n.r.back.readBack(n.t.Context(), name) },
		"a checksum": func(n *node, name catalog.FileName) error {
			_, err := n.r.Checksum(n.t.Context(), "x", name)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, north, name, body := withOutbox(t)
			drop(t, north.r.store.Path(name), body)
			if err := read(north, name); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if one := c.copyOf(name, "north"); !one.Disputed || one.FileList != catalog.FileListMissing {
				t.Errorf("%s: %+v", what, one)
			}
		})
	}
}
