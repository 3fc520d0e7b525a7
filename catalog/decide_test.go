package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// found has a node report what an audit found of file f; a zero digest: it is right.
func (c *cluster) found(t *testing.T, node string, as catalog.Digest) {
	t.Helper()
	finding := catalog.Finding{Name: "f", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: as}
	if as.IsZero() {
		finding.Checksum = catalog.ChecksumOK
	}
	c.must(t, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{finding}})
}

// TestSetChecksum corrects the catalog only where copies were read, agree, and nobody has what the catalog says.
func TestSetChecksum(t *testing.T) {
	t.Parallel()
	release := func(t *testing.T, c *cluster) {
		c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{"f"}})
	}
	all := func(t *testing.T, c *cluster) {
		release(t, c)
		for _, node := range []string{"north-1", "south-1", "sums-1"} {
			c.found(t, node, digest("new"))
		}
	}
	ask := files.Correction{Name: "f", Was: digest("f"), SHA256: digest("new"), Reason: "typing error"}
	for what, tt := range map[string]struct {
		before func(*testing.T, *cluster)
		change func(*files.Correction)
		code   catalog.Code
	}{
		"all agree":             {all, nil, ""},
		"of the version":        {all, func(a *files.Correction) { a.Version = 8 }, ""},
		"of an earlier version": {all, func(a *files.Correction) { a.Version = 1 }, catalog.Conflict},
		"what nobody read":      {all, func(a *files.Correction) { a.SHA256 = digest("other") }, catalog.Unsafe},
		"what it was not":       {all, func(a *files.Correction) { a.Was = digest("other") }, catalog.Conflict},
		"what it is":            {all, func(a *files.Correction) { a.SHA256 = digest("f") }, catalog.Invalid},
		"nothing":               {all, func(a *files.Correction) { a.SHA256 = catalog.Digest{} }, catalog.Invalid},
		"of no file":            {all, func(a *files.Correction) { a.Name = "g" }, catalog.NotFound},
		"while all is right":    {release, nil, catalog.Unsafe},
		"while one has the old bytes": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.found(t, "north-1", digest("new"))
			c.found(t, "sums-1", digest("new"))
		}, nil, catalog.Unsafe},
		"while the source has the old bytes": {func(t *testing.T, c *cluster) {
			for _, node := range []string{"north-1", "south-1", "sums-1"} {
				c.found(t, node, digest("new"))
			}
		}, nil, catalog.Unsafe},
		"by one copy alone": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.found(t, "north-1", digest("new"))
			c.found(t, "south-1", catalog.Digest{1})
			c.must(t, catalog.FindCopies, catalog.Findings{Node: id("sums-1"), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		}, nil, catalog.Unsafe},
		"by two against a record": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.found(t, "north-1", digest("new"))
			c.found(t, "south-1", digest("new"))
		}, nil, ""},
		"of a lost file": {func(t *testing.T, c *cluster) {
			all(t, c)
			c.must(t, catalog.LoseFile, catalog.FileLoss{Name: "f", SHA256: digest("f"), Reason: "x",
				Checked: []catalog.NodeID{id("north-1"), id("south-1"), id("sums-1"), id("south-2")}})
		}, nil, catalog.Conflict},
		"of a removed file": {func(t *testing.T, c *cluster) {
			all(t, c)
			c.must(t, catalog.RemoveFile, catalog.FileRemoval{Name: "f", SHA256: digest("f"), Reason: "x"})
		}, nil, catalog.Conflict},
	} {
		t.Run(what, func(t *testing.T) {
			c := challenged(t, files.LevelOfChallenges)
			tt.before(t, c)
			b := ask
			if tt.change != nil {
				tt.change(&b)
			}
			if b.Version > 1 {
				f, err := c.view().File("f")
				if err != nil {
					t.Fatal(err)
				}
				b.Version = f.Version
			}
			before := c.sum()
			r := c.apply(t, files.SetChecksum, b).Refusal
			if tt.code != "" {
				if r == nil || r.Code != tt.code || c.sum() != before {
					t.Errorf("%v", r)
				}
				return
			}
			if r != nil {
				t.Fatal(r)
			}
			corrected(t, c)
		})
	}
	c := challenged(t, files.LevelOfChallenges-1)
	if r := c.apply(t, files.SetChecksum, ask).Refusal; r == nil || r.Code != catalog.Unsupported {
		t.Errorf("before its level: %v", r)
	}
}

