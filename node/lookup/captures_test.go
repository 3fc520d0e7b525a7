package lookup

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/cdx"
)

// TestAPartialAnswerIsOfWhoAnswers queries a shard of which the nearest holder does not answer, and this node lacks a
// file. What it has is in the answer, and the shard is missing all the same.
func TestAPartialAnswerIsOfWhoAnswers(t *testing.T) {
	t.Parallel()
	name := catalog.FileName("a.warc.gz")
	shard := name.Shard()
	x := newTestIndexer(t)
	if err := x.index.Load(t.Context(), func(yield func(cdx.Capture, error) bool) {
		yield(cdx.Capture{Key: "org,example)/", Timestamp: "20260101000000", URL: "http://example.org/", File: string(name), Status: 200}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	var lacking [catalog.Shards]bool
	lacking[shard] = true
	x.setLacking(lacking)
	c := New(Config{Self: "self", Catalog: &onlyFiles{}, Log: slog.New(slog.DiscardHandler), Carrier: nobody{}, Indexer: x, Doubts: NewDoubts()})
	cover := &coverage{}
	cover.holders[shard] = []catalog.NodeID{"gone", "self"}
	c.coverage.Store(cover)
	streams, missing := c.open(t.Context(), cdx.Query{URL: "http://example.org/"})
	var got []string
	for capture, err := range cdx.Merge(streams...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, capture.URL)
	}
	if len(got) != 1 || !slices.Equal(missing, []int{int(shard)}) {
		t.Errorf("captures %v, missing shards %v", got, missing)
	}
}

// nobody is the way to nodes that do not answer.
type nobody struct{}

var errAway = errors.New("away")

func (nobody) Call(context.Context, catalog.NodeID, string, []byte) ([]byte, error) {
	return nil, errAway
}
func (nobody) Open(context.Context, catalog.NodeID, string) (net.Conn, error) { return nil, errAway }
