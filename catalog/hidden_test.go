package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

const dayLong = catalog.Time(24 * 60 * 60 * 1000)

// completeFile adds a file to a cluster of threeNodes, which is complete and released.
func completeFile(t testing.TB, c *cluster, name catalog.FileName) {
	t.Helper()
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 7,
		SHA256: digest(string(name)), Collection: "web", Source: id("north-1")}}})
	for _, node := range []string{"north-1", "south-1", "sums-1"} {
		c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name,
			State: catalog.UploadCompleted, SHA256: digest(string(name))}}})
	}
	c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("north-1"), Files: []catalog.FileName{name}})
}

func refused(t testing.TB, res catalog.Result, want string) {
	t.Helper()
	r := refusal(res)
	if r == nil || !strings.Contains(r.Message, want) {
		t.Errorf("refusal %v, want %q", r, want)
	}
}

func entryOf(t testing.TB, c *cluster, name catalog.FileName) catalog.File {
	t.Helper()
	f, err := c.view().File(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// soundFiles fails unless the lists follow from the entries.
func soundFiles(t testing.TB, c *cluster) {
	t.Helper()
	_, err := files.NewView(c).Check(func() error { return nil }, func(key, what string) { t.Errorf("%s %s", key, what) })
	if err != nil {
		t.Fatal(err)
	}
}

func removal(name catalog.FileName) catalog.FileRemoval {
	return catalog.FileRemoval{Name: name, SHA256: digest(string(name)), Reason: "asked for"}
}

func restoration(name catalog.FileName) files.Restoration {
	return files.Restoration{Name: name, SHA256: digest(string(name)), Reason: "a mistake"}
}

// TestARemovedFileIsKeptUntilItsTimeIsOver hides a file: its copies count and are owed as before, it is restored as it
// was, and its release begins only when the time is over by the catalog's clock and by the leader's.
func TestARemovedFileIsKeptUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	completeFile(t, c, "f1")
	completeFile(t, c, "f2")
	before, totals := entryOf(t, c, "f1"), func() catalog.Totals { n, _ := c.view().Totals("north"); return n }
	counted := totals()
	c.must(t, catalog.RemoveFile, removal("f1"))
	f := entryOf(t, c, "f1")
	if f.Removed != 0 || f.RemovedAt() == 0 || f.Until-f.Hidden != 30*dayLong || f.RemovedBy == "" || !f.Complete() {
		t.Fatalf("hidden: %+v", f)
	}
	if totals() != counted || len(f.Copies) != 3 {
		t.Errorf("%+v are counted, %+v before", totals(), counted)
	}
	if due, _ := c.view().Releases(id("south-1"), "", 0); len(due) != 0 {
		t.Errorf("releases are due: %v", due)
	}
	refused(t, c.apply(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-1"), Files: []catalog.FileName{"f1"}}),
		"is to hold")
	c.must(t, catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{{Name: "f1", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
	c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: "f1", Replica: "south", Bad: true}}})
	if owed, _, _ := c.view().Owed("south", nil, catalog.Cursor{}, 10); len(owed) != 1 {
		t.Errorf("a bad copy of a hidden file is not owed: %v", owed)
	}
	c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id("south-1"), Copies: []catalog.CopyReport{{Name: "f1",
		State: catalog.UploadCompleted, SHA256: digest("f1")}}})
	refused(t, c.apply(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f1", Size: 7,
		SHA256: digest("f1"), Collection: "web", Source: id("south-1"), By: "person:p1"}}}), "restore it")
	c.must(t, catalog.RemoveFile, removal("f1")) // again changes nothing
	if again := entryOf(t, c, "f1"); again.Until != f.Until {
		t.Errorf("removed twice: until %d, then %d", f.Until, again.Until)
	}
	soundFiles(t, c)
	wrong := restoration("f1")
	wrong.SHA256 = digest("other")
	refused(t, c.apply(t, files.RestoreFile, wrong), "has SHA-256")
	refused(t, c.apply(t, files.RestoreFile, restoration("f2")), "is not removed")
	c.must(t, files.RestoreFile, restoration("f1"))
	if f := entryOf(t, c, "f1"); f.RemovedAt() != 0 || f.Reason != before.Reason || f.RemovedBy != "" || !f.Complete() {
		t.Errorf("restored: %+v, before %+v", f, before)
	}
	if all, _ := files.RemovalsIn(c).Hidden("", 0); len(all) > 0 {
		t.Error("a file is hidden still")
	}
	soundFiles(t, c)

	c.must(t, catalog.RemoveFile, removal("f1"))
	until := entryOf(t, c, "f1").Until
	expire := files.Expiry{Files: []catalog.FileName{"f1"}}
	refused(t, c.apply(t, files.ExpireFiles, expire), "can be restored until")
	c.now = until - 2000
	refused(t, c.apply(t, files.ExpireFiles, expire), "can be restored until")
	c.now = until + 1000 // the clock of one leader is wrong, and puts the catalog's ahead
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f3", Size: 1, SHA256: digest("f3"),
		Collection: "web", Source: id("north-1")}}})
	c.now = until - 20*dayLong
	refused(t, c.apply(t, files.ExpireFiles, expire), "can be restored until")
	if due, _ := files.RemovalsIn(c).Expired(until-1, 10); len(due) != 0 {
		t.Errorf("due too early: %v", due)
	}
	if due, _ := files.RemovalsIn(c).Expired(until, 10); len(due) != 1 || due[0] != "f1" {
		t.Errorf("due: %v", due)
	}
	c.now = until + 2000
	hidden := entryOf(t, c, "f1").Hidden
	c.must(t, files.ExpireFiles, expire)
	f = entryOf(t, c, "f1")
	if f.Removed != hidden || f.Hidden != 0 || f.Until != 0 || f.RemovedBy == "" {
		t.Errorf("released: %+v", f)
	}
	for _, node := range []string{"north-1", "south-1", "sums-1"} {
		if due, _ := c.view().Releases(id(node), "", 0); len(due) != 1 {
			t.Errorf("%s is to release %v", node, due)
		}
	}
	refused(t, c.apply(t, files.RestoreFile, restoration("f1")), "release of its bytes has begun")
	refused(t, c.apply(t, files.ExpireFiles, expire), "does not wait")
	soundFiles(t, c)
}