// corrected checks that no copy became good by a correction, that nobody judges those with the new SHA-256 bad, and that
// all is well when the nodes have read them again.
func corrected(t *testing.T, c *cluster) {
	t.Helper()
	f, err := c.view().File("f")
	if err != nil || f.SHA256 != digest("new") {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, one := range f.Copies {
		if one.Good() {
			t.Errorf("nobody has read the copy in %s again, and it is good", one.Replica)
		}
	}
	unjudged := func() {
		t.Helper()
		c.apply(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: "f", Replica: "south", Bad: true}}})
		if f, err := c.view().File("f"); err != nil || !f.Copy("south").Disputed || f.Copy("south").State != catalog.UploadCompleted {
			t.Errorf("a copy with the file's SHA-256 is judged bad: %+v, %v", f.Copy("south"), err)
		}
	}
	unjudged()
	c.found(t, "north-1", catalog.Digest{})
	unjudged()
	c.found(t, "south-1", catalog.Digest{})
	if f.Copy("sums").Disputed {
		c.found(t, "sums-1", catalog.Digest{})
	} else {
		c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id("sums-1"), Copies: []catalog.CopyReport{{Name: "f", State: catalog.UploadCompleted, SHA256: digest("new")}}})
	}
	if f, err = c.view().File("f"); err != nil || !f.Complete() {
		t.Errorf("%+v, %v", f, err)
	}
	root, err := c.view().Root("north", catalog.FileName("f").Shard())
	if err != nil || root != files.RootOf("f", 1, digest("new")) {
		t.Errorf("the root is %v, %v", root, err)
	}
	if event := c.lastEvent(t, string(files.SetChecksum)); !strings.Contains(event.Detail, "was="+digest("f").String()+" sha256="+digest("new").String()+" reason=typing error") {
		t.Errorf("%+v", event)
	}
}

// lastEvent returns the last event of the act.
func (c *cluster) lastEvent(t *testing.T, act string) (out catalog.Event) {
	t.Helper()
	events, err := c.view().Trail(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Act == act {
			out = e
		}
	}
	return out
}

// TestSetCopyState puts copies back to owed, and never takes the last good one.
func TestSetCopyState(t *testing.T) {
	t.Parallel()
	release := func(t *testing.T, c *cluster) {
		c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{"f"}})
	}
	ask := files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "test"}
	for what, tt := range map[string]struct {
		before func(*testing.T, *cluster)
		change func(*files.CopySetting)
		code   catalog.Code
	}{
		"good":                  {release, nil, ""},
		"to failed":             {release, func(a *files.CopySetting) { a.State = catalog.UploadFailed }, ""},
		"a record":              {release, func(a *files.CopySetting) { a.Replica = "sums" }, ""},
		"to completed":          {release, func(a *files.CopySetting) { a.State = catalog.UploadCompleted }, catalog.Invalid},
		"to nonsense":           {release, func(a *files.CopySetting) { a.State = "GONE" }, catalog.Invalid},
		"with another SHA-256":  {release, func(a *files.CopySetting) { a.SHA256 = digest("g") }, catalog.Conflict},
		"of no replica":         {release, func(a *files.CopySetting) { a.Replica = "none" }, catalog.Conflict},
		"of no file":            {release, func(a *files.CopySetting) { a.Name = "g" }, catalog.NotFound},
		"of an earlier version": {release, func(a *files.CopySetting) { a.Version = 1 }, catalog.Conflict},
		"disputed":              {func(t *testing.T, c *cluster) { release(t, c); c.found(t, "south-1", digest("bad")) }, nil, ""},
		"disputed, and no other": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.found(t, "south-1", digest("bad"))
			c.found(t, "north-1", digest("bad"))
		}, nil, catalog.Unsafe},
		"the last good one":                     {func(t *testing.T, c *cluster) { release(t, c); c.found(t, "north-1", digest("bad")) }, nil, catalog.Unsafe},
		"the last good one, but for the source": {func(t *testing.T, c *cluster) { c.found(t, "north-1", digest("bad")) }, nil, ""},
		"while the others are in doubt": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
		}, nil, catalog.Unsafe},
		"while one other is compared": {func(t *testing.T, c *cluster) {
			release(t, c)
			c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
			c.must(t, catalog.ProveHolding, catalog.Proof{Node: id("north-1"), Epoch: 2})
		}, nil, ""},
	} {
		t.Run(what, func(t *testing.T) {
			c := challenged(t, files.LevelOfChallenges)
			tt.before(t, c)
			b := ask
			if tt.change != nil {
				tt.change(&b)
			}
			before := c.sum()
			r := c.apply(t, files.SetCopyState, b).Refusal
			if tt.code != "" {
				if r == nil || r.Code != tt.code || c.sum() != before {
					t.Errorf("%v", r)
				}
				return
			}
			f, err := c.view().File("f")
			got := f.Copy(b.Replica)
			if r != nil || err != nil || got == nil || got.State != b.State || got.Disputed || f.Copy("north").State != catalog.UploadCompleted {
				t.Fatalf("%v: %+v, %v", r, got, err)
			}
			if event := c.lastEvent(t, string(files.SetCopyState)); event.Subject != "f/"+string(b.Replica) || !strings.Contains(event.Detail, "was=UPLOAD_COMPLETED state="+string(b.State)) {
				t.Errorf("%+v", event)
			}
			if totals, err := c.view().Totals(b.Replica); err != nil || totals.Owed != 1 || totals.Good != 0 || totals.Disputed != 0 {
				t.Errorf("%+v, %v", totals, err)
			}
			// What is owed may be set again: only its tries begin again.
			if r := c.apply(t, files.SetCopyState, b).Refusal; r != nil {
				t.Error(r)
			}
		})
	}
}
