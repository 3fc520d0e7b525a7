package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"

	"pgregory.net/rapid"
)

// aloneAt is a cluster of one member at the level.
func aloneAt(t interface{ Fatalf(string, ...any) }, level int) *cluster {
	c := emptyCluster(t)
	c.raiseTo(t, level)
	return c
}

func opened(t *testing.T, c *cluster, b jobs.JobOpening) uint64 {
	t.Helper()
	if b.Harvest == "" {
		b.Harvest, b.Collection = "daily", "web"
	}
	var j jobs.Job
	if err := json.Unmarshal(c.must(t, jobs.OpenJob, b).Value, &j); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

// divided is a job with the given number of seeds, as parts.
func divided(t *testing.T, n int) (seeds []string, parts []jobs.Part, sum catalog.Digest) {
	t.Helper()
	for i := range n {
		seeds = append(seeds, fmt.Sprintf("http://www.example%d.org/<&>?a=%q", i, "é"))
	}
	text, err := json.Marshal(map[string]any{"name": "j", "seeds": seeds})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := catalog.View{}.Spec(&catalog.Job{Spec: text})
	if err != nil {
		t.Fatal(err)
	}
	if parts, err = jobs.Divide(spec); err != nil {
		t.Fatal(err)
	}
	if sum, err = jobs.SumOf(parts); err != nil {
		t.Fatal(err)
	}
	return seeds, parts, sum
}

func refusedAs(t *testing.T, res catalog.Result, code catalog.Code, what string) {
	t.Helper()
	if res.Refusal == nil || res.Refusal.Code != code {
		t.Errorf("%s: %+v, want %s", what, res.Refusal, code)
	}
}

// A job is opened, gets its parts in their order, and is whole when it is closed. Whatever comes again or too late
// changes nothing.
func TestAJobIsMadeOfParts(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	seeds, parts, sum := divided(t, 8000)
	if len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	job := opened(t, c, jobs.JobOpening{})
	add := func(n int, p jobs.Part) catalog.Result {
		return c.apply(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: n, Part: p})
	}
	refusedAs(t, add(2, parts[0]), catalog.Conflict, "a part before the first")
	refusedAs(t, add(0, parts[0]), catalog.Conflict, "part 0")
	refusedAs(t, add(1, jobs.Part{Kind: jobs.PartConfigurations, Items: 501, Text: "x"}), catalog.Invalid, "501 configurations")
	refusedAs(t, add(1, jobs.Part{Kind: jobs.PartSeeds, Text: strings.Repeat("x", jobs.MaxPartBytes+1)}), catalog.Invalid, "a long part")
	refusedAs(t, c.apply(t, jobs.CloseJob, jobs.JobClosing{ID: job}), catalog.Conflict, "closed without parts")
	for i, p := range parts {
		if res := add(i+1, p); res.Refusal != nil {
			t.Fatal(res.Refusal)
		}
		if res := add(i+1, p); res.Refusal != nil {
			t.Errorf("part %d again: %v", i+1, res.Refusal)
		}
		p.Text += " "
		refusedAs(t, add(i+1, p), catalog.Conflict, "another part with a number that is taken")
	}
	refusedAs(t, add(len(parts)+1, jobs.Part{Kind: jobs.PartJob, Text: "x"}), catalog.Invalid, "text of the job behind seeds")
	if _, err := c.view().Job(job); err == nil {
		t.Error("a job that is not whole is among the jobs")
	}
	refusedAs(t, c.apply(t, catalog.SubmitJob, catalog.JobRef{ID: job}), catalog.NotFound, "submitted before it is whole")
	refusedAs(t, c.apply(t, catalog.ClaimJob, catalog.JobRef{ID: job, Node: id("north-1")}), catalog.NotFound, "claimed before it is whole")
	refusedAs(t, c.apply(t, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "web"}), catalog.Conflict, "its collection goes")
	closing := jobs.JobClosing{ID: job, Parts: len(parts), Sum: sum}
	wrong := closing
	wrong.Parts--
	refusedAs(t, c.apply(t, jobs.CloseJob, wrong), catalog.Conflict, "closed with fewer parts")
	wrong = closing
	wrong.Sum = digest("x")
	refusedAs(t, c.apply(t, jobs.CloseJob, wrong), catalog.Conflict, "closed with other parts")
	c.must(t, jobs.CloseJob, closing)
	c.must(t, jobs.CloseJob, closing) // again
	refusedAs(t, c.apply(t, jobs.CloseJob, wrong), catalog.Conflict, "closed again with other parts")
	refusedAs(t, add(len(parts)+1, parts[len(parts)-1]), catalog.NotFound, "a part after the end")
	refusedAs(t, c.apply(t, jobs.DropJob, catalog.JobRef{ID: job}), catalog.NotFound, "a whole job is dropped")
	j, err := c.view().Job(job)
	if err != nil || j.State != catalog.JobNew || j.Parts.Seeds != 8000 {
		t.Fatalf("%+v %v", j, err)
	}
	got, err := c.view().Spec(&j)
	if err != nil || !slices.Equal(got.Seeds, seeds) || got.Name != "j" {
		t.Errorf("%d seeds of %d: %v", len(got.Seeds), len(seeds), err)
	}
	listed(t, c)
}

