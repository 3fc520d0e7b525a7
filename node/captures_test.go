package node

import (
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/internal/disk"
	"holdfast/peer"
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
	id, err := peer.LoadOrCreateIdentity(t.TempDir(), disk.New())
	if err != nil {
		t.Fatal(err)
	}
	p, err := peer.New(peer.Config{Listen: "127.0.0.1:0", Cluster: "test", Epoch: 1}, id, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	n := &Node{id: "self", log: quiet(), peer: p, indexer: x, doubts: newDoubts()}
	cover := &coverage{}
	cover.holders[shard] = []catalog.NodeID{"gone", "self"}
	n.coverage.Store(cover)
	streams, missing := captures{n}.open(t.Context(), cdx.Query{URL: "http://example.org/"})
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
