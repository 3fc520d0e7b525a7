package catalog_test

import (
	"fmt"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// challenged returns a cluster with a file in three replicas of bytes and one of checksums, after the first draw.
func challenged(t *testing.T, level int) *cluster {
	t.Helper()
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1", "south-2"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	c.raiseTo(t, level)
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f", Size: 1, SHA256: digest("f"), Collection: "web", Source: id("south-2")}}})
	for _, node := range []string{"north-1", "south-1", "sums-1"} {
		c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: "f", State: catalog.UploadCompleted, SHA256: digest("f")}}})
	}
	return c
}

func (c *cluster) draw(t *testing.T, node string, number uint64) *catalog.Refusal {
	t.Helper()
	return c.apply(t, files.DrawLots, files.Drawing{Node: id(node), Number: number}).Refusal
}

// TestLots draws lots: each draw follows the one before, not at once, with another value.
func TestLots(t *testing.T) {
	t.Parallel()
	old := challenged(t, files.LevelOfChallenges-1)
	if r := old.draw(t, "north-1", 1); r == nil || r.Code != catalog.Unsupported {
		t.Errorf("before its level: %v", r)
	}
	c := challenged(t, files.LevelOfChallenges)
	if r := c.draw(t, "north-1", 2); r == nil {
		t.Error("the first draw is the second")
	}
	if r := c.draw(t, "north-1", 1); r != nil {
		t.Fatal(r)
	}
	first, err := c.view().Draws()
	if err != nil || first.Last.Number != 1 || first.Last.Value.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	if r := c.draw(t, "south-1", 2); r == nil {
		t.Error("drawn again at once")
	}
	c.now += files.DrawLeast
	if r := c.draw(t, "south-1", 1); r == nil {
		t.Error("the same draw again")
	}
	if r := c.draw(t, "south-1", 2); r != nil {
		t.Fatal(r)
	}
	second, err := c.view().Draws()
	if err != nil || second.Before != first.Last || second.Last.Value == first.Last.Value {
		t.Errorf("%+v after %+v, %v", second, first, err)
	}
	if _, ok := second.Numbered(0); ok {
		t.Error("there is a draw 0")
	}
}

// TestTheExaminerIsNeverAChoice looks at who examines which shard: never a node of the replica itself, none without
// bytes, and in time each of the others.
func TestTheExaminerIsNeverAChoice(t *testing.T) {
	t.Parallel()
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1"} {
		c.join(t, name)
	}
	for _, at := range []string{"east", "near"} { // near stands at the place of north
		place := at
		if at == "near" {
			place = "Northtown"
		}
		c.must(t, catalog.SetReplica, catalog.Replica{Name: catalog.ReplicaName(at), Kind: catalog.Bitarchive, Place: place})
		c.join(t, at+"-1")
	}
	c.raiseTo(t, files.LevelOfChallenges)
	for _, name := range []string{"north-1", "south-1", "sums-1", "east-1", "near-1"} {
		c.assignAll(t, name)
	}
	draw := files.Draw{Number: 1, Value: digest("1")}
	count := map[catalog.NodeID]int{}
	for s := range catalog.Shard(catalog.Shards) {
		who, err := c.view().Examiner(draw, "north", s, "web")
		if err != nil {
			t.Fatal(err)
		}
		count[who]++
	}
	for _, name := range []string{"south-1", "east-1"} {
		if n := count[id(name)]; n < catalog.Shards/3 {
			t.Errorf("%s examines %d shards of north", name, n)
		}
	}
	if len(count) != 2 {
		t.Errorf("the examiners of north: %v", count)
	}
	if who, err := c.view().Examiner(draw, "sums", 0, "web"); err != nil || who != "" {
		t.Errorf("%q examines a replica without bytes: %v", who, err)
	}
	again := files.Draw{Number: 2, Value: digest("2")}
	changed := 0
	for s := range catalog.Shard(100) {
		a, _ := c.view().Examiner(draw, "north", s, "web")
		if b, _ := c.view().Examiner(again, "north", s, "web"); a != b {
			changed++
		}
	}
	if changed < 25 || changed > 75 {
		t.Errorf("another draw changes %d of 100", changed)
	}
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "other"})
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "east", Kind: catalog.Bitarchive, Place: "east", Collections: []catalog.CollectionName{"other"}})
	for s := range catalog.Shard(100) {
		if who, err := c.view().Examiner(draw, "north", s, "web"); err != nil || who != id("south-1") {
			t.Fatalf("%q examines what it does not have: %v", who, err)
		}
	}
}

