package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/seed"
)

// threeNodes is a cluster of that level with a node for each replica, which holds all of its shards.
func threeNodes(t testing.TB, level int) *cluster {
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1"} {
		c.join(t, name)
	}
	c.raiseTo(t, level)
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	return c
}

// TestCompactEntriesSayTheSame sends random commands about files to a cluster of the level before compact entries and to
// one with them: answers and entries are the same after each.
func TestCompactEntriesSayTheSame(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	old, now := threeNodes(t, files.LevelOfCompact-1), threeNodes(t, files.LevelOfCompact)
	old.index, now.index = max(old.index, now.index), max(old.index, now.index)
	old.now, now.now = max(old.now, now.now), max(old.now, now.now)
	now.must(t, files.SetRemovals, files.RemovalSetting{Days: 0})
	old.index, old.now = now.index, now.now
	compact := 0
	for round := range 1500 {
		kind, body := randomOfFiles(random, round)
		was, is := old.apply(t, kind, body), now.apply(t, kind, body)
		if !reflect.DeepEqual(was, is) {
			t.Fatalf("%s %+v is answered %+v, and compact %+v", kind, body, was, is)
		}
		if a, b := allFiles(t, old), unnamed(allFiles(t, now)); !reflect.DeepEqual(a, b) {
			t.Fatalf("after %s %+v:\n%+v\nand compact:\n%+v", kind, body, a, b)
		}
		for key, value := range now.All() {
			if strings.HasPrefix(string(key), catalog.PrefixFiles) && value[1] != '{' {
				compact++
			}
		}
		for key, value := range old.All() {
			if strings.HasPrefix(string(key), catalog.PrefixFiles) && value[1] != '{' {
				t.Fatalf("%s is compact before its level: %q", key, value)
			}
		}
	}
	if compact < 20 {
		t.Errorf("%d compact entries were met", compact)
	}
}

// TestHiddenFilesAreKeptLikeOthers sends the same random commands to two clusters, in one of which files are removed and
// restored in between: while they are hidden, answers and copies are the same, but that they cannot be put again.
func TestHiddenFilesAreKeptLikeOthers(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	plain, hiding := threeNodes(t, files.LevelOfHidden), threeNodes(t, files.LevelOfHidden)
	compact, hidden := 0, 0
	for round := range 1500 {
		kind, body := randomOfFiles(random, round)
		if kind == catalog.RemoveFile {
			plain.now += 1000
			plain.index++
			name := body.(catalog.FileRemoval).Name
			if f, err := hiding.view().File(name); err == nil && f.Hidden != 0 {
				kind, body = files.RestoreFile, restoration(name)
				hidden++
			}
			hiding.apply(t, kind, body)
		} else {
			again, adds := body.(catalog.Additions)
			if f, err := hiding.view().File(nameIn(again)); adds && err == nil && f.Hidden != 0 {
				continue
			}
			was, is := plain.apply(t, kind, body), hiding.apply(t, kind, body)
			if !reflect.DeepEqual(was, is) {
				t.Fatalf("%s %+v is answered %+v, and with hidden files %+v", kind, body, was, is)
			}
		}
		if a, b := sameFiles(allFiles(t, plain)), sameFiles(allFiles(t, hiding)); !reflect.DeepEqual(a, b) {
			t.Fatalf("after %s %+v:\n%+v\nand with hidden files:\n%+v", kind, body, a, b)
		}
		for key, value := range hiding.All() {
			if strings.HasPrefix(string(key), catalog.PrefixFiles) && value[1] != '{' {
				compact++
			}
		}
	}
	soundFiles(t, hiding)
	if compact < 20 || hidden < 3 {
		t.Errorf("%d compact entries, %d restored", compact, hidden)
	}
}

func nameIn(a catalog.Additions) catalog.FileName {
	if len(a.Files) == 0 {
		return ""
	}
	return a.Files[0].Name
}

// unnamed is the entries without who removed them, which is not told before the level.
func unnamed(all []catalog.File) []catalog.File {
	for i := range all {
		all[i].RemovedBy = ""
	}
	return all
}