// A job with 10 000 configurations and very many seeds goes through entries of bounded size, and what happens to it later
// writes little.
func TestALargeJobIsSmallToTheLog(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	_, parts, _ := divided(t, 1)
	for range 20 {
		var all []jobs.Configuration
		for i := range jobs.MaxPartItems {
			all = append(all, jobs.Configuration{Domain: fmt.Sprintf("example%d.org", i), Name: "defaultconfig", Seeds: []string{fmt.Sprintf("http://www.example%d.org/", i)}})
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, jobs.Part{Kind: jobs.PartConfigurations, Items: len(all), Text: string(text)})
	}
	seeds := strings.Repeat(`"http://www.example.org/page",`, 4000)
	for range 200 { // 24 MB of seeds
		parts = append(parts, jobs.Part{Kind: jobs.PartSeeds, Items: 4001, Text: "[" + seeds + `"http://www.example.org/"]`})
	}
	job := opened(t, c, jobs.JobOpening{Channel: jobs.Snapshot})
	for i, p := range parts {
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: i + 1, Part: p})
		if n := len(c.log[len(c.log)-1]); n > catalog.MaxBytes {
			t.Fatalf("an entry of %d bytes", n)
		}
	}
	sum, err := jobs.SumOf(parts)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: len(parts), Sum: sum, Submit: true})
	for _, act := range []struct {
		kind catalog.Kind
		body any
	}{
		{catalog.ClaimJob, catalog.JobRef{ID: job, Node: id("north-1")}},
		{catalog.StartJob, catalog.JobRef{ID: job, Node: id("north-1"), Attempt: 1}},
		{catalog.FinishJob, catalog.JobEnd{ID: job, Node: id("north-1"), Attempt: 1, Failed: true, HarvestError: &jobs.Fault{Short: "disk full"}}},
		{catalog.ResubmitJob, catalog.JobRef{ID: job}},
	} {
		c.must(t, act.kind, act.body)
		if c.written > 20 || c.bytes > 5000 {
			t.Errorf("%s writes %d keys and %d bytes", act.kind, c.written, c.bytes)
		}
	}
	again, err := c.view().Job(job + 1)
	if err != nil || again.Parts.Of != job || again.Parts.Configurations != 10_000 {
		t.Fatalf("%+v %v", again.Parts, err)
	}
	spec, err := c.view().Spec(&again)
	if err != nil || len(spec.Seeds) != 1+10_000+200*4001 {
		t.Errorf("%d seeds, %v", len(spec.Seeds), err)
	}
	if d := spec.Domains; d == nil || len(d.Configurations) != 10_000 || len(d.Configurations[9999].Seeds) != 1 {
		t.Errorf("the table of domains is %+v", d)
	}
	c.put("jobpart/"+fmt.Sprintf("%016x/%08x", job, 7), "\x01{\"kind\":\"seeds\"}\n[]")
	if _, err := c.view().Spec(&again); err == nil {
		t.Error("a job with another part in the place of one of its own is put together")
	}
	if err := c.Delete([]byte("jobpart/" + fmt.Sprintf("%016x/%08x", job, 7))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.view().Spec(&again); err == nil {
		t.Error("a job without one of its parts is put together")
	}
}