// TestWrongAnswersAreTakenFromTheExaminer sends what an examiner says from whom it may not come, about what it may not,
// and too late.
func TestWrongAnswersAreTakenFromTheExaminer(t *testing.T) {
	t.Parallel()
	found := func(t *testing.T, c *cluster, node, replica string, draw uint64, change func(*files.Answer)) error {
		f, err := c.view().File("f")
		if err != nil {
			t.Fatal(err)
		}
		answer := files.Answer{Name: "f"}
		if held := f.Copy(catalog.ReplicaName(replica)); held != nil {
			answer.Since = held.Since
		}
		if change != nil {
			change(&answer)
		}
		body := files.Answers{Node: id(node), Replica: catalog.ReplicaName(replica), Draw: draw, Files: []files.Answer{answer}}
		if r := refusal(c.apply(t, files.FindAnswers, body)); r != nil {
			return r
		}
		return nil
	}
	disputed := func(c *cluster, replica catalog.ReplicaName) bool {
		f, err := c.view().File("f")
		return err == nil && f.Copy(replica).Disputed
	}
	for what, tt := range map[string]struct {
		node, replica string
		draw          uint64
		before        func(*cluster)
		change        func(*files.Answer)
		taken         bool
	}{
		"of the examiner":       {node: "north-1", replica: "south", draw: 1, taken: true},
		"of the node itself":    {node: "south-1", replica: "south", draw: 1},
		"of a checksum replica": {node: "sums-1", replica: "south", draw: 1},
		"of who holds nothing":  {node: "south-2", replica: "north", draw: 1},
		"of a stranger":         {node: "gone", replica: "south", draw: 1},
		"about checksums":       {node: "north-1", replica: "sums", draw: 1},
		"about no replica":      {node: "north-1", replica: "none", draw: 1},
		"of no draw":            {node: "north-1", replica: "south"},
		"of a draw to come":     {node: "north-1", replica: "south", draw: 2},
		"of the draw before": {node: "north-1", replica: "south", draw: 1, taken: true, before: func(c *cluster) {
			c.now += files.DrawLeast
			c.must(t, files.DrawLots, files.Drawing{Node: id("south-1"), Number: 2})
		}},
		"of one before that": {node: "north-1", replica: "south", draw: 1, before: func(c *cluster) {
			for n := range uint64(2) {
				c.now += files.DrawLeast
				c.must(t, files.DrawLots, files.Drawing{Node: id("south-1"), Number: n + 2})
			}
		}},
		"about another copy": {node: "north-1", replica: "south", draw: 1, change: func(a *files.Answer) { a.Since-- }},
		"of an examiner whose copy is disputed": {node: "north-1", replica: "south", draw: 1, before: func(c *cluster) {
			c.must(t, catalog.FindCopies, catalog.Findings{Node: id("north-1"), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("g")}}})
		}},
		"about a removed file": {node: "north-1", replica: "south", draw: 1, before: func(c *cluster) {
			f, _ := c.view().File("f")
			c.must(t, catalog.RemoveFile, catalog.FileRemoval{Name: "f", SHA256: digest("f"), Reason: "test", Version: f.Version})
		}, change: func(a *files.Answer) { a.Since = 1 }},
	} {
		c := challenged(t, files.LevelOfChallenges)
		if r := c.draw(t, "north-1", 1); r != nil {
			t.Fatal(r)
		}
		if tt.before != nil {
			tt.before(c)
		}
		err := found(t, c, tt.node, tt.replica, tt.draw, tt.change)
		if taken := err == nil; taken != tt.taken {
			t.Errorf("%s: %v", what, err)
		}
		if f, _ := c.view().File("f"); f.Removed == 0 && disputed(c, "south") != tt.taken {
			t.Errorf("%s: disputed %v", what, disputed(c, "south"))
		}
		if tt.taken {
			if err := found(t, c, tt.node, tt.replica, tt.draw, nil); err != nil {
				t.Errorf("%s, told twice: %v", what, err)
			}
		}
	}
}

