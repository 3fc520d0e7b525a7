package node

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/node/runner"
)

// documenting is a node of one that is not running, as one without a quorum, and an attempt on it that has ended.
func documenting(t *testing.T) (cfg config.Config, open func() *Node, r *runner.Attempt) {
	t.Helper()
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, quiet()); err != nil {
		t.Fatal(err)
	}
	r = &runner.Attempt{Job: catalog.Job{ID: 7, Attempt: 1, Harvest: "test", Collection: catalog.CollectionName(cfg.File.AllCollections()[0])}, Dir: filepath.Join(cfg.Data, "jobs", "7_20261122000000")}
	if err := os.MkdirAll(filepath.Join(r.Dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, "settings"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "logs", "crawl.log"), []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg, func() *Node {
		n, err := New(cfg, quiet())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}, r
}

// TestAMetadataFileIsMadeOnce ends a job's attempt without a quorum, ends the node before the catalog knows of the metadata file,
// and ends the attempt again after the restart: the file is the same, and the archive takes it.
func TestAMetadataFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]bool{"the job's folder has it": false, "only the outbox has it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, open, r := documenting(t)
			document := func(n *Node) {
				t.Helper()
				if files, err := n.crawls.Document(t.Context(), r); err != nil || files != 1 {
					t.Fatalf("%d files, %v", files, err)
				}
			}
			n := open()
			if err := n.crawls.MakeDocument(r); err != nil {
				t.Fatal(err)
			}
			document(n)
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			kept := filepath.Join(r.Dir, string(runner.MetadataName(r.Job)))
			if lose { // as a version that kept no file left it
				if err := os.Remove(kept); err != nil {
					t.Fatal(err)
				}
			}
			n = open()
			document(n)
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			up := start(t, cfg)
			document(up.Node)
			eventually(t, "the catalog knows the metadata file", func() error {
				return up.raft.View(func(v catalog.View) error { _, err := v.File(runner.MetadataName(r.Job)); return err })
			})
			document(up.Node)
			if err := up.crawls.Tidy(r); err != nil {
				t.Error(err)
			}
			if exists(kept) {
				t.Error("the file stays in a tidied folder")
			}
			outbox, err := up.store.Outbox()
			if err != nil || len(outbox) > 1 {
				t.Errorf("in the outbox: %v %v", outbox, err)
			}
		})
	}
}

// TestNothingIsMadeInDoubt asks for the metadata file where neither folder nor outbox have it and nobody can say whether the archive
// does: it is not made.
func TestNothingIsMadeInDoubt(t *testing.T) {
	t.Parallel()
	_, open, r := documenting(t)
	n := open()
	defer func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := n.crawls.Document(ctx, r)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("it ended in doubt with %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	<-ended
	if exists(filepath.Join(r.Dir, string(runner.MetadataName(r.Job)))) {
		t.Error("it was made in doubt")
	}
}