// Two leaders that split the same run: each job of the run is opened by one of them, after the one before is whole or
// dropped.
func TestTheJobsOfARunAreOpenedOneAfterTheOther(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	_, parts, sum := divided(t, 1)
	of := func(after uint64) jobs.JobOpening {
		return jobs.JobOpening{Harvest: "h", Collection: "web", Number: 7, Run: 2, After: after}
	}
	first := opened(t, c, of(0))
	refusedAs(t, c.apply(t, jobs.OpenJob, of(0)), catalog.Conflict, "the other leader opens the first, too")
	refusedAs(t, c.apply(t, jobs.OpenJob, of(first)), catalog.Conflict, "the second before the first is whole")
	c.must(t, jobs.AddPart, jobs.JobAddition{ID: first, Number: 1, Part: parts[0]})
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: first, Parts: 1, Sum: sum})
	refusedAs(t, c.apply(t, jobs.OpenJob, of(0)), catalog.Conflict, "as if there were none")
	second := opened(t, c, of(first))
	for n := range 1200 {
		p := parts[0]
		if n > 0 {
			p = jobs.Part{Kind: jobs.PartSeeds, Items: 1, Text: `["http://example.org/"]`}
		}
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: second, Number: n + 1, Part: p})
	}
	for _, left := range []string{"700", "200", "0"} {
		if res := c.must(t, jobs.DropJob, catalog.JobRef{ID: second}); string(res.Value) != left {
			t.Errorf("%s parts are left, want %s", res.Value, left)
		}
		if left == "200" {
			refusedAs(t, c.apply(t, jobs.AddPart, jobs.JobAddition{ID: second, Number: 201, Part: parts[0]}), catalog.Conflict, "a part for a job that is being dropped")
			refusedAs(t, c.apply(t, jobs.CloseJob, jobs.JobClosing{ID: second, Parts: 200}), catalog.Conflict, "closed while it is dropped")
		}
	}
	refusedAs(t, c.apply(t, jobs.DropJob, catalog.JobRef{ID: second}), catalog.NotFound, "dropped again")
	for key := range c.All() {
		if strings.HasPrefix(key, fmt.Sprintf("jobpart/%016x/", second)) || strings.HasPrefix(key, "jobopen/") {
			t.Errorf("%s is left", key)
		}
	}
	opened(t, c, of(second))
	if made, err := c.view().JobsOfRun(7, 2, 0, 0); err != nil || len(made) != 1 || made[0].ID != first {
		t.Errorf("%+v %v", made, err)
	}
	refusedAs(t, c.apply(t, jobs.OpenJob, jobs.JobOpening{Harvest: "h", Collection: "web", Run: 2}), catalog.Invalid, "a run of no harvest")
	listed(t, c)
}

// From level 4 on, the text of a job is not read: settings that this program does not know are kept as they are.
func TestTheTextOfAJobIsNotRead(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	const text = `{"name":"j","seeds":["http://example.org/"],"settings":{"of_a_later_program":1}}`
	c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true, Seeds: 1, Spec: json.RawMessage(text)})
	j, err := c.view().Job(1)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.view().Part(&j, 1); err != nil || p.Text != text {
		t.Errorf("%q %v", p.Text, err)
	}
	if _, err := c.view().Spec(&j); err == nil {
		t.Error("a job with an unknown setting is crawled")
	}
	old := aloneAt(t, 3)
	refusedAs(t, old.apply(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Spec: json.RawMessage(text)}), catalog.Invalid, "at level 3")
	refusedAs(t, old.apply(t, jobs.OpenJob, jobs.JobOpening{Harvest: "h", Collection: "web"}), catalog.Unsupported, "parts at level 3")
}

