package catalog_test

import (
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
)

// rebuilding returns an empty state of which a cluster with two members is being made again.
func rebuilding(t *testing.T, now catalog.Time) *cluster {
	t.Helper()
	c := &cluster{mem: new(mem), now: now}
	c.must(t, catalog.BeginRebuild, catalog.Rebuilding{
		Cluster:     catalog.Cluster{ID: "test", Name: "Test", Epoch: 3, Level: catalog.Level, Founded: 77},
		Collections: []catalog.Collection{{Name: "web", Created: 78}, {Name: "radio", Created: 79}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"},
			{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown"}, {Name: "sums", Kind: catalog.Checksum, Place: "Elsewhere"}},
		Members: []catalog.Member{member("north-1"), member("south-1")},
	})
	return c
}

// trailOf is the whole trail of a cluster.
func trailOf(t *testing.T, c *cluster) []catalog.Event {
	t.Helper()
	events, err := c.view().Trail(0, 10000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func recalled(name string, change func(*files.FileRecall)) files.FileRecall {
	f := files.FileRecall{Name: catalog.FileName(name), Size: 10, SHA256: digest(name), Collection: "web", Source: id("north-1"), Added: 500, Job: 7, Attempt: 2}
	if change != nil {
		change(&f)
	}
	return f
}

// A state that is made again has the dates, the removals, the jobs and the trail of before; no copy in it is believed;
// what is made of the entries is as if commands had made it; and what comes later follows.
func TestACatalogIsMadeAgain(t *testing.T) {
	old := archived(t)
	events := trailOf(t, old)
	c := rebuilding(t, old.now)
	c.must(t, agree.RecallTrail, agree.TrailRecall{Events: events[:2]})
	c.must(t, agree.RecallTrail, agree.TrailRecall{Events: events[2:]})
	c.must(t, files.RecallShards, catalog.Assignment{Replica: "north", Node: id("north-1"), Shards: []catalog.Shard{1, 2, catalog.FileName("a").Shard()}})
	c.must(t, files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{
		recalled("a", nil), recalled("kept", func(f *files.FileRecall) { f.Kept = true; f.Source = id("south-1") }),
		recalled("gone", func(f *files.FileRecall) { f.Removed, f.Reason, f.RemovedBy = 600, "wrong", "person:anna" }),
		recalled("hidden", func(f *files.FileRecall) { f.Hidden, f.Until, f.Reason = 600, 900, "wrong" }),
		recalled("lost", func(f *files.FileRecall) { f.Lost, f.LostWhy = 700, "fire" }),
		recalled("ledger-north-1.txt", nil),
	}})
	text := `{"name":"x","seeds":["http://a.test/"]}`
	part := jobs.Part{Kind: jobs.PartJob, Items: 1, Text: text, Domains: []string{"a.test"}}
	c.must(t, jobs.RecallPart, jobs.JobAddition{ID: 7, Number: 1, Part: part})
	job := catalog.Job{ID: 7, Harvest: "News", Number: 4, Run: 2, Collection: "web", Channel: "FOCUSED", State: catalog.JobDone, Attempt: 2, Node: "elsewhere",
		Created: 100, Submitted: 200, Started: 300, Ended: 400, Parts: &jobs.Parts{Count: 1, Template: "default@3"}}
	c.must(t, jobs.RecallJob, job)
	ledger := files.Ledger{Replica: "north", Serial: 9, Name: "ledger-north-1.txt", SHA256: digest("ledger-north-1.txt"), Node: "elsewhere",
		Time: 500, First: 3, Last: uint64(len(events))}
	c.must(t, files.RecallLedger, ledger)
	c.must(t, catalog.EndRebuild, catalog.Rebuilt{Jobs: 9, Harvests: 12, Summary: "from 2 folders"})
	sound(t, c)

	got := trailOf(t, c)
	if !reflect.DeepEqual(got[:len(events)], events) || len(got) != len(events)+1 || got[len(events)].Act != "rebuild.end" {
		t.Errorf("the trail: %+v", got)
	}
	v := c.view()
	f, err := v.File("a")
	if err != nil || f.Added != 500 || f.Job != 7 || f.Attempt != 2 || !f.Released || len(f.Copies) != 3 || f.Copies[0].State != catalog.UploadStarted {
		t.Errorf("%+v, %v", f, err)
	}
	for _, name := range []catalog.FileName{"a", "kept", "hidden"} {
		if f, err := v.File(name); err != nil || f.Complete() || f.Copies[1].Good() {
			t.Errorf("a copy of %s is believed: %+v, %v", name, f, err)
		}
	}
	if f, err := v.File("gone"); err != nil || f.Removed != 600 || f.RemovedBy != "person:anna" || len(f.Copies) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	kept := job
	kept.Parts = nil
	is, err := v.Job(7)
	parts := is.Parts
	is.Parts = nil
	if err != nil || !reflect.DeepEqual(is, kept) || parts.Seeds != 1 || parts.Template != "default@3" {
		t.Errorf("%+v %+v, %v", is, parts, err)
	}
	if spec, err := v.Spec(&catalog.Job{ID: 7, Parts: parts}); err != nil || len(spec.Seeds) != 1 {
		t.Errorf("%+v, %v", spec, err)
	}
	if m, err := v.Cluster(); err != nil || m.Founded != 77 || m.Epoch != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	// What comes later: a new epoch, in which nobody is believed; new numbers; the ledger behind the last one.
	c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 4})
	for _, node := range []string{"north-1", "south-1"} {
		if epoch, err := c.view().Unproved(id(node)); err != nil || epoch != 4 {
			t.Errorf("%s is believed: %d, %v", node, epoch, err)
		}
	}
	made := c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "by hand", Collection: "web", Spec: []byte(text)})
	if !strings.Contains(string(made.Value), `"id":200001`) {
		t.Errorf("a job after it: %s", made.Value)
	}
	c.must(t, files.RecordLedger, files.Ledger{Replica: "north", Serial: 10, Name: "ledger-north-1.txt", SHA256: digest("ledger-north-1.txt"),
		Node: id("north-1"), Time: 600, First: ledger.Last + 1, Last: ledger.Last})
	sound(t, c)
}

