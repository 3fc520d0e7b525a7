package catalog_test

import (
	"fmt"
	"testing"

	"holdfast/catalog"
)

// BenchmarkApply adds one file and reports its three copies: four commands.
func BenchmarkApply(b *testing.B) {
	c := emptyCluster(b)
	for _, name := range []string{"south-1", "sums-1"} {
		c.join(b, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(b, name)
	}
	for i := 0; b.Loop(); i++ {
		name := catalog.FileName(fmt.Sprintf("%08d-1-20261120120000000-00000-north-1.warc.gz", i))
		sum := digest(string(name))
		c.must(b, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1 << 30, SHA256: sum, Collection: "web", Source: id("north-1")}}})
		for _, node := range []string{"north-1", "south-1", "sums-1"} {
			c.must(b, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: sum}}})
		}
	}
}
