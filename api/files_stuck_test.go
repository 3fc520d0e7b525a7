package api

import (
	"fmt"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// Stuck are files with an owed copy whose good bytes are on no node that is alive; the list names the nodes that have
// them. A record of checksums that was verified elsewhere waits for nobody.
func TestStuckFilesAreListed(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader).Files()
	b.must(catalog.SetReplica, catalog.Replica{Name: "third", Kind: catalog.Checksum, Place: "third"})
	b.holdAll()
	b.addNamed("web", 0, "new", "stored", "gone")
	b.stored("stored")
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: "gone", SHA256: sumOf("gone"), Reason: "x", Version: b.version("gone")})
	for _, tt := range []struct {
		away    bool
		replica string
		want    string
	}{
		{false, "", ""}, {true, "", "new [north-1] "}, {true, "north", "new [north-1] "}, {true, "third", "new [north-1] "}, {true, "nowhere", ""},
	} {
		b.absent = tt.away
		got := ""
		for f, err := range c.Search(t.Context(), client.FileQuery{State: "stuck", Replica: tt.replica}) {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(f.Name, " ", f.Stuck.Away, " ")
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	for f, err := range c.Search(t.Context(), client.FileQuery{State: "owed"}) {
		if err != nil || f.Stuck != nil {
			t.Errorf("%+v %v: nobody asked whether it is stuck", f.Stuck, err)
		}
	}
}

// A file whose bytes nobody has waits for no node, and says so; one that is lost or complete is not stuck.
func TestStuckForGood(t *testing.T) {
	t.Parallel()
	b, _ := testCluster(t)
	b.holdAll()
	owed := catalog.Copy{Replica: "north", State: catalog.UploadFailed}
	for what, tt := range map[string]struct {
		file catalog.File
		want *wire.Stuck
	}{
		"nobody has it": {catalog.File{Name: "f", Released: true, Copies: []catalog.Copy{owed}}, &wire.Stuck{Away: []string{}}},
		"lost":          {catalog.File{Name: "f", Released: true, Lost: 1, Copies: []catalog.Copy{owed}}, nil},
		"complete":      {catalog.File{Name: "f", Released: true, Copies: []catalog.Copy{{Replica: "north", State: catalog.UploadCompleted}}}, nil},
		"surplus":       {catalog.File{Name: "f", Released: true, Copies: []catalog.Copy{{Replica: "north", Surplus: true}}}, nil},
		"removed":       {catalog.File{Name: "f", Released: true, Removed: 1, Copies: []catalog.Copy{owed}}, nil},
	} {
		err := b.View(func(v catalog.View) error {
			got, err := stuck{v, func(catalog.NodeID) bool { return false }}.find(&tt.file, "")
			if err != nil || (got == nil) != (tt.want == nil) || got != nil && fmt.Sprint(got.Away) != fmt.Sprint(tt.want.Away) {
				t.Errorf("%s: %+v %v", what, got, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