// sameFiles is the entries without what says that they are, or were, removed.
func sameFiles(all []catalog.File) []catalog.File {
	for i := range all {
		f := &all[i]
		f.Version, f.Hidden, f.Until, f.RemovedBy, f.Reason = 0, 0, 0, "", ""
	}
	return all
}

func allFiles(t testing.TB, c *cluster) []catalog.File {
	t.Helper()
	all, err := catalog.NewView(c).Files("", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all { // one at a time it is read on another path
		if one, err := catalog.NewView(c).File(f.Name); err != nil || !reflect.DeepEqual(one, f) {
			t.Fatalf("alone %+v, %v, in a list %+v", one, err, f)
		}
	}
	return all
}

// randomOfFiles returns a command about one of a few files, one that mostly makes them complete.
func randomOfFiles(random *rand.Rand, round int) (catalog.Kind, any) {
	name := catalog.FileName(fmt.Sprintf("%d-1-20261120120000000-00000-north-1.warc.gz", round/100+random.IntN(3)))
	nodes := []string{"north-1", "south-1", "sums-1"}
	node, sum := id(nodes[random.IntN(3)]), digest(string(name))
	switch n := random.IntN(40); {
	case n < 6:
		return catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1 << 30, SHA256: sum,
			Collection: "web", Source: id("north-1"), Job: 12, Attempt: random.IntN(2)}}}
	case n < 24:
		return catalog.ReportCopies, catalog.CopyReports{Node: node, Copies: []catalog.CopyReport{{Name: name,
			State: catalog.UploadCompleted, SHA256: sum}}}
	case n < 32:
		return catalog.ReleaseFiles, catalog.Releases{Node: node, Files: []catalog.FileName{name}}
	case n < 34:
		return catalog.FindCopies, catalog.Findings{Node: node, Files: []catalog.Finding{{Name: name,
			FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("other")}}}
	case n < 37:
		return catalog.FindCopies, catalog.Findings{Node: node, Files: []catalog.Finding{{Name: name,
			FileList: catalog.FileListOK, Checksum: catalog.ChecksumOK, Found: sum}}}
	case n < 39:
		return catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name,
			Replica: catalog.ReplicaName(strings.TrimSuffix(nodes[random.IntN(3)], "-1")), Bad: random.IntN(2) == 0,
			Votes: "two to one"}}}
	default:
		return catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: sum, Reason: "a test"}
	}
}

// TestACompleteFileTakesLittle counts what a complete file whose source has released it costs the catalog.
func TestACompleteFileTakesLittle(t *testing.T) {
	t.Parallel()
	const n = 100
	size := map[int]int{}
	for _, level := range []int{files.LevelOfCompact - 1, files.LevelOfCompact} {
		c := threeNodes(t, level)
		before := bytesOf(c, "file/", "shard/", "owed/", "need/", "source/", "release/", "word/")
		for i := range n {
			name := catalog.FileName(fmt.Sprintf("%d-12-20261120120000000-%05d-north-1.warc.gz", 1000+i, i))
			sum := digest(string(name))
			c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1<<30 + int64(i),
				SHA256: sum, Collection: "web", Source: id("north-1"), Job: uint64(1000 + i), Attempt: 1}}})
			for _, node := range []string{"north-1", "south-1", "sums-1"} {
				c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node),
					Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: sum}}})
			}
			c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("north-1"), Files: []catalog.FileName{name}})
		}
		size[level] = (bytesOf(c, "file/", "shard/", "owed/", "need/", "source/", "release/", "word/") - before) / n
	}
	t.Logf("bytes of keys and values of a complete file: %v", size)
	if size[files.LevelOfCompact] > 200 {
		t.Errorf("%d bytes, want at most 200", size[files.LevelOfCompact])
	}
}

func bytesOf(c *cluster, prefixes ...string) (sum int) {
	for key, value := range c.All() {
		for _, prefix := range prefixes {
			if strings.HasPrefix(string(key), prefix) {
				sum += len(key) + len(value)
			}
		}
	}
	return sum
}
