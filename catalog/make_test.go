package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
)

// small are the parts of a job with n configurations.
func small(t *testing.T, n int) (parts []jobs.Part) {
	t.Helper()
	_, parts, _ = divided(t, 1)
	var all []jobs.Configuration
	for i := range n {
		all = append(all, jobs.Configuration{Domain: fmt.Sprintf("example%d.org", i), Name: "defaultconfig", Seeds: []string{"http://<&>/"}})
	}
	lines, err := jobs.DivideConfigurations(all)
	if err != nil {
		t.Fatal(err)
	}
	return append(parts, lines...)
}

// TestASmallJobIsMadeAtOnce compares a job that was made with one command with one that was opened, got its parts, and was closed: all
// that is stored is the same but for times.
func TestASmallJobIsMadeAtOnce(t *testing.T) {
	parts := small(t, 3)
	sum, err := jobs.SumOf(parts)
	if err != nil {
		t.Fatal(err)
	}
	opening := jobs.JobOpening{Harvest: "h", Collection: "web", Channel: "FOCUSED", Number: 7, Run: 2, Template: "default@1"}
	long, short := aloneAt(t, catalog.Level), aloneAt(t, catalog.Level)
	first := opened(t, long, opening)
	for i, p := range parts {
		long.must(t, jobs.AddPart, jobs.JobAddition{ID: first, Number: i + 1, Part: p})
	}
	long.must(t, jobs.CloseJob, jobs.JobClosing{ID: first, Parts: len(parts), Sum: sum})
	var made catalog.Job
	if err := json.Unmarshal(short.must(t, jobs.MakeJob, jobs.JobMaking{Opening: opening, Parts: parts}).Value, &made); err != nil {
		t.Fatal(err)
	}
	j, err := long.view().Job(first)
	if err != nil || made.ID != first || made.Parts == nil || made.State != catalog.JobNew {
		t.Fatalf("made %+v, %v", made, err)
	}
	of := func(c *cluster) map[string]string {
		out := map[string]string{}
		for key, value := range c.All() {
			if strings.HasPrefix(key, "job") && key != fmt.Sprintf("job/%016x", first) { // its times differ
				out[key] = string(value)
			}
		}
		return out
	}
	if a, b := of(long), of(short); !maps.Equal(a, b) || len(a) < 10 {
		t.Errorf("stored are\n%q, with one command\n%q", a, b)
	}
	made.Created = j.Created
	one, _ := json.Marshal(made)
	if other, _ := json.Marshal(j); string(one) != string(other) {
		t.Errorf("the heads are %s and %s", one, other)
	}
	listed(t, short)
	if run, err := short.view().Run(7, 2); err != nil || run != (jobs.Run{Jobs: 1, Last: first}) {
		t.Errorf("the run is %+v, %v", run, err)
	}
}

// TestASmallJobIsRefused as one that is made step by step would be.
func TestASmallJobIsRefused(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	parts := small(t, 2)
	with := func(change func(*jobs.JobMaking)) jobs.JobMaking {
		b := jobs.JobMaking{Opening: jobs.JobOpening{Harvest: "h", Collection: "web", Number: 7, Run: 2}, Parts: parts}
		change(&b)
		return b
	}
	same := func(*jobs.JobMaking) {}
	c.must(t, jobs.MakeJob, with(same))
	for what, tt := range map[string]struct {
		body jobs.JobMaking
		code catalog.Code
	}{
		"another leader makes the first, too": {with(same), catalog.Conflict},
		"made by hand":                        {with(func(b *jobs.JobMaking) { b.Opening.Number, b.Opening.Run = 0, 0 }), catalog.Invalid},
		"no parts":                            {with(func(b *jobs.JobMaking) { b.Parts = nil }), catalog.Invalid},
		"three parts":                         {with(func(b *jobs.JobMaking) { b.Parts = append(b.Parts[:2:2], b.Parts[1]) }), catalog.Invalid},
		"no text of a job":                    {with(func(b *jobs.JobMaking) { b.Parts = b.Parts[1:] }), catalog.Invalid},
		"an empty part":                       {with(func(b *jobs.JobMaking) { b.Parts = []jobs.Part{b.Parts[0], {Kind: jobs.PartSeeds}} }), catalog.Invalid},
		"what is no domain": {with(func(b *jobs.JobMaking) {
			b.Parts = []jobs.Part{{Kind: jobs.PartJob, Text: "{}", Domains: []string{"A/"}}}
		}), catalog.Invalid},
		"a long text": {with(func(b *jobs.JobMaking) {
			b.Parts = []jobs.Part{{Kind: jobs.PartJob, Text: strings.Repeat("x", 64<<10+1)}}
		}), catalog.Invalid},
		"very many domains":          {with(func(b *jobs.JobMaking) { b.Parts = small(t, 401) }), catalog.Invalid},
		"no such collection":         {with(func(b *jobs.JobMaking) { b.Opening.Collection = "x" }), catalog.NotFound},
		"no such channel":            {with(func(b *jobs.JobMaking) { b.Opening.Channel = "a b" }), catalog.Invalid},
		"a secret that is not there": {with(func(b *jobs.JobMaking) { b.Opening.Run, b.Opening.Uses = 3, []string{"s"} }), catalog.NotFound},
	} {
		refusedAs(t, c.apply(t, jobs.MakeJob, tt.body), tt.code, what)
	}
	open := opened(t, c, with(func(b *jobs.JobMaking) { b.Opening.After = 1 }).Opening)
	refusedAs(t, c.apply(t, jobs.MakeJob, with(func(b *jobs.JobMaking) { b.Opening.After = open })), catalog.Conflict, "behind a job that is not whole")
	c.must(t, jobs.DropJob, catalog.JobRef{ID: open})
	c.must(t, jobs.MakeJob, with(func(b *jobs.JobMaking) { b.Opening.After = open }))
	listed(t, c)
	refusedAs(t, aloneAt(t, 3).apply(t, jobs.MakeJob, with(same)), catalog.Unsupported, "at level 3")
}

