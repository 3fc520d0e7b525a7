package api

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// addNamed adds files to the archive, with that job and collection.
func (b *backend) addNamed(collection catalog.CollectionName, job uint64, names ...string) {
	b.t.Helper()
	for len(names) > 0 {
		var add []catalog.Addition
		for _, name := range names[:min(50, len(names))] {
			add = append(add, catalog.Addition{Name: catalog.FileName(name), Size: 2, SHA256: sumOf(name), Collection: collection, Source: self, Job: job})
		}
		b.must(catalog.AddFiles, catalog.Additions{Files: add})
		names = names[len(add):]
	}
}

func sumOf(name string) catalog.Digest { return catalog.Digest(sha256.Sum256([]byte(name))) }

// stored reports the copies of the node as verified.
func (b *backend) stored(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: catalog.FileName(name), State: catalog.UploadCompleted, SHA256: sumOf(name)}}})
	}
}

// TestFilesAreListedByWhatTheyAre makes files of two jobs and collections in all states and finds them.
func TestFilesAreListedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader).Files()
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	b.must(catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"radio", "web"}})
	b.must(catalog.SetReplica, catalog.Replica{Name: "third", Kind: catalog.Checksum, Place: "third", Collections: []catalog.CollectionName{"web"}})
	b.holdAll()
	b.addNamed("web", 0, "a", "gone")
	b.addNamed("web", 12, "12-0-1.warc.gz", "12-0-2.warc.gz")
	b.addNamed("radio", 1, "1-0-1.warc.gz", "1-0-2.warc.gz", "1-0-3.warc.gz")
	b.stored("12-0-1.warc.gz", "1-0-1.warc.gz", "1-0-2.warc.gz", "gone", "1-0-3.warc.gz")
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: "gone", SHA256: sumOf("gone"), Reason: "x", Version: b.version("gone")})
	for name, finding := range map[catalog.FileName]catalog.Finding{
		"1-0-2.warc.gz": {FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: catalog.Digest{1}},
		"1-0-3.warc.gz": {FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}} {
		finding.Name = name
		b.must(catalog.FindCopies, catalog.Findings{Node: self, Files: []catalog.Finding{finding}})
	}
	for _, tt := range []struct {
		of   client.FileQuery
		want string
	}{
		{client.FileQuery{}, "1-0-1 1-0-2 1-0-3 12-0-1 12-0-2 a"}, {client.FileQuery{Prefix: "1-"}, "1-0-1 1-0-2 1-0-3"},
		{client.FileQuery{Collection: "radio"}, "1-0-1 1-0-2 1-0-3"}, {client.FileQuery{Job: 1}, "1-0-1 1-0-2 1-0-3"}, {client.FileQuery{Job: 12}, "12-0-1 12-0-2"},
		{client.FileQuery{Job: 12, Prefix: "1"}, "12-0-1 12-0-2"}, {client.FileQuery{Job: 12, Prefix: "12-0-2"}, "12-0-2"}, {client.FileQuery{Job: 12, Prefix: "a"}, ""}, {client.FileQuery{Job: 2}, ""},
		{client.FileQuery{State: "complete"}, "1-0-1"}, {client.FileQuery{State: "incomplete"}, "1-0-2 1-0-3 12-0-1 12-0-2 a"},
		{client.FileQuery{State: "removed"}, "gone"}, {client.FileQuery{State: "hidden"}, "gone"}, {client.FileQuery{State: "hidden", Collection: "radio"}, ""}, {client.FileQuery{State: "lost"}, ""}, {client.FileQuery{State: "corrupt"}, "1-0-2"}, {client.FileQuery{State: "missing"}, "1-0-3"},
		{client.FileQuery{State: "disputed"}, "1-0-2 1-0-3"}, {client.FileQuery{State: "disputed", Replica: "third"}, ""}, {client.FileQuery{State: "disputed", Prefix: "1-0-3"}, "1-0-3"},
		{client.FileQuery{State: "owed", Replica: "north"}, "12-0-2 a"}, {client.FileQuery{State: "owed", Replica: "third"}, "12-0-1 12-0-2 a"}, {client.FileQuery{State: "owed"}, "12-0-1 12-0-2 a"},
		{client.FileQuery{Replica: "third"}, "12-0-1 12-0-2 a"}, {client.FileQuery{Replica: "nowhere"}, ""},
	} {
		var got []string
		for f, err := range c.Search(t.Context(), tt.of) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSuffix(f.Name, ".warc.gz"))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.of, got, tt.want)
		}
	}
	if code, text := b.ask(b.request(as(catalog.RoleReader), http.MethodGet, "/files?job=0", "")); code != http.StatusUnprocessableEntity {
		t.Errorf("job 0: %d %s", code, text)
	}
}

// A filter that finds little reads a bounded part of the archive, and says where it is to go on.
func TestAPageOfFilesReadsABoundedPart(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	var names []string
	for i := range filesRead + 150 {
		names = append(names, fmt.Sprintf("f%05d", i))
	}
	b.addNamed("web", 0, names...)
	last := names[len(names)-1]
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: catalog.FileName(last), SHA256: sumOf(last), Reason: "x", Version: b.version(last)})
	var found []string
	var sizes []int
	for after := ""; ; {
		code, text := b.ask(b.request(c, http.MethodGet, "/files?state=removed&after="+after, ""))
		var page wire.Page[wire.File]
		if err := json.Unmarshal([]byte(text), &page); err != nil || code != http.StatusOK {
			t.Fatal(code, text, err)
		}
		sizes = append(sizes, len(page.Items))
		for _, f := range page.Items {
			found = append(found, f.Name)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if fmt.Sprint(found, sizes) != fmt.Sprintf("[%s] [0 1]", last) {
		t.Errorf("found %v in pages of %v", found, sizes)
	}
	seen := 0
	for f, err := range c.Files().List(t.Context(), "f") {
		if err != nil || f.Name != names[seen] {
			t.Fatal(err, f.Name, seen)
		}
		seen++
	}
	if seen != len(names)-1 { // the last is removed, and can be restored
		t.Errorf("%d files are listed", seen)
	}
}

// version is the mark of a file's entry.
func (b *backend) version(name string) (mark uint64) {
	b.t.Helper()
	if err := b.View(func(v catalog.View) error {
		f, err := v.File(catalog.FileName(name))
		mark = f.Version
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	return mark
}