// listed fails unless the lists of jobs say what the jobs themselves say.
func listed(t interface{ Fatalf(string, ...any) }, c *cluster) {
	all, err := c.view().Jobs("", 0, 0)
	if err != nil {
		t.Fatalf("%v", err)
	}
	want, counts := map[string]bool{}, map[catalog.JobState]int{}
	for _, j := range all {
		counts[j.State]++
		if j.Parts == nil {
			continue
		}
		if j.Spec != nil {
			t.Fatalf("job %d has parts and a spec", j.ID)
		}
		want[fmt.Sprintf("jobharvest/%016x/%016x/%016x", j.Number, j.Run, j.ID)] = true
		busy := j.State == catalog.JobSubmitted || j.State == catalog.JobStarted
		if busy && j.Node != "" {
			want[fmt.Sprintf("jobnode/%s/%016x", j.Node, j.ID)] = true
		}
		channel := j.Channel
		if channel != "" && jobs.CheckChannel(channel) != nil {
			channel = "-"
		}
		if j.State == catalog.JobNew && j.Number != 0 && j.Wish == catalog.WishRun {
			want[fmt.Sprintf("jobnew/%s/%016x", channel, j.ID)] = true
		}
		if j.State == catalog.JobSubmitted && j.Node == "" && j.Wish == catalog.WishRun {
			want[fmt.Sprintf("jobwait/%s/%016x", channel, j.ID)] = true
		}
	}
	for key := range c.All() {
		for _, of := range []string{"jobharvest/", "jobnode/", "jobwait/", "jobnew/"} {
			if strings.HasPrefix(key, of) && !want[key] {
				t.Fatalf("%s is listed", key)
			}
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Fatalf("not listed: %v", want)
	}
	got, err := c.view().Counts()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(counts) {
		t.Fatalf("counted %v (%v), there are %v", got, err, counts)
	}
}

// TestJobsOfBothForms plays acts on jobs over a walk from level 3 to level 4: whatever happens meanwhile, the answers to
// what is asked of jobs are those that the jobs give, and members that apply the same agree.
func TestJobsOfBothForms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := aloneAt(rt, 3)
		c.join3(rt, "south-1")
		d := jobsDrawn{rt, c}
		for range rapid.IntRange(0, 15).Draw(rt, "before") {
			d.act()
		}
		for _, m := range []string{"north-1", "south-1"} {
			c.must(rt, catalog.UpdateMember, map[string]any{"id": id(m), "level": 4})
		}
		c.must(rt, catalog.RaiseLevel, catalog.LevelChange{Level: 4})
		for range rapid.IntRange(1, 25).Draw(rt, "after") {
			if rapid.IntRange(0, 5).Draw(rt, "walks") == 0 {
				d.walk()
			} else {
				d.act()
			}
			listed(rt, c)
			d.answers()
		}
		for d.walk() {
			d.answers()
		}
		listed(rt, c)
		all, err := c.view().Jobs("", 0, 0)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range all {
			if all[i].Parts == nil {
				rt.Fatalf("job %d has no parts after the walk", all[i].ID)
			}
			if spec, err := c.view().Spec(&all[i]); err != nil || spec.Name != "j" {
				rt.Fatalf("job %d: %v", all[i].ID, err)
			}
		}
		again := new(mem)
		for i, data := range c.log {
			if _, err := catalog.Apply(again, uint64(i+1), data); err != nil {
				rt.Fatal(err)
			}
		}
		if again.sum() != c.sum() {
			rt.Fatalf("the same commands give another state")
		}
	})
}

func (c *cluster) join3(t interface{ Fatalf(string, ...any) }, name string) {
	m := member(name)
	m.Level = 3
	c.must(t, catalog.CreateToken, catalog.JoinToken{ID: name, SecretHash: digest("secret"), Replica: m.Replica, Expires: c.now + 1e6})
	c.must(t, catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("secret"), Member: m})
}

type jobsDrawn struct {
	*rapid.T
	c *cluster
}

func (d jobsDrawn) act() {
	ref := catalog.JobRef{ID: uint64(rapid.IntRange(1, 8).Draw(d.T, "job")), Attempt: rapid.IntRange(1, 2).Draw(d.T, "attempt"),
		Node: id(rapid.SampledFrom([]string{"north-1", "south-1"}).Draw(d.T, "node"))}
	switch kind := rapid.SampledFrom([]catalog.Kind{catalog.CreateJob, catalog.CreateJob, catalog.SubmitJob, catalog.ClaimJob, catalog.ClaimJob,
		catalog.StartJob, catalog.FinishJob, catalog.LoseJob, catalog.WishJob, catalog.ResubmitJob, catalog.RejectJob}).Draw(d.T, "kind"); kind {
	case catalog.CreateJob:
		seeds := strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 100_000, 300_000}).Draw(d.T, "size"))
		d.c.must(d.T, kind, map[string]any{"harvest": "h", "collection": "web", "submit": rapid.Bool().Draw(d.T, "submit"),
			"channel": rapid.SampledFrom([]string{"", "FOCUSED"}).Draw(d.T, "channel"),
			"spec":    json.RawMessage(`{"name":"j","seeds":["http://example.org/` + seeds + `"]}`)})
	case catalog.FinishJob, catalog.LoseJob:
		d.c.apply(d.T, kind, map[string]any{"id": ref.ID, "node": ref.Node, "attempt": ref.Attempt, "stats": catalog.JobStats{},
			"failed": kind == catalog.FinishJob && rapid.Bool().Draw(d.T, "failed"), "reason": rapid.SampledFrom([]string{"", "full"}).Draw(d.T, "reason")})
	case catalog.WishJob:
		d.c.apply(d.T, kind, catalog.JobWishing{ID: ref.ID, Wish: rapid.SampledFrom([]catalog.JobWish{catalog.WishRun, catalog.WishPause, catalog.WishStop}).Draw(d.T, "wish")})
	default:
		d.c.apply(d.T, kind, ref)
	}
}

