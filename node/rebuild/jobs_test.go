package rebuild

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// document writes a metadata file of attempt 1 of job 7, as a node does, and returns its bytes.
func document(t *testing.T, harvest, reason string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "7-metadata-1.warc.gz")
	f, err := warc.NewFile(disk.New(), path, warc.FilesConfig{Format: warc.Format{Version: "1.0"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	job := catalog.Job{ID: 7, Attempt: 1, Harvest: harvest, Collection: "art", Channel: "FOCUSED", State: catalog.JobSubmitted, Created: 100, Submitted: 200,
		Number: 3, Run: 2, Parts: &jobs.Parts{Of: 7, Count: 1, Template: "default@2"}}
	for name, v := range map[string]any{"attempt.json": job,
		"outcome.json": map[string]any{"id": 7, "attempt": 1, "failed": reason != "", "harvestError": map[string]string{"short": reason}, "stats": map[string]int{"objects": 5}, "started": 300},
		"job.json":     map[string]any{"name": harvest, "seeds": []string{"http://a.test/"}}, "harvest.json": "not read"} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(warc.Draft{Type: warc.TypeResource, TargetURI: "metadata://x/crawl/setup/" + name + "?heritrixVersion=Holdfast&harvestid=3&jobid=7",
			ContentType: "application/json", Block: strings.NewReader(string(text)), Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Jobs come back from their metadata files: where copies tell them differently, most count; a damaged one counts for
// nothing; and the files of the job are its own.
func TestJobsComeBack(t *testing.T) {
	const name = "7-metadata-1.warc.gz"
	w := newWorld(t, "north-1", "south-1", "sums-1")
	w.cfg.DomainOf = func(string) string { return "a.test" }
	right := document(t, "News", "no room")
	w.put("north-1", name, right)
	w.put("south-1", name, document(t, "Olds", ""))
	w.checksum("sums-1", name, right)
	w.put("north-1", "7-3-20261126132408136-00000-north-1.warc.gz", "x")
	w.put("south-1", "7-3-20261126132408136-00000-north-1.warc.gz", "x")
	w.put("south-1", "8-3-20261126132408136-00000-north-1.warc.gz", "y")
	if err := os.MkdirAll(filepath.Join(w.dir("south-1"), "outbox"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.dir("south-1"), "outbox", name), right) // a third copy
	s := w.look()
	r := s.Report()
	says(t, r, name, "tell the job differently")
	if r.Jobs != 1 || r.Unended != 0 {
		t.Errorf("%+v", r)
	}
	_, v := w.made(s, member("north-1"))
	j, err := v.Job(7)
	if err != nil || j.Harvest != "News" || j.State != catalog.JobFailed || j.HarvestError == nil || j.Started != 300 || j.Stats.Objects != 5 ||
		j.Stats.Files != 2 || j.Number != 3 || j.Parts.Template != "default@2" || j.Ended == 0 {
		t.Errorf("%+v, %v", j, err)
	}
	if spec, err := v.Spec(&j); err != nil || len(spec.Seeds) != 1 {
		t.Errorf("%+v, %v", spec, err)
	}
	f, err := v.File("7-3-20261126132408136-00000-north-1.warc.gz")
	if err != nil || f.Job != 7 || f.Attempt != 1 || f.Collection != "art" {
		t.Errorf("%+v, %v", f, err)
	}
	// Damaged everywhere, it is named, and no job of that number comes back or is given again.
	for _, path := range []string{w.path("north-1", name), w.path("south-1", name), filepath.Join(w.dir("south-1"), "outbox", name)} {
		w.write(path, right[:len(right)/3])
	}
	r = w.look().Report()
	says(t, r, name, "no job can be read from it")
	if r.Jobs != 0 || r.UnknownJobs != 2 || r.Whole() {
		t.Errorf("%+v", r)
	}
}