// TestRemovalDays: with 0 days, and below the level, a removal is what it was; the rule changes nothing that waits.
func TestRemovalDays(t *testing.T) {
	t.Parallel()
	old := threeNodes(t, files.LevelOfHidden-1)
	completeFile(t, old, "f1")
	old.must(t, catalog.RemoveFile, removal("f1"))
	if f := entryOf(t, old, "f1"); f.Removed == 0 || f.Hidden != 0 || f.RemovedBy != "" {
		t.Errorf("below the level: %+v", f)
	}
	for kind, body := range map[catalog.Kind]any{files.RestoreFile: restoration("f1"), files.ExpireFiles: files.Expiry{
		Files: []catalog.FileName{"f1"}}, files.SetRemovals: files.RemovalSetting{Days: 1}, files.NoteAudit: files.AuditNote{ID: "x"}} {
		if r := old.apply(t, kind, body).Refusal; r == nil || r.Code != catalog.Unsupported {
			t.Errorf("%s below its level: %v", kind, r)
		}
	}
	by := catalog.Addition{Name: "f9", Size: 7, SHA256: digest("f9"), Collection: "web", Source: id("north-1"), By: "person:p1"}
	refused(t, old.apply(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{by}}), `unknown field "by"`)

	c := threeNodes(t, files.LevelOfHidden)
	completeFile(t, c, "f1")
	completeFile(t, c, "f2")
	c.must(t, catalog.RemoveFile, removal("f1"))
	refused(t, c.apply(t, files.SetRemovals, files.RemovalSetting{Days: -1}), "want 0 to")
	refused(t, c.apply(t, files.SetRemovals, files.RemovalSetting{Days: 5, Version: 3}), "is version 0 now")
	c.must(t, files.SetRemovals, files.RemovalSetting{Days: 0, Reason: "by law"})
	c.must(t, catalog.RemoveFile, removal("f2"))
	if f := entryOf(t, c, "f1"); f.Until-f.Hidden != 30*dayLong {
		t.Errorf("removed before: %+v", f)
	}
	if f := entryOf(t, c, "f2"); f.Removed == 0 || f.Hidden != 0 || f.RemovedBy == "" {
		t.Errorf("at once: %+v", f)
	}
	if rule, err := files.RemovalsIn(c).Rule(); err != nil || rule.Days != 0 || rule.Version != 1 {
		t.Errorf("%+v, %v", rule, err)
	}
	soundFiles(t, c)
}

// TestPutsOfPeopleAreInTheTrail, those of nodes are not, and a name is of a person or a program.
func TestPutsOfPeopleAreInTheTrail(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	add := func(name catalog.FileName, by string) catalog.Result {
		return c.apply(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 7,
			SHA256: digest(string(name)), Collection: "web", Source: id("north-1"), By: by}}})
	}
	for _, by := range []string{"", "person:p1", "person:p1", "program:x", "local:" + string(id("north-1"))} {
		if r := refusal(add(catalog.FileName("f"+strings.ReplaceAll(by, ":", "-")), by)); r != nil {
			t.Fatal(r)
		}
	}
	refused(t, add("f5", "nobody"), "no person and no program")
	c.must(t, files.NoteAudit, files.AuditNote{ID: "a1", Kind: "checksum", Replica: "north", Scope: "all files", Reason: "a doubt"})
	refused(t, c.apply(t, files.NoteAudit, files.AuditNote{ID: "a1", Replica: "none"}), "no replica")
	events, err := c.view().Trail(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var puts, audits []string
	for _, e := range events {
		switch e.Act {
		case "file.put":
			puts = append(puts, e.Actor+" "+e.Subject+" "+e.Detail)
		case "audit.start":
			audits = append(audits, e.Subject+" "+e.Detail)
		}
	}
	if len(puts) != 3 || !strings.HasPrefix(puts[0], "person:p1 fperson-p1 ") || !strings.Contains(puts[0], "size=7") ||
		!strings.Contains(puts[0], "collection=web") {
		t.Errorf("puts: %q", puts)
	}
	if len(audits) != 1 || audits[0] != "a1 kind=checksum replica=north scope=all files reason=a doubt" {
		t.Errorf("audits: %q", audits)
	}
}
