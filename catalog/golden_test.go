package catalog_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast/catalog"
)

// TestStoredBytes plays a fixed list of commands. The digest of every key and value it leaves, and of every answer, is
// that of level 1: a change of the stored form, or of a meaning, shows here and needs a new version of
// the value, or a level.
func TestStoredBytes(t *testing.T) {
	const (
		stored   = "63b3b09664c0968c2e046dfdd444bb486bf830771c1ea3b29018b84d329c1b0b"
		answered = "72e6e3f074a752ab2aab5ab1fa19c3abf0fde5e123eca9fb5920d48af05f9012"
	)
	c := emptyCluster(t)
	var answers []catalog.Result
	seq := uint64(0)
	say := func(node string, kind catalog.Kind, body any) {
		seq++
		answers = append(answers, c.send(t, catalog.Command{Kind: kind, Actor: `a "person"`, Node: id(node), Boot: 1 + seq/300, Seq: seq}, body))
	}
	for _, name := range []string{"south-1", "sums-1", "south-2"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	reasons := []string{"", "plain", `"quoted" <&> é`, "\u2028 \x00\xff \t", string(make([]byte, 600))}
	for i := range 200 {
		name := catalog.FileName(fmt.Sprintf("%d-1-20261120120000000-%05d-north-1.warc.gz", i%7, i))
		sum := digest(string(name))
		say("north-1", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{
			{Name: name, Size: int64(i) << 30, SHA256: sum, Collection: []catalog.CollectionName{"web", "radio", "none"}[i%3], Source: id("south-2"), Job: uint64(i % 4), Attempt: i % 2},
			{Name: `wrong "name"`, Size: 1, SHA256: sum, Collection: "web", Source: id("north-1")},
		}})
		for j, node := range []string{"north-1", "south-1", "sums-1"} {
			r := catalog.CopyReport{Name: name, State: catalog.UploadCompleted, SHA256: sum}
			if (i+j)%4 == 0 {
				r.State, r.Reason = catalog.UploadFailed, reasons[i%len(reasons)]
			}
			say(node, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{r, r}})
		}
		if i%5 == 0 {
			say("south-1", catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("x")}}})
			say("north-1", catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south", Bad: i%2 == 0, Votes: reasons[i%len(reasons)]}}})
		}
		say("south-2", catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{name, "<&>"}})
		if i%11 == 0 {
			say("sums-1", catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: sum, Reason: reasons[i%len(reasons)]})
		}
	}
	say("north-1", catalog.CreateJob, catalog.JobCreation{Harvest: "h <&>", Collection: "web", Submit: true, Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/?a&b"]}`)})
	say("south-2", catalog.ClaimJob, catalog.JobRef{ID: 1, Node: id("south-2")})
	for _, data := range c.log[len(c.log)-300:] { // retries
		res, err := catalog.Apply(c, c.index, data)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, res)
	}
	text, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.sum().String(); got != stored {
		t.Errorf("the stored state has the digest %s", got)
	}
	if got := digest(string(text)).String(); got != answered {
		t.Errorf("the answers have the digest %s", got)
	}
}
