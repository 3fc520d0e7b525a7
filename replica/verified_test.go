package replica

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// flipAt changes one bit of the byte at offset, in place, so that all names of the file have it.
func flipAt(t *testing.T, path string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, offset); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 16
	if _, err := f.WriteAt(b, offset); err != nil {
		t.Fatal(err)
	}
}

// readRange reads a range as a reader of the archive does.
func (n *node) readRange(name catalog.FileName, offset, length int64) ([]byte, error) {
	in, err := n.r.OpenRange(n.t.Context(), name, offset, length)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// disputed waits until the copy of the replica is disputed: its node has read it again and reported it.
func (c *cluster) disputed(name catalog.FileName, replica catalog.ReplicaName) {
	c.t.Helper()
	disputed := false
	for range 600 {
		sleep(c.t.Context(), time.Second)
		err := c.View(func(v catalog.View) error {
			f, err := v.File(name)
			disputed = err == nil && f.Copy(replica).Disputed
			return err
		})
		if disputed || err != nil {
			break
		}
	}
	if !disputed {
		c.t.Error("the bad copy was not found")
	}
}

// TestAFlippedBitLeavesNoNode flips one bit in the copy of the node that is asked, or of the one that it asks. Every
// range that is read holds the right bytes, from another copy, and the bad copy is found.
func TestAFlippedBitLeavesNoNode(t *testing.T) {
	for _, size := range []int64{3_000_000, 200_000} {
		at := size * 2 / 3
		for _, reader := range []string{"north-1", "sums-1"} {
			for _, over := range [][2]int64{{0, -1}, {at - 100, 300}, {at / 3, size / 2}}[:min(size/200_000, 3)] {
				synctest.Test(t, func(t *testing.T) {
					c := runCluster(t, "north-1", "south-1", "sums-1")
					name := fileName(1)
					body := c.node("north-1").put(name, 1, int(size))
					c.complete(name)
					sleep(t.Context(), time.Minute)
					flipAt(t, c.node("north-1").r.store.Path(name), at)
					for _, r := range [][2]int64{{0, 1}, {size - 10, 10}, {5, 0}, over} {
						want := body[r[0]:]
						if r[1] >= 0 {
							want = want[:r[1]]
						}
						got, err := c.node(reader).readRange(name, r[0], r[1])
						if err != nil || !bytes.Equal(got, want) {
							t.Fatalf("%s, %d bytes, range %v: %d bytes, right: %t, %v", reader, size, r, len(got), bytes.Equal(got, want), err)
						}
					}
					c.disputed(name, "north")
				})
			}
		}
	}
}

// TestTheOnlyCopyIsCutOff flips a bit in the only copy: what is read before the bit is right, and the end is no clean one.
func TestTheOnlyCopyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1")
		name := fileName(1)
		body := c.node("north-1").put(name, 1, 3_000_000)
		c.complete(name)
		sleep(t.Context(), time.Minute)
		flipAt(t, blocksPath(c.node("north-1").r.store.Path(name)), 100)
		if got, err := c.node("north-1").readRange(name, 1_999_999, 10); err != nil || !bytes.Equal(got, body[1_999_999:2_000_009]) {
			t.Errorf("with a damaged list of block digests: %d bytes, %v", len(got), err)
		}
		flipAt(t, c.node("north-1").r.store.Path(name), 2_000_000)
		got, err := c.node("north-1").readRange(name, 0, -1)
		if err == nil || !bytes.HasPrefix(body, got) || len(got) == 0 {
			t.Errorf("whole: %d bytes, right: %t, %v", len(got), bytes.HasPrefix(body, got), err)
		}
		if got, err := c.node("north-1").readRange(name, 1_999_999, 10); err == nil || len(got) > 0 {
			t.Errorf("range: %d bytes, %v", len(got), err)
		}
		var out bytes.Buffer
		if err := c.node("north-1").r.ServeRange(t.Context(), "x", name, 1_999_999, 10, &out); err == nil || out.Len() > 0 {
			t.Errorf("range to a peer: %d bytes, %v", out.Len(), err)
		}
	})
}

// TestKnownBadBytesAreNotServed follows a copy whose bytes also have a name in the outbox from the flipped bit over the
// dispute and the verdict to the quarantine: nobody is given its bytes, from neither name.
func TestKnownBadBytesAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		north, name := c.node("north-1"), fileName(1)
		stop := c.run("north-1", "south-1")
		north.put(name, 1, 3_000_000)
		c.complete(name)
		sleep(t.Context(), time.Minute)
		stop()
		path, second := north.r.store.Path(name), north.r.store.outboxPath(name)
		if err := os.Link(path, second); err != nil {
			t.Fatal(err)
		}
		flipAt(t, path, 2_000_000)
		refused := func(when string) {
			t.Helper()
			for _, offset := range []int64{0, 2_000_000} {
				var out bytes.Buffer
				err := north.r.Serve(t.Context(), "x", name, offset, &out)
				if !errors.Is(err, ErrNotHere) || out.Len() > 0 {
					t.Errorf("%s: a copy from %d: %d bytes, %v", when, offset, out.Len(), err)
				}
				out.Reset()
				err = north.r.ServeRange(t.Context(), "x", name, offset, 100, &out)
				if offset > 0 && (err == nil || out.Len() > 0) {
					t.Errorf("%s: a range from %d: %d bytes, %v", when, offset, out.Len(), err)
				}
			}
		}
		if _, err := north.r.Checksum(t.Context(), "x", name); err != nil {
			t.Fatal(err)
		}
		c.disputed(name, "north")
		refused("disputed")
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "north", Bad: true, Votes: "1:1"}}})
		refused("judged")
		if err := north.r.store.Quarantine(name, "bad"); err != nil {
			t.Fatal(err)
		}
		refused("in quarantine")
		north.open()
		refused("in quarantine, after a restart")
	})
}

