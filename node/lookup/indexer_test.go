package lookup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/index"
)

// noFiles is a node without files.
type noFiles struct{}

func (noFiles) Has(catalog.FileName) bool                      { return false }
func (noFiles) Open(catalog.FileName) (io.ReadCloser, error)   { return nil, fs.ErrNotExist }
func (noFiles) List(catalog.Shard) ([]catalog.FileName, error) { return nil, nil }
func (noFiles) Shards() []catalog.Shard                        { return nil }

func newTestIndexer(t *testing.T) *Indexer {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	x, err := index.Open(index.Config{Dir: in("index"), MemoryMiB: 8}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewIndexer(x, noFiles{}, func(context.Context) bool { return true }, slog.New(slog.DiscardHandler))
}

func TestAShardAnswersOnlyWhenAllOfItIsHereAndIndexed(t *testing.T) {
	t.Parallel()
	x := newTestIndexer(t)
	name := catalog.FileName("a.warc.gz")
	shard := name.Shard()
	want := func(ready bool, when string) {
		t.Helper()
		if x.Ready(shard) != ready {
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
	x.Stored(name)
	want(false, "a file waits to be indexed")
	if got, _ := x.next(); got != name {
		t.Fatalf("next is %q", got)
	}
	x.settle(name, errors.New("disk full"))
	want(false, "a file could not be indexed")
	if got := x.Status(); got.Waiting != 1 || got.Failed[name] != "disk full" {
		t.Errorf("status: %+v", got)
	}
	x.settle(name, nil)
	want(true, "it was indexed in the end")
}
