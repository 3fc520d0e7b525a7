package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
)

// filledCluster has 500 files in north, south and sums, good in north.
func filledCluster(t *testing.T) *cluster {
	c := foundCluster(t)
	for i := 0; i < 500; i += 100 {
		var add catalog.Additions
		report := catalog.CopyReports{Node: id("north-1")}
		for j := range 100 {
			name := catalog.FileName(fmt.Sprintf("f%03d", i+j))
			add.Files = append(add.Files, catalog.Addition{Name: name, Size: 10, SHA256: digest(string(name)), Collection: "web", Source: id("south-1")})
			report.Copies = append(report.Copies, catalog.CopyReport{Name: name, State: catalog.UploadCompleted, SHA256: digest(string(name))})
		}
		c.must(t, catalog.AddFiles, add)
		c.must(t, catalog.ReportCopies, report)
	}
	return c
}

func (c *cluster) fill(t *testing.T, replica catalog.ReplicaName) int {
	t.Helper()
	for n := 0; ; n++ {
		fills, err := c.view().Fills()
		if err != nil {
			t.Fatal(err)
		}
		if len(fills) == 0 {
			return n
		}
		step := catalog.FillStep{Replica: replica, Shard: fills[0].Shard, After: fills[0].After}
		c.must(t, catalog.FillReplica, step)
		if r := c.apply(t, catalog.FillReplica, step); r.Refusal == nil {
			t.Fatal("the same step was taken twice")
		}
	}
}

func TestFillGoesOnInChunks(t *testing.T) {
	c := filledCluster(t)
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "east", Kind: catalog.Bitarchive})
	if n := c.fill(t, "east"); n < 4 || n > 10 {
		t.Errorf("the new replica took %d steps", n)
	}
	if totals, _ := c.view().Totals("east"); totals.Owed != 500 {
		t.Errorf("the new replica owes %+v", totals)
	}
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("north-1"), Lost: true})
	if f, _ := c.view().File("f000"); f.Copy("north").State != catalog.UploadCompleted {
		t.Error("the removal alone changed every file")
	}
	if n := c.fill(t, "north"); n < 4 || n > 40 {
		t.Errorf("the lost node took %d steps", n)
	}
	layout, _ := c.view().Layout("north")
	if totals, _ := c.view().Totals("north"); totals.Owed != 500 || layout[0] != (catalog.Placement{}) {
		t.Errorf("the lost node's replica owes %+v, first shard %+v", totals, layout[0])
	}
}

func TestPages(t *testing.T) {
	c := filledCluster(t)
	v := c.view()
	var all []catalog.FileName
	for after := catalog.FileName(""); ; after = all[len(all)-1] {
		files, err := v.Files("f", after, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			all = append(all, f.Name)
		}
		if len(files) < 64 {
			break
		}
	}
	if len(all) != 500 || !slices.IsSorted(all) {
		t.Errorf("pages have %d files", len(all))
	}
	odd := func(s catalog.Shard) bool { return s%2 == 1 }
	var owed []catalog.FileName
	for cursor := (catalog.Cursor{}); ; {
		files, next, err := v.Owed("south", odd, cursor, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			owed = append(owed, f.Name)
		}
		if len(files) < 7 {
			break
		}
		cursor = next
	}
	want := slices.DeleteFunc(slices.Clone(all), func(f catalog.FileName) bool { return !odd(f.Shard()) })
	slices.Sort(owed)
	if !slices.Equal(owed, want) {
		t.Errorf("owed in odd shards are %d files, not %d", len(owed), len(want))
	}
	roots, err := v.Roots("south")
	if err != nil {
		t.Fatal(err)
	}
	for s, root := range roots {
		single, err := v.Root("south", catalog.Shard(s))
		var sum catalog.Root
		for _, name := range all {
			if int(name.Shard()) == s {
				sum = sum.Add(catalog.RootOf(name, 10, digest(string(name))))
			}
		}
		if err != nil || root != sum || single != sum {
			t.Fatalf("root of shard %d is %+v and %+v, not %+v: %v", s, root, single, sum, err)
		}
	}
	if _, err := v.File("nothing"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("no file answers %v", err)
	}
	if files, _ := v.Files("f49", "", 0); len(files) != 10 {
		t.Errorf("%d files begin with f49", len(files))
	}
}

func TestAuditedCopies(t *testing.T) {
	c := filledCluster(t)
	shard := catalog.FileName("f001").Shard()
	c.must(t, catalog.PassShard, catalog.ShardPass{Replica: "north", Shard: shard, Node: id("north-1"), Began: c.now, Ended: c.now + 1e9})
	f, err := c.view().File("f001")
	if err != nil || f.Copy("north").Checksum != catalog.ChecksumUnknown {
		t.Fatalf("%+v, %v", f, err)
	}
	g, err := c.view().Audited(f)
	if err != nil || g.Copy("north").Checksum != catalog.ChecksumOK || g.Copy("south").Checksum != catalog.ChecksumUnknown || f.Copy("north").Checksum != catalog.ChecksumUnknown {
		t.Errorf("%+v, %v", g, err)
	}
	passes, err := c.view().Passes("north")
	if err != nil || len(passes) != 1 || passes[0].Ended > c.now {
		t.Errorf("passes %+v, %v: they ended in the future", passes, err)
	}
}

func TestRootArithmetic(t *testing.T) {
	a, b := catalog.RootOf("a", 1, digest("a")), catalog.RootOf("b", 2, digest("b"))
	if a.Add(b) != b.Add(a) || a.Add(b).Sub(b) != a || a.Sub(a) != (catalog.Root{}) {
		t.Error("roots do not add up")
	}
	full := catalog.Root{}
	for i := range full.Sum {
		full.Sum[i] = 0xff
	}
	one := catalog.Root{}
	one.Sum[31] = 1
	if sum := full.Add(one); sum != (catalog.Root{}) || sum.Sub(one) != full {
		t.Errorf("the carry is lost: %+v", sum)
	}
}