// TestBlockDigestsAreMadeAgain takes the list of block digests of a copy away, or spoils it. The range is read all the
// same, and the list is made again from a pass over the whole file; a list is not made from wrong bytes.
func TestBlockDigestsAreMadeAgain(t *testing.T) {
	for _, how := range []string{"gone", "garbled", "of another file", "one digest"} {
		synctest.Test(t, func(t *testing.T) {
			c := runCluster(t, "north-1", "south-1")
			north, name := c.node("north-1"), fileName(1)
			body := north.put(name, 1, 3_000_000)
			c.complete(name)
			sleep(t.Context(), time.Minute)
			list := blocksPath(north.r.store.Path(name))
			before, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			spoilt := bytes.Clone(before)
			switch how {
			case "garbled":
				spoilt = spoilt[:len(spoilt)/2]
			case "of another file":
				spoilt[20] ^= 1
			case "one digest":
				spoilt[len(spoilt)-1] ^= 1
			}
			if err := os.WriteFile(list, spoilt, 0o644); err != nil {
				t.Fatal(err)
			}
			if how == "gone" {
				if err := os.Remove(list); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := north.readRange(name, 2_900_000, 100_000); err != nil || !bytes.Equal(got, body[2_900_000:]) {
				t.Errorf("%s: %d bytes, %v", how, len(got), err)
			}
			sleep(t.Context(), time.Minute)
			after, err := os.ReadFile(list)
			if err != nil || !bytes.Equal(after, before) {
				t.Errorf("%s: the list is not as it was: %v", how, err)
			}
			if err := os.Remove(list); err != nil {
				t.Fatal(err)
			}
			flipAt(t, north.r.store.Path(name), 2_000_000)
			if got, err := north.readRange(name, 1_999_990, 20); err != nil || !bytes.Equal(got, body[1_999_990:2_000_010]) {
				t.Errorf("%s, without a list and a bit flipped: %d bytes, %v", how, len(got), err)
			}
			c.disputed(name, "north")
			if _, err := os.Stat(list); err == nil {
				t.Errorf("%s: a list was made from wrong bytes", how)
			}
		})
	}
}

// TestBlockDigestsGoWithTheirFile deletes one file and sets another aside; a list that a crash left alone is removed when
// the store is opened.
func TestBlockDigestsGoWithTheirFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, storeConfig(dir), disk.New())
	names := siblings(3)
	keepAll(t, s, names, 2_000_000)
	path := s.Path(catalog.FileName(names[2]))
	lists := func() []string {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".blocks-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(lists()) != 3 {
		t.Fatalf("lists: %v", lists())
	}
	if err := errors.Join(s.Delete(catalog.FileName(names[0])), s.Quarantine(catalog.FileName(names[1]), "bad")); err != nil {
		t.Fatal(err)
	}
	if got := lists(); len(got) != 1 || got[0] != blocksPath(path) {
		t.Errorf("lists after the files are gone: %v", got)
	}
	if err := os.WriteFile(blocksPath(path+"x"), []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	openStore(t, storeConfig(dir), disk.New())
	if got := lists(); len(got) != 1 || got[0] != blocksPath(path) {
		t.Errorf("lists after a restart: %v", got)
	}
	checkManifests(t, s)
}

// twisted changes the byte at one place of a file on its way to a reader.
func twisted(place int64) func(int64, io.Reader) io.Reader {
	return func(offset int64, in io.Reader) io.Reader {
		return reading(func(p []byte) (int, error) {
			n, err := in.Read(p)
			if i := place - offset; i >= 0 && i < int64(n) {
				p[i] ^= 1
			}
			offset += int64(n)
			return n, err
		})
	}
}

// TestAPeersBytesAreCompared lets the only node with good bytes send wrong ones. A reader that can compare them gives none
// of them away; one that cannot says that they rest on that node's word.
func TestAPeersBytesAreCompared(t *testing.T) {
	for _, size := range []int{3_000_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			c := runCluster(t, "north-1", "south-1", "sums-1")
			north, sums, name := c.node("north-1"), c.node("sums-1"), fileName(1)
			body := north.put(name, 1, size)
			c.complete(name)
			sleep(t.Context(), time.Minute)
			at := int64(size - 1000)
			flipAt(t, north.r.store.Path(name), at)
			c.node("south-1").twist = twisted(at)
			if got, err := north.readRange(name, at-10, 20); err == nil || len(got) > 0 {
				t.Errorf("%d bytes, with block digests: %d bytes, %v", size, len(got), err)
			}
			if got, err := sums.readRange(name, 0, -1); err == nil || len(got) == size || !bytes.HasPrefix(body, got) && int64(len(got)) <= at {
				t.Errorf("%d bytes, the whole file: %d bytes, %v", size, len(got), err)
			}
			in, err := sums.r.OpenRange(t.Context(), name, at-10, 20)
			if size <= plainSize {
				if err == nil {
					t.Errorf("a small file's range was given")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if _, err := io.ReadAll(in); err != nil || !in.Doubt() {
				t.Errorf("a range of a large file: %v", err)
			}
		})
	}
}
