package node

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/index"
	"holdfast/internal/disk"
	"holdfast/replica"
)

func newTestIndexer(t *testing.T) *indexer {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	store, err := replica.OpenStore(replica.StoreConfig{Roots: []string{in("files")}, Incoming: in("incoming"), Outbox: in("outbox"),
		Quarantine: in("quarantine"), Reserve: -1}, disk.New(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(index.Config{Dir: in("index"), MemoryMiB: 8}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return newIndexer(x, store, func() (int64, error) { return 1 << 40, nil }, quiet())
}

func TestAShardAnswersOnlyWhenAllOfItIsHereAndIndexed(t *testing.T) {
	t.Parallel()
	x := newTestIndexer(t)
	name := catalog.FileName("a.warc.gz")
	shard := name.Shard()
	want := func(ready bool, when string) {
		t.Helper()
		if x.ready(shard) != ready {
			t.Errorf("%s: ready is %v", when, !ready)
		}
	}
	want(false, "before the files were looked through")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	want(true, "nothing is meant to be here")
	var lacking [catalog.Shards]bool
	lacking[shard] = true
	x.setLacking(lacking)
	want(false, "a file is owed")
	x.setLacking([catalog.Shards]bool{})
	want(true, "nothing is owed any more")
	x.stored(name)
	want(false, "a file waits to be indexed")
	if got, _ := x.next(); got != name {
		t.Fatalf("next is %q", got)
	}
	x.settle(name, errors.New("disk full"))
	want(false, "a file could not be indexed")
	if waiting, failed, _, _ := x.status(); waiting != 1 || failed[name] != "disk full" {
		t.Errorf("status: %d wait, %v failed", waiting, failed)
	}
	x.settle(name, nil)
	want(true, "it was indexed in the end")
}
