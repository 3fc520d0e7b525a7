package raft

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/catalog"
)

// holding returns the files below the folder that hold the text.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return gone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// What was replaced is gone from log and state after a purge, though the nodes go on deciding meanwhile; and nothing else is.
func TestPurge(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.found("a", "x")
	b := c.grow(a, "b", "y")
	secret := strings.Repeat("s3cr3t-", 8)
	c.propose(a, fillKind, tinyAdd{Key: "job", N: 3, Pad: []byte(secret)})
	encoded := "czNjcjN0LXMzY3IzdC" // of the secret in base64, as it stands in the log
	if holding(t, c.dir, encoded) == nil || holding(t, c.dir, secret) == nil {
		t.Fatal("the secret is not on disk before: this test looks at the wrong thing")
	}
	c.propose(a, fillKind, tinyAdd{Key: "job", N: 3, Pad: []byte("sealed")})
	if err := b.Linear(context.Background()); err != nil {
		t.Fatal(err)
	}
	index := a.Status().Applied
	if err := a.Purge(context.Background(), index+1000); !errors.Is(err, ErrNotPurged) {
		t.Errorf("purged up to what is not decided: %v", err)
	}
	added := make(chan int, 1)
	stop := make(chan struct{})
	var adding sync.WaitGroup
	adding.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				added <- n
				return
			default:
				c.propose(a, addKind, tinyAdd{Key: "n", N: 1})
			}
		}
	})
	for _, n := range []*running{a, b} {
		if err := n.Purge(context.Background(), index); err != nil && !errors.Is(err, ErrNotPurged) { // the log's last file may hold more
			t.Errorf("%s: %v", n.cfg.Self, err)
		}
	}
	close(stop)
	adding.Wait()
	for _, n := range []*running{a, b} {
		for tries := 0; ; tries++ {
			err := n.Purge(context.Background(), index)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrNotPurged) || tries > 100 {
				t.Fatalf("%s: %v", n.cfg.Self, err)
			}
			c.propose(a, addKind, tinyAdd{Key: "further", N: 1})
			c.eventually("all know that the last decision is one", func() bool {
				last, err := n.storage.wal.LastIndex()
				return err == nil && n.storage.state.store().applied.Load() >= last-1 && n.raft.now().CommitIndex() >= last
			})
		}
	}
	for _, text := range []string{encoded, secret} {
		if found := holding(t, c.dir, text); len(found) > 0 {
			t.Errorf("left in %v", found)
		}
	}
	want := <-added
	for _, id := range []catalog.NodeID{"b", "a"} {
		c.stop(id)
		n := c.start(id)
		if id == "b" {
			continue // b alone has no majority
		}
		c.propose(n, addKind, tinyAdd{Key: "after", N: 1})
		if err := n.Linear(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := n.Check(); err != nil {
			t.Error(err)
		}
		if err := n.storage.state.view(func(r reader) error {
			got, err := tinyCount(r, "n")
			if got != want {
				t.Errorf("%s counts %d, want %d", id, got, want)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}
