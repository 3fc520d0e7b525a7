package lookup

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
	"holdfast/cdx"
	"holdfast/internal/kv/memory"
)

// onlyFiles is a catalog that has nothing but entries of files.
type onlyFiles struct {
	state  memory.Tx
	broken bool
}

func (o *onlyFiles) View(see func(catalog.View) error) error {
	if o.broken {
		return errors.New("the catalog cannot be read")
	}
	return see(catalog.NewView(&o.state))
}

// TestCapturesOfRemovedFilesAreNotTold removes one of two files with captures, and restores it.
func TestCapturesOfRemovedFilesAreNotTold(t *testing.T) {
	t.Parallel()
	x := newTestIndexer(t)
	digest := "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	if err := x.index.Load(t.Context(), func(yield func(cdx.Capture, error) bool) {
		_ = yield(cdx.Capture{Key: "org,example)/", Timestamp: "20260101000000", URL: "http://example.org/", File: "a.warc", Status: 200, Digest: digest}, nil) &&
			yield(cdx.Capture{Key: "org,example)/", Timestamp: "20260102000000", URL: "http://example.org/", File: "b.warc", Status: 200, Digest: digest}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	agreed := &onlyFiles{}
	c := New(Config{Self: "self", Catalog: agreed, Log: slog.New(slog.DiscardHandler), Carrier: nobody{}, Indexer: x, Doubts: NewDoubts()})
	told := func() (urls string, first string) {
		t.Helper()
		stream, _ := c.local(t.Context(), capturesRequest{Query: cdx.Query{URL: "http://example.org/"}, Partial: true,
			Shards: shardList{catalog.FileName("a.warc").Shard(), catalog.FileName("b.warc").Shard()}})
		for one, err := range stream {
			if err != nil {
				t.Fatal(err)
			}
			urls += one.File + " "
		}
		answer, err := c.ownDigest(t.Context(), digest, nil)
		if err != nil {
			t.Fatal(err)
		}
		return urls, answer.Capture.File
	}
	expect := func(what, urls, first string) {
		t.Helper()
		if gotURLs, gotFirst := told(); gotURLs != urls || gotFirst != first {
			t.Errorf("%s: captures in %q, the digest in %q", what, gotURLs, gotFirst)
		}
	}
	expect("both", "a.warc b.warc ", "a.warc")
	entry := func(of catalog.File) {
		t.Helper()
		of.Name, of.Copies = "a.warc", []catalog.Copy{{Replica: "north"}}
		text, err := json.Marshal(&of)
		if err != nil {
			t.Fatal(err)
		}
		if err := agreed.state.Set([]byte(files.PrefixFiles+"a.warc"), append([]byte{agree.ValueVersion}, text...)); err != nil {
			t.Fatal(err)
		}
	}
	entry(catalog.File{})
	expect("both are there", "a.warc b.warc ", "a.warc")
	entry(catalog.File{Hidden: 1, Until: 9})
	expect("one is removed", "b.warc ", "b.warc")
	entry(catalog.File{Removed: 1})
	expect("its bytes are to be released", "b.warc ", "b.warc")
	entry(catalog.File{})
	agreed.broken = true
	expect("nobody knows", "", "")
	agreed.broken = false
	expect("restored", "a.warc b.warc ", "a.warc")
}