// walk takes the walk one step on, and asks for the same step again, which is refused. It returns false at the end.
func (d jobsDrawn) walk() bool {
	w, err := d.c.view().Walk()
	if err != nil || w.Done != 0 {
		return false
	}
	step := jobs.WalkStep{After: w.After, Piece: w.Piece}
	d.c.must(d.T, jobs.WalkJobs, step)
	if res := d.c.apply(d.T, jobs.WalkJobs, step); res.Refusal == nil {
		now, _ := d.c.view().Walk()
		if now.After == step.After && now.Piece == step.Piece {
			d.Fatalf("a step was taken twice: %+v", now)
		}
		d.Fatalf("the step %+v is taken again", step)
	}
	return true
}

// answers compares what is asked of jobs by key with what the jobs say.
func (d jobsDrawn) answers() {
	v := d.c.view()
	all, err := v.Jobs("", 0, 0)
	if err != nil {
		d.Fatal(err)
	}
	want := map[string][]uint64{}
	nodes := map[catalog.NodeID]bool{}
	for _, j := range all {
		busy := j.State == catalog.JobSubmitted || j.State == catalog.JobStarted
		if busy && j.Node != "" {
			want["node "+string(j.Node)] = append(want["node "+string(j.Node)], j.ID)
			nodes[j.Node] = true
		}
		if j.State == catalog.JobSubmitted && j.Node == "" && j.Wish == catalog.WishRun {
			want["channel "+j.Channel] = append(want["channel "+j.Channel], j.ID)
		}
	}
	check := func(what string, got []catalog.Job, err error) {
		var ids []uint64
		for _, j := range got {
			ids = append(ids, j.ID)
		}
		if err != nil || !slices.Equal(ids, want[what]) {
			d.Fatalf("%s: %v (%v), want %v", what, ids, err, want[what])
		}
	}
	for _, node := range []catalog.NodeID{id("north-1"), id("south-1")} {
		got, err := v.RunningOn(node)
		check("node "+string(node), got, err)
	}
	for _, channel := range []string{"", "FOCUSED"} {
		got, err := v.Waiting(channel, 0, 0, nil)
		check("channel "+channel, got, err)
		if len(want["channel "+channel]) > 2 {
			want["channel "+channel] = want["channel "+channel][:2]
			got, err := v.Waiting(channel, 0, 2, nil)
			check("channel "+channel, got, err)
		}
	}
	for _, q := range []jobs.Search{{}, {State: catalog.JobSubmitted}, {Channel: "FOCUSED"},
		{State: catalog.JobFailed, Channel: "FOCUSED", Harvest: new(uint64)}} {
		var found []uint64
		for _, j := range slices.Backward(all) {
			if (q.State == "" || j.State == q.State) && (q.Channel == "" || j.Channel == q.Channel) {
				found = append(found, j.ID)
			}
		}
		what := fmt.Sprintf("%+v", q)
		want[what] = found
		page, err := v.Search(q, 0, 1000)
		check(what, page.Jobs, err)
	}
	running, err := v.RunningNodes()
	if err != nil || len(running) != len(nodes) {
		d.Fatalf("%v %v, want %v", running, err, nodes)
	}
}

// TestAJobThatIsDoneHasNoError tries to end a crawl as done and with an error at once.
func TestAJobThatIsDoneHasNoError(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	_, parts, sum := divided(t, 3)
	job := opened(t, c, jobs.JobOpening{})
	for i, p := range parts {
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: i + 1, Part: p})
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: len(parts), Sum: sum, Submit: true})
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: job, Node: id("north-1")})
	c.must(t, catalog.StartJob, catalog.JobRef{ID: job, Node: id("north-1"), Attempt: 1})
	for _, end := range []catalog.JobEnd{{HarvestError: &jobs.Fault{Short: "x"}}, {UploadError: &jobs.Fault{Short: "x"}}} {
		end.ID, end.Node, end.Attempt = job, id("north-1"), 1
		refusedAs(t, c.apply(t, catalog.FinishJob, end), catalog.Invalid, "done with an error")
	}
	if j, err := c.view().Job(job); err != nil || j.State != catalog.JobStarted {
		t.Errorf("%v, it is %s", err, j.State)
	}
}
