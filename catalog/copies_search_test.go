package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// fileN is the name of a file of TestCopiesAreSearched.
func fileN(i int) catalog.FileName { return catalog.FileName(fmt.Sprintf("f%04d.warc.gz", i)) }

// TestCopiesAreSearched makes many files, of which some copies are verified, disputed, judged bad and declared lost. All
// pages together are what looking at every file finds.
func TestCopiesAreSearched(t *testing.T) {
	t.Parallel()
	const n = 800
	c := emptyCluster(t)
	c.join(t, "south-1")
	for _, name := range []string{"north-1", "south-1"} {
		c.assignAll(t, name)
	}
	c.raise(t)
	for at := 0; at < n; at += 50 {
		var add []catalog.Addition
		for i := at; i < at+50; i++ {
			add = append(add, catalog.Addition{Name: fileN(i), Size: 10, SHA256: digest(string(fileN(i))), Collection: "web", Source: id("north-1")})
		}
		c.must(t, catalog.AddFiles, catalog.Additions{Files: add})
	}
	var reports []catalog.CopyReport
	for i := range 60 {
		reports = append(reports, catalog.CopyReport{Name: fileN(i), State: catalog.UploadCompleted, SHA256: digest(string(fileN(i)))})
	}
	for _, node := range []string{"north-1", "south-1"} {
		c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: reports})
	}
	for i := range 40 {
		finding := catalog.Finding{Name: fileN(i), FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("rot")}
		if i%4 == 0 {
			finding = catalog.Finding{Name: fileN(i), FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}
		}
		c.must(t, catalog.FindCopies, catalog.Findings{Node: id([]string{"north-1", "south-1"}[i%2]), Files: []catalog.Finding{finding}})
	}
	for i := range 20 {
		replica := []catalog.ReplicaName{"north", "south"}[i%2]
		c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: fileN(i), Replica: replica, Bad: i%3 != 0, Votes: "x"}}})
	}
	for fault, n := range searchCopies(t, c, n) {
		if n == 0 {
			t.Errorf("no copy is %s", fault)
		}
	}
	// South is to hold them no more: its copies, which wait for their release, are in no list.
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "tv"})
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "south", Collections: []catalog.CollectionName{"tv"}})
	fillAll(t, c)
	if f, err := c.view().File(fileN(25)); err != nil || !f.Copy("south").Surplus {
		t.Fatalf("%+v %v", f, err)
	}
	searchCopies(t, c, n)
	for _, odd := range []string{"", "a", "d", "d\xff\xff", "o", "onorth", "onorth/zzz", "o\xff", "z", "\xff", "d/", "\x00"} {
		for _, fault := range slices.Sorted(slices.Values([]files.CopyFault{files.CopyOwed, files.CopyDisputed, files.CopyCorrupt})) {
			if _, err := c.view().Copies(files.CopySearch{Fault: fault}, odd, 10); err != nil {
				t.Errorf("%s behind %q: %v", fault, odd, err)
			}
		}
	}
}

// searchCopies compares the lists of copies with what looking at every file finds, and counts them.
func searchCopies(t *testing.T, c *cluster, n int) map[files.CopyFault]int {
	t.Helper()
	whole, err := c.view().Files("", "", 0)
	if err != nil || len(whole) != n {
		t.Fatal(err, len(whole))
	}
	counts := map[files.CopyFault]int{}
	for _, fault := range []files.CopyFault{files.CopyOwed, files.CopyDisputed, files.CopyCorrupt, files.CopyMissing} {
		for _, replica := range []catalog.ReplicaName{"", "north", "south", "sums", "nowhere", "north/000"} {
			want := map[string]bool{}
			for i := range whole {
				for k := range whole[i].Copies {
					if copy := &whole[i].Copies[k]; (replica == "" || copy.Replica == replica) && faulty(fault, copy) {
						want[string(whole[i].Name)+" "+string(copy.Replica)] = true
					}
				}
			}
			if replica == "" {
				counts[fault] = len(want)
			}
			for _, limit := range []int{70, 1000} {
				got := map[string]bool{}
				pages := 0
				for after := ""; ; pages++ {
					page, err := c.view().Copies(files.CopySearch{Fault: fault, Replica: replica}, after, limit)
					if err != nil || len(page.Copies) > limit || pages > n {
						t.Fatalf("%s %s: %v, page %d of %d", fault, replica, err, pages, len(page.Copies))
					}
					counted := fault == files.CopyOwed || fault == files.CopyDisputed
					if counted && page.Total != int64(len(want)) || !counted && page.Total != -1 {
						t.Fatalf("%s in %q: %d in all, want %d", fault, replica, page.Total, len(want))
					}
					for _, found := range page.Copies {
						key := string(found.File.Name) + " " + string(found.Replica)
						if got[key] || !want[key] {
							t.Errorf("%s %s: %s is found, and was %t, wanted %t", fault, replica, key, got[key], want[key])
						}
						got[key] = true
					}
					if after = page.Next; after == "" {
						break
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s in %q: %d copies, want %d", fault, replica, len(got), len(want))
				}
				if limit == 1000 && fault == files.CopyCorrupt && replica == "" && pages == 0 && counts[files.CopyOwed] > 2000 {
					t.Error("thousands of copies are looked at in one page")
				}
			}
		}
	}
	return counts
}

func faulty(fault files.CopyFault, c *catalog.Copy) bool {
	if c.Surplus {
		return false
	}
	switch fault {
	case files.CopyOwed:
		return c.State != catalog.UploadCompleted
	case files.CopyDisputed:
		return c.Disputed
	case files.CopyCorrupt:
		return c.Checksum == catalog.ChecksumCorrupt
	default:
		return c.FileList == catalog.FileListMissing
	}
}