// TestALargestSmallJobFitsIntoACommand: whatever its text, and however many domains and secrets it has.
func TestALargestSmallJobFitsIntoACommand(t *testing.T) {
	c := aloneAt(t, catalog.Level)
	domain := strings.Repeat(strings.Repeat("a", 60)+".", 4) + "org"
	job := jobs.Part{Kind: jobs.PartJob, Text: strings.Repeat(`"`, 60<<10)}
	lines := jobs.Part{Kind: jobs.PartConfigurations, Items: 400, Text: "[]"}
	for i := range 400 {
		lines.Domains = append(lines.Domains, fmt.Sprintf("%d.%s", i, domain))
	}
	b := jobs.JobMaking{Opening: jobs.JobOpening{Harvest: "h", Collection: "web", Number: 7, Run: 1}, Parts: []jobs.Part{job, lines}}
	if !jobs.IsSmall(b.Parts) {
		t.Fatal("it is not small")
	}
	c.must(t, jobs.MakeJob, b)
	if n := len(c.log[len(c.log)-1]); n > catalog.MaxBytes {
		t.Errorf("a command of %d bytes", n)
	}
	listed(t, c)
}

// TestJobsFromBeforeLevel4AreNotSubmittedByTheLeader: those that are new were made by hand; the walk that gives them parts changes
// nothing of that.
func TestJobsFromBeforeLevel4AreNotSubmittedByTheLeader(t *testing.T) {
	c := aloneAt(t, 3)
	for range 3 {
		c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Channel: "FOCUSED",
			Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)})
	}
	c.raiseTo(t, 4)
	for {
		w, err := c.view().Walk()
		if err != nil {
			t.Fatal(err)
		}
		if w.Done != 0 {
			break
		}
		c.must(t, jobs.WalkJobs, jobs.WalkStep{After: w.After, Piece: w.Piece})
	}
	c.must(t, jobs.MakeJob, jobs.JobMaking{Opening: jobs.JobOpening{Harvest: "h", Collection: "web", Channel: "FOCUSED", Number: 7, Run: 1},
		Parts: small(t, 1)})
	listed(t, c)
	if got, err := jobs.NewIn(c, "FOCUSED", 0); err != nil || fmt.Sprint(got) != "[4]" {
		t.Errorf("to be submitted: %v, %v", got, err)
	}
	c.must(t, catalog.WishJob, catalog.JobWishing{ID: 4, Wish: catalog.WishPause})
	if got, err := jobs.NewChannels(c); err != nil || len(got) != 0 {
		t.Errorf("while it is to pause: %v, %v", got, err)
	}
	c.must(t, catalog.WishJob, catalog.JobWishing{ID: 4})
	c.must(t, catalog.SubmitJob, catalog.JobRef{ID: 4})
	if got, err := jobs.NewIn(c, "FOCUSED", 0); err != nil || len(got) != 0 {
		t.Errorf("when it is submitted: %v, %v", got, err)
	}
	listed(t, c)
}
