//go:build e2e

package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fill writes zeros to the file until the disk has no more than that many bytes left. Whoever fills a disk does not ask us.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zeros := make([]byte, mib)
	for free(t, filepath.Dir(path)) > left {
		n := min(int64(len(zeros)), free(t, filepath.Dir(path))-left)
		if _, err := f.Write(zeros[:n]); err != nil {
			if left == 0 && strings.Contains(err.Error(), "no space") {
				return
			}
			t.Fatal(err)
		}
	}
}

// oneNode is a cluster of one node with all its data on a disk of its own, which mount makes.
func oneNode(t *testing.T, mount func(dir string)) (c *Cluster, disk string) {
	t.Helper()
	c = trialOf(t, "memory = \"384MiB\"\nraft-log = \"64MiB\"", []Spec{{Name: "north-1", Replica: "north", Kind: "bitarchive", IP: "127.0.0.1"}})
	disk = filepath.Join(c.Dir, "north-1")
	mount(disk)
	t.Cleanup(c.Close) // before the disk goes
	if err := c.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, disk
}

// TestDiskOfTheDatabasesIsFull fills the disk of a node's databases from outside, to the last byte, while commands come: the
// process lives, refuses commands and answers reads, and takes commands again when there is room. Badger writes through maps;
// without its blocks set aside the process ends by SIGBUS.
func TestDiskOfTheDatabasesIsFull(t *testing.T) {
	t.Parallel()
	for name, mount := range map[string]func(*testing.T, string){
		"tmpfs": func(t *testing.T, dir string) { tmpfs(t, dir, "900M") },
		"ext4":  func(t *testing.T, dir string) { ext4(t, dir, 900*mib) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			c, disk := oneNode(t, func(dir string) { mount(t, dir) })
			n := 0
			command := func() error {
				n++
				_, err := c.Do(ctx, "north-1", "collection", "add", fmt.Sprintf("%s%04d", strings.Repeat("c", 40), n))
				return err
			}
			must(t, 60*time.Second, "a command is taken", command)
			ballast := filepath.Join(disk, "filler")
			fill(t, ballast, 120*mib)
			must(t, 20*time.Second, "commands are refused for want of room", func() error {
				if err := command(); err == nil || !strings.Contains(err.Error(), "full") {
					return fmt.Errorf("answered %w", err)
				}
				return nil
			})
			for round := range 3 {
				fill(t, ballast, 0)
				for range 5 {
					_ = command()
				}
				if !c.Running("north-1") {
					t.Fatalf("in round %d the process ended", round)
				}
				if _, err := c.Do(ctx, "north-1", "collection", "list"); err != nil {
					t.Errorf("a read on the full disk: %v", err)
				}
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
				must(t, 60*time.Second, "with room made, commands are taken", command)
			}
			fill(t, ballast, 0)
			c.Stop("north-1")
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			if err := c.Start("north-1"); err != nil {
				t.Fatal(err)
			}
			must(t, 60*time.Second, "after a stop on the full disk, commands are taken", command)
		})
	}
}

// ext4 mounts a small ext4 disk at a folder until the test ends.
func ext4(t *testing.T, dir string, size int64) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(image, nil, 0o600), os.Truncate(image, size)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", "-m", "0", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v %s", err, out)
	}
	if err := mount(t, "-o", "loop", image, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v %s", dir, err, out)
		}
	})
}

// TestWritesOvertakenByAFullDisk lets a busy writer be overtaken by a full disk: the two nodes with room decide on, the third
// lives, and catches up when it has room.
func TestWritesOvertakenByAFullDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, disk := smallDisk(t, "1200M", 200*mib)
	must(t, 60*time.Second, "one leader", func() error { _, err := oneLeader(ctx, c, "north-1", "south-1", "third-1"); return err })
	ballast := filepath.Join(disk, "filler")
	n := 0
	add := func() error {
		n++
		_, err := c.Do(ctx, "north-1", "collection", "add", fmt.Sprintf("overtaken%04d", n))
		return err
	}
	for range 5 {
		must(t, 60*time.Second, "a command is taken", add)
	}
	fill(t, ballast, 0)
	for range 20 {
		must(t, 60*time.Second, "the others decide on", add)
	}
	if !c.Running("south-1") {
		t.Fatal("the node with the full disk has ended")
	}
	must(t, 30*time.Second, "the node with the full disk says so", func() error {
		st, err := statusOf(ctx, c, "south-1")
		if err != nil || !strings.Contains(strings.Join(st.Problems, "\n"), "databases is full") {
			return fmt.Errorf("%q %w", st.Problems, err)
		}
		return nil
	})
	if leader, err := oneLeader(ctx, c, "north-1", "third-1"); err != nil || leader == "south-1" {
		t.Errorf("the leader is %q, %v", leader, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "with room made, the node has caught up", func() error {
		out, err := c.Do(ctx, "south-1", "collection", "list")
		if err == nil && !bytes.Contains(out, []byte(fmt.Sprintf("overtaken%04d", n))) {
			err = fmt.Errorf("%s", out)
		}
		return err
	})
}

// TestStopWithoutADisk takes the disk away from under a running node, in the way of a disk that fails, and stops it.
func TestStopWithoutADisk(t *testing.T) {
	t.Parallel()
	c, disk := oneNode(t, func(dir string) { tmpfs(t, dir, "900M") })
	must(t, 60*time.Second, "a command is taken", func() error {
		_, err := c.Do(t.Context(), "north-1", "collection", "add", "first")
		return err
	})
	if err := os.RemoveAll(filepath.Join(disk, "catalog")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(disk, "index")); err != nil {
		t.Fatal(err)
	}
	pid := c.PID("north-1")
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	must(t, 100*time.Second, "the process ends", func() error {
		if c.Running("north-1") {
			return fmt.Errorf("still there after %v", time.Since(began))
		}
		return nil
	})
	t.Logf("it ended after %v", time.Since(began).Round(100*time.Millisecond))
}