// TestChecks records checks of nodes, for the node that made them alone.
func TestChecks(t *testing.T) {
	t.Parallel()
	c := challenged(t, files.LevelOfChallenges)
	for i, tt := range []struct {
		check files.Check
		taken bool
	}{
		{files.Check{Node: id("north-1"), Replica: "north", Kind: "presence", Began: 1, Ended: 1 << 60, Files: 7}, true},
		{files.Check{Node: id("north-1"), Replica: "south", Kind: "challenge", Files: 7}, true},
		{files.Check{Node: id("north-1"), Replica: "south", Kind: "presence"}, false},
		{files.Check{Node: id("north-1"), Replica: "none", Kind: "challenge"}, false},
		{files.Check{Node: id("north-1"), Replica: "north", Kind: "checksum"}, false},
		{files.Check{Node: id("gone"), Replica: "north", Kind: "presence"}, false},
		{files.Check{Node: id("north-1"), Replica: "north", Kind: "presence", Missed: -1}, false},
		{files.Check{Node: id("north-1"), Replica: "north", Kind: "challenge", Files: 7}, false}, // it says that of itself
	} {
		if r := c.apply(t, files.NoteCheck, tt.check).Refusal; (r == nil) != tt.taken {
			t.Errorf("%d: %v", i, r)
		}
	}
	all, err := c.view().Checks("north", "presence")
	if err != nil || len(all) != 1 || all[0].Files != 7 || all[0].Ended > c.now || fmt.Sprint(all[0].Node) != string(id("north-1")) {
		t.Errorf("%+v, %v: it ended in the future", all, err)
	}
}

// TestReplaceOnlyWhatIsBad replaces copies by hand: only one that was found with just these bytes, with a good one elsewhere.
func TestReplaceOnlyWhatIsBad(t *testing.T) {
	t.Parallel()
	find := func(c *cluster, node string, found catalog.Digest) {
		c.must(t, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: found}}})
	}
	release := func(c *cluster) { // the source is no good copy that stays
		c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{"f"}})
	}
	for what, tt := range map[string]struct {
		before func(*cluster)
		ask    files.Replacement
		code   catalog.Code // empty: done
	}{
		"bad":              {func(c *cluster) { find(c, "south-1", digest("bad")) }, files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad")}, ""},
		"with other bytes": {func(c *cluster) { find(c, "south-1", digest("bad")) }, files.Replacement{Name: "f", Replica: "south", SHA256: digest("worse")}, catalog.Conflict},
		"right":            {nil, files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad")}, catalog.Conflict},
		"with the right":   {func(c *cluster) { find(c, "south-1", digest("bad")) }, files.Replacement{Name: "f", Replica: "south", SHA256: digest("f")}, catalog.Invalid},
		"unreadable":       {func(c *cluster) { find(c, "south-1", catalog.Digest{}) }, files.Replacement{Name: "f", Replica: "south"}, catalog.Invalid},
		"of no replica":    {nil, files.Replacement{Name: "f", Replica: "none", SHA256: digest("bad")}, catalog.Conflict},
		"of no file":       {nil, files.Replacement{Name: "g", Replica: "south", SHA256: digest("bad")}, catalog.NotFound},
		"without a good one": {func(c *cluster) {
			release(c)
			find(c, "south-1", digest("bad"))
			find(c, "north-1", digest("bad"))
		}, files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad")}, catalog.Unsafe},
	} {
		c := challenged(t, files.LevelOfChallenges)
		if tt.before != nil {
			tt.before(c)
		}
		tt.ask.Reason = "test"
		r := c.apply(t, files.ReplaceCopy, tt.ask).Refusal
		if r != nil {
			if r.Code != tt.code {
				t.Errorf("%s: %v", what, r)
			}
			continue
		}
		f, err := c.view().File("f")
		if got := f.Copy("south"); err != nil || tt.code != "" || got.State != catalog.UploadFailed || got.Disputed || f.Copy("north").State != catalog.UploadCompleted {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	c := challenged(t, files.LevelOfChallenges-1)
	if r := c.apply(t, files.ReplaceCopy, files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad")}).Refusal; r == nil || r.Code != catalog.Unsupported {
		t.Errorf("before its level: %v", r)
	}
}