// What brings back is refused when no catalog is made again, and when it contradicts what is there.
func TestWhatIsNotBroughtBack(t *testing.T) {
	running := threeNodes(t, catalog.Level)
	events := trailOf(t, running)
	for kind, body := range map[catalog.Kind]any{
		agree.RecallTrail:    agree.TrailRecall{Events: events[:1]},
		files.RecallFiles:    files.FileRecalls{Files: []files.FileRecall{recalled("a", nil)}},
		files.RecallShards:   catalog.Assignment{Replica: "north", Node: id("north-1"), Shards: []catalog.Shard{1}},
		files.RecallLedger:   files.Ledger{Replica: "north", Serial: 1},
		jobs.RecallPart:      jobs.JobAddition{ID: 7, Number: 1, Part: jobs.Part{Kind: jobs.PartJob, Text: "x"}},
		jobs.RecallJob:       catalog.Job{ID: 7, Harvest: "x", Collection: "web", State: catalog.JobDone, Parts: &jobs.Parts{Count: 1}},
		catalog.EndRebuild:   catalog.Rebuilt{},
		catalog.BeginRebuild: catalog.Rebuilding{Cluster: catalog.Cluster{ID: "x", Level: catalog.Level}, Members: []catalog.Member{member("north-1")}},
	} {
		before := running.sum()
		if r := running.apply(t, kind, body); r.Refusal == nil || r.Refusal.Code != catalog.Conflict || running.sum() != before {
			t.Errorf("%s in a running cluster: %+v", kind, r.Refusal)
		}
	}
	altered := append([]catalog.Event{}, events...)
	altered[1].Subject = "other"
	job := catalog.Job{ID: 7, Harvest: "x", Collection: "web", State: catalog.JobDone, Parts: &jobs.Parts{Count: 1}}
	for name, try := range map[string]struct {
		kind catalog.Kind
		body any
		want string
	}{
		"a trail without its beginning": {agree.RecallTrail, agree.TrailRecall{Events: events[1:]}, "does not follow"},
		"an altered trail":              {agree.RecallTrail, agree.TrailRecall{Events: altered}, "does not match its hash"},
		"a file twice":                  {files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{recalled("a", nil), recalled("a", nil)}}, "is in the catalog"},
		"no collection":                 {files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{recalled("a", func(f *files.FileRecall) { f.Collection = "x" })}}, "no collection"},
		"no member":                     {files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{recalled("a", func(f *files.FileRecall) { f.Source = id("x") })}}, "no member"},
		"removed twice":                 {files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{recalled("a", func(f *files.FileRecall) { f.Removed, f.Hidden, f.Until = 1, 1, 2 })}}, "one of these"},
		"no end":                        {files.RecallFiles, files.FileRecalls{Files: []files.FileRecall{recalled("a", func(f *files.FileRecall) { f.Hidden = 1 })}}, "one of these"},
		"shards of another replica":     {files.RecallShards, catalog.Assignment{Replica: "south", Node: id("north-1"), Shards: []catalog.Shard{1}}, "is of replica north"},
		"a ledger without its head":     {files.RecallLedger, files.Ledger{Replica: "north", Serial: 1, Name: "l", SHA256: digest("l"), First: 1}, "no file"},
		"a ledger ahead of the trail":   {files.RecallLedger, files.Ledger{Replica: "north", Serial: 1, Name: "l", First: 1, Last: 5}, "does not follow"},
		"a job without its parts":       {jobs.RecallJob, job, "0 of 1 parts"},
		"a job that runs":               {jobs.RecallJob, catalog.Job{ID: 7, Harvest: "x", Collection: "web", State: catalog.JobStarted, Parts: job.Parts}, "have ended"},
		"a job with secrets":            {jobs.RecallJob, catalog.Job{ID: 7, Harvest: "x", Collection: "web", State: catalog.JobDone, Secret: "s", Parts: job.Parts}, "no secrets"},
		"a second part":                 {jobs.RecallPart, jobs.JobAddition{ID: 7, Number: 2, Part: jobs.Part{Kind: jobs.PartJob, Text: "x"}}, "no part 1"},
	} {
		c := rebuilding(t, 10000)
		before := c.sum()
		if r := c.apply(t, try.kind, try.body); r.Refusal == nil || !strings.Contains(r.Refusal.Message, try.want) || c.sum() != before {
			t.Errorf("%s: %+v", name, r.Refusal)
		}
	}
}
