package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestWhatOnlyOneNodeHas counts a file whose one good copy waits for its release, a hidden one, and one that only its
// source has; each once, from any place on, and as CoveringFile says.
func TestWhatOnlyOneNodeHas(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	for _, name := range []catalog.FileName{"both", "hidden", "surplus"} {
		completeFile(t, c, name)
	}
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "source", Size: 7, SHA256: digest("source"),
		Collection: "web", Source: id("north-1")}}})
	bad := func(name catalog.FileName) {
		c.must(t, catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{{Name: name,
			FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south", Bad: true}}})
	}
	soles := func(after string, pace func() error) (names []string, places []string, err error) {
		m, err := c.view().Member(id("north-1"))
		if err != nil {
			t.Fatal(err)
		}
		err = files.SolesIn(c).Each(&m, after, pace, func(place string, f *catalog.File) (bool, error) {
			names, places = append(names, string(f.Name)), append(places, place)
			return true, nil
		})
		return names, places, err
	}
	free := func() error { return nil }
	want := func(what string, want ...string) {
		t.Helper()
		names, places, err := soles("", free)
		if err != nil || !slices.IsSorted(places) {
			t.Fatal(places, err)
		}
		for i, place := range places {
			rest, _, err := soles(place, free)
			if err != nil || !slices.Equal(rest, names[i+1:]) {
				t.Errorf("%s: behind %s come %v, %v; want %v", what, place, rest, err, names[i+1:])
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("%s: only north-1 has %v, want %v", what, names, want)
		}
		for _, f := range allFiles(t, c) {
			others, err := c.view().CoveringFile(&f)
			others = slices.DeleteFunc(others, func(h catalog.Holding) bool { return h.Node == id("north-1") })
			if err != nil || (len(others) == 0) != slices.Contains(want, string(f.Name)) {
				t.Errorf("%s: %s is elsewhere at %+v, %v", what, f.Name, others, err)
			}
		}
	}
	want("at first", "source")
	bad("hidden")
	c.must(t, catalog.RemoveFile, removal("hidden"))
	want("one is hidden", "hidden", "source")
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "tv"})
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"tv"}})
	fillAll(t, c)
	bad("surplus")
	want("one waits for its release", "hidden", "source", "surplus")
	ended := errors.New("enough")
	if _, _, err := soles("", func() error { return ended }); !errors.Is(err, ended) {
		t.Errorf("an end of the walk: %v", err)
	}
	if _, _, err := soles("hno/shard", free); err == nil || strings.Contains(err.Error(), "enough") {
		t.Errorf("no place: %v", err)
	}
}
