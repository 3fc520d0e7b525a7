//go:build slow

package node

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/archive"
)

// TestALostFileCanBeDeclaredAndTurnsUp lets a file enter whose bytes nobody has. Its shard cannot leave north-1 until the
// file is declared lost; and when it is put again it is in the archive as any other.
func TestALostFileCanBeDeclaredAndTurnsUp(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, secondNorth))
	var second running
	for _, n := range nodes {
		if n.cfg.Name == "north-2" {
			second = n
		}
	}
	first, ctx := nodes[0], t.Context()
	body := bytes.Repeat([]byte("gone "), 1000)
	name := catalog.FileName("gone.warc")
	l := archive.Losses{Cluster: first.cluster()}
	eventually(t, "the file enters", func() error {
		result, err := first.raft.Propose(ctx, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{
			{Name: name, Size: int64(len(body)), SHA256: sha256.Sum256(body), Collection: "web", Source: first.id}}}, string(first.id))
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		return err
	})
	// While its bytes lie anywhere, even where nobody counts on them, it is not lost.
	third := nodes[2]
	stray := filepath.Join(third.cfg.Data, "outbox", string(name))
	if err := os.WriteFile(stray, body, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every node says what it has", func() error { // once it knows who asks
		err := l.Lose(ctx, name, 0, "test", "test")
		if err == nil {
			t.Fatalf("it is declared lost with its bytes on %s", third.cfg.Name)
		}
		if !strings.Contains(err.Error(), third.cfg.Name+" has its bytes") {
			return err
		}
		return nil
	})
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	var entry catalog.File
	look := func() error {
		return first.raft.View(func(v catalog.View) (err error) { entry, err = v.File(name); return err })
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	var refusal *catalog.Refusal
	err := l.Lose(ctx, name, entry.Version+7, "its disk broke", "test")
	if !errors.As(err, &refusal) || refusal.Code != catalog.Conflict || !strings.Contains(err.Error(), "has changed") {
		t.Fatalf("a version that is not the entry's: %v", err)
	}
	eventually(t, "it is declared lost", func() error { return l.Lose(ctx, name, 0, "its disk broke", "test") })
	if err := drain(t, first, first.id, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its shard leaves north-1", func() error {
		return first.raft.View(func(v catalog.View) error {
			p, err := v.Placement("north", name.Shard())
			if err == nil && (p.Holder != second.id || p.Next != "") {
				err = fmt.Errorf("it is at %+v", p)
			}
			return err
		})
	})
	if err := look(); err != nil || entry.Lost == 0 || entry.LostWhy != "its disk broke" {
		t.Fatalf("%v, %+v", err, entry)
	}
	eventually(t, "put it again", func() error {
		_, err := first.files().Put(ctx, api.PutRequest{Collection: "web", Name: name, Size: int64(len(body)), Body: bytes.NewReader(body), Actor: "test"})
		return err
	})
	eventually(t, "it is complete", func() error {
		if err := look(); err != nil || !entry.Complete() || entry.Lost != 0 {
			return fmt.Errorf("%v, %+v", err, entry)
		}
		return nil
	})
}
