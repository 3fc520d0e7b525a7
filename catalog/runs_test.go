package catalog_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

func (c *cluster) runs() runs.View { return catalog.RunsIn(c.view()) }

// harvesting is a cluster of level 4 with domains of collection web, of which a.org has a configuration deep.
func harvesting(t *testing.T) *cluster {
	t.Helper()
	c := aloneAt(t, 4)
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "radio"})
	for _, name := range []domains.Name{"a.org", "b.org", "c.org"} {
		c.must(t, domains.Create, domains.Creation{Name: name, Collection: "web"})
	}
	c.must(t, domains.Create, domains.Creation{Name: "r.org", Collection: "radio"})
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "deep", Template: "default"})
	c.must(t, harvests.CreateSchedule, harvests.Creation{Name: "often", Text: `{"unit":"hour","every":2}`})
	c.must(t, harvests.CreateChannel, harvests.ChannelCreation{Name: "EVENTS"})
	return c
}

// defined makes a harvest that a name alone is said of, and returns its number.
func (c *cluster) defined(t *testing.T, kind runs.Kind, name string) uint64 {
	t.Helper()
	b := runs.Creation{Kind: kind, Collection: "web", Asked: runs.Asked{Name: name}}
	if kind != runs.Snapshot {
		b.Schedule = "daily"
	}
	return c.harvest(t, c.must(t, runs.Create, b)).Number
}

func (c *cluster) harvest(t *testing.T, res catalog.Result) (h runs.Harvest) {
	t.Helper()
	if err := json.Unmarshal(res.Value, &h); err != nil {
		t.Fatal(err)
	}
	return h
}

func configurations(names ...string) (all []runs.Configuration) {
	for _, name := range names {
		domain, configuration, _ := strings.Cut(name, "/")
		if configuration == "" {
			configuration = domains.DefaultConfiguration
		}
		all = append(all, runs.Configuration{Domain: domains.Name(domain), Name: configuration})
	}
	return all
}

// activated activates a harvest that is due after the given time, and returns its date.
func (c *cluster) activated(t *testing.T, number uint64, in catalog.Time) catalog.Time {
	t.Helper()
	h, err := c.runs().Harvest(number)
	if err != nil {
		t.Fatal(err)
	}
	next := c.now + in
	c.must(t, runs.Activate, runs.Activation{Number: number, Version: h.Version, Next: next})
	return next
}

// TestHarvestsNeedLevel4 asks for each command below the level.
func TestHarvestsNeedLevel4(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, 3)
	for _, r := range runs.Rules {
		refusedAs(t, c.apply(t, r.Kind, map[string]any{}), catalog.Unsupported, string(r.Kind))
	}
}

// TestHarvestsAreDefined makes, changes and removes harvests. Nothing is left of one that is removed but its number.
func TestHarvestsAreDefined(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	c.must(t, domains.SetField, domains.Field{Of: domains.OfHarvests, Name: "fund", Type: domains.TextField})
	before := c.keys()
	number := c.defined(t, runs.Selective, "Newspapers, daily")
	h, err := c.runs().HarvestNamed("Newspapers, daily")
	if err != nil || h.Number != number || h.Version != 1 || h.Active || h.Kind != runs.Selective || h.By != "test" {
		t.Fatalf("%+v, %v", h, err)
	}
	asked := runs.Asked{Name: "Newspapers", Schedule: "often", Channel: "EVENTS", Audience: "readers",
		Fields: []domains.FieldValue{{Name: "fund", Value: "own"}}}
	c.must(t, runs.Set, runs.Change{Number: number, Version: 1, Asked: asked})
	refusedAs(t, c.apply(t, runs.Set, runs.Change{Number: number, Version: 1, Asked: asked}), catalog.Conflict, "an old version")
	if _, err := c.runs().HarvestNamed("Newspapers, daily"); err == nil {
		t.Error("the old name still answers")
	}
	refusedAs(t, c.apply(t, harvests.DeleteSchedule, harvests.Ref{Name: "often"}), catalog.Conflict, "its schedule goes")
	refusedAs(t, c.apply(t, harvests.DeleteChannel, harvests.Ref{Name: "EVENTS"}), catalog.Conflict, "its channel goes")
	refusedAs(t, c.apply(t, domains.RemoveField, domains.FieldRef{Of: domains.OfHarvests, Name: "fund"}), catalog.Conflict,
		"its field goes")
	other := c.defined(t, runs.Event, "Newspapers, daily")
	if other != number+1 {
		t.Errorf("the second harvest has number %d", other)
	}
	var many []runs.Configuration
	for i := range 450 {
		name := domains.Name(fmt.Sprintf("d%d.org", i))
		c.must(t, domains.Create, domains.Creation{Name: name, Collection: "web"})
		many = append(many, runs.Configuration{Domain: name, Name: domains.DefaultConfiguration})
	}
	for part := range slices.Chunk(many, 100) {
		c.must(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: part})
	}
	left := true
	for n := 0; left; n++ {
		if err := json.Unmarshal(c.must(t, runs.Remove, runs.Ref{Number: number, Reason: "test"}).Value, &left); err != nil || n > 2 {
			t.Fatal(err, n)
		}
		if left {
			refusedAs(t, c.apply(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: many[:1]}),
				catalog.Conflict, "a configuration for a harvest that is being removed")
		}
	}
	c.must(t, runs.Remove, runs.Ref{Number: other})
	for _, d := range many {
		c.must(t, domains.Remove, domains.Ref{Name: d.Domain})
	}
	for _, key := range c.keys() {
		if strings.HasPrefix(key, "harvest") && key != "harvestcount" && !slices.Contains(before, key) {
			t.Errorf("%q is left", key)
		}
	}
	c.must(t, harvests.DeleteSchedule, harvests.Ref{Name: "often"})
	c.must(t, harvests.DeleteChannel, harvests.Ref{Name: "EVENTS"})
	c.must(t, domains.RemoveField, domains.FieldRef{Of: domains.OfHarvests, Name: "fund"})
	if again := c.defined(t, runs.Selective, "Newspapers"); again != other+1 {
		t.Errorf("number %d is given after %d", again, other)
	}
}

// TestRefusedHarvests tries what is not carried out; nothing is stored then, nor in the trail.
func TestRefusedHarvests(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	c.must(t, harvests.CreateChannel, harvests.ChannelCreation{Name: "BROAD", Snapshot: true})
	daily, snapshot := c.defined(t, runs.Selective, "daily"), c.defined(t, runs.Snapshot, "all")
	empty := c.defined(t, runs.Event, "empty")
	c.must(t, runs.AddConfigurations, runs.Listing{Number: daily, Configurations: configurations("a.org/deep")})
	less, some := int64(-1), int64(5)
	version := uint64(2)
	asked := func(change func(*runs.Asked)) runs.Asked {
		a := runs.Asked{Name: "new", Schedule: "daily"}
		change(&a)
		return a
	}
	creation := func(kind runs.Kind, change func(*runs.Asked)) runs.Creation {
		return runs.Creation{Kind: kind, Collection: "web", Asked: asked(change)}
	}
	nothing := func(*runs.Asked) {}
	before := c.sum()
	for name, tt := range map[string]struct {
		kind catalog.Kind
		body any
		code catalog.Code
		want string
	}{
		"of no kind":             {runs.Create, creation("weekly", nothing), catalog.Invalid, `kind "weekly"`},
		"of no collection":       {runs.Create, runs.Creation{Kind: runs.Event, Collection: "none", Asked: asked(nothing)}, catalog.NotFound, `collection "none"`},
		"without a name":         {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Name = "" }), catalog.Invalid, "readable name"},
		"with a blank name":      {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Name = " x" }), catalog.Invalid, "readable name"},
		"with a line in it":      {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Name = "a\nb" }), catalog.Invalid, "readable name"},
		"with a long name":       {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Name = strings.Repeat("x", 201) }), catalog.Invalid, "readable name"},
		"with a name that is":    {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Name = "daily" }), catalog.Conflict, "harvest 1 has the name"},
		"without a schedule":     {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Schedule = "" }), catalog.Invalid, "need a schedule"},
		"with no schedule":       {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Schedule = "none" }), catalog.NotFound, `schedule "none"`},
		"a snapshot, scheduled":  {runs.Create, creation(runs.Snapshot, nothing), catalog.Invalid, "runs once"},
		"with limits":            {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Bytes = &some }), catalog.Invalid, "only a snapshot"},
		"with a limit below 0":   {runs.Create, creation(runs.Snapshot, func(a *runs.Asked) { a.Schedule, a.Objects = "", &less }), catalog.Invalid, "limit -1"},
		"with no channel":        {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Channel = "NONE" }), catalog.NotFound, `channel "NONE"`},
		"with another's channel": {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Channel = "BROAD" }), catalog.Invalid, "channel BROAD"},
		"a snapshot's channel":   {runs.Create, creation(runs.Snapshot, func(a *runs.Asked) { a.Schedule, a.Channel = "", "EVENTS" }), catalog.Invalid, "channel EVENTS"},
		"with an unknown field":  {runs.Create, creation(runs.Event, func(a *runs.Asked) { a.Fields = []domains.FieldValue{{Name: "x", Value: "y"}} }), catalog.NotFound, `field "x"`},
		"continuing itself": {runs.Set, runs.Change{Number: snapshot, Version: 1, Asked: runs.Asked{Name: "all", Earlier: snapshot}},
			catalog.Invalid, "continue itself"},
		"continuing what has not run": {runs.Create, creation(runs.Snapshot, func(a *runs.Asked) { a.Schedule, a.Earlier = "", snapshot }), catalog.Conflict, "not run yet"},
		"continuing what is none":     {runs.Create, creation(runs.Snapshot, func(a *runs.Asked) { a.Schedule, a.Earlier = "", daily }), catalog.Invalid, "only a snapshot is continued"},
		"continuing nothing":          {runs.Create, creation(runs.Snapshot, func(a *runs.Asked) { a.Schedule, a.Earlier = "", 99 }), catalog.NotFound, "no harvest 99"},
		"a date while inactive":       {runs.Set, runs.Change{Number: daily, Version: version, Next: 5, Asked: asked(nothing)}, catalog.Invalid, "not active"},
		"active without any":          {runs.Activate, runs.Activation{Number: empty, Version: 1, Next: 5}, catalog.Conflict, "no configurations"},
		"active without a date":       {runs.Activate, runs.Activation{Number: daily, Version: version}, catalog.Invalid, "next date"},
		"active, of a version":        {runs.Activate, runs.Activation{Number: daily, Version: 1, Next: 5}, catalog.Conflict, "version 2"},
		"of a domain that is not":     {runs.AddConfigurations, runs.Listing{Number: daily, Configurations: configurations("x.org")}, catalog.NotFound, `domain "x.org"`},
		"of another collection":       {runs.AddConfigurations, runs.Listing{Number: daily, Configurations: configurations("r.org")}, catalog.Conflict, "of collection radio"},
		"of no configuration":         {runs.AddConfigurations, runs.Listing{Number: daily, Configurations: configurations("b.org/deep")}, catalog.NotFound, `configuration "deep"`},
		"a snapshot's configurations": {runs.AddConfigurations, runs.Listing{Number: snapshot, Configurations: configurations("b.org")}, catalog.Invalid, "all domains"},
		"none at all":                 {runs.AddConfigurations, runs.Listing{Number: daily}, catalog.Invalid, "0 items"},
		"a run that is not due":       {runs.BeginRun, runs.Beginning{Number: daily, Date: 5}, catalog.Conflict, "not due"},
		"the end of no run":           {runs.EndRun, runs.Ending{Number: daily, Run: 1}, catalog.NotFound, "no run 1"},
		"its domain goes":             {domains.Remove, domains.Ref{Name: "a.org"}, catalog.Conflict, "used by harvest 1"},
		"its configuration goes":      {domains.RemoveConfiguration, domains.PartRef{Domain: "a.org", Name: "deep"}, catalog.Conflict, "used by harvest 1"},
		"its domain moves":            {domains.Set, map[string]any{"name": "a.org", "version": 1, "collection": "radio"}, catalog.Conflict, "used by harvest 1"},
		"an unknown key":              {runs.Create, map[string]any{"kind": "event", "collection": "web", "name": "n", "schedule": "daily", "more": 1}, catalog.Invalid, "more"},
	} {
		res := c.apply(t, tt.kind, tt.body)
		if res.Refusal == nil || res.Refusal.Code != tt.code || !strings.Contains(res.Refusal.Message, tt.want) {
			t.Errorf("%s: %+v, want %s: %s", name, res.Refusal, tt.code, tt.want)
		}
	}
	if c.sum() != before {
		t.Error("what was refused has changed what is stored")
	}
}

// TestConfigurationsOfAHarvest are each there once, and keep what they name from being removed.
func TestConfigurationsOfAHarvest(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	daily, weekly := c.defined(t, runs.Selective, "daily"), c.defined(t, runs.Selective, "weekly")
	all := configurations("a.org", "a.org/deep", "b.org")
	c.must(t, runs.AddConfigurations, runs.Listing{Number: daily, Configurations: slices.Concat(all, all)})
	h := c.harvest(t, c.must(t, runs.AddConfigurations, runs.Listing{Number: daily, Configurations: all[1:]}))
	c.must(t, runs.AddConfigurations, runs.Listing{Number: weekly, Configurations: all[2:]})
	if h.Configurations != 3 {
		t.Errorf("%d configurations", h.Configurations)
	}
	first, err := c.runs().Configurations(daily, runs.Configuration{}, 2)
	rest, err2 := c.runs().Configurations(daily, first[1], 2)
	if err != nil || err2 != nil || !slices.Equal(slices.Concat(first, rest), configurations("a.org/deep", "a.org", "b.org")) {
		t.Errorf("%v %v, %v %v", first, rest, err, err2)
	}
	if of, err := c.runs().HarvestsOf("b.org", 0); err != nil || !slices.Equal(of, []uint64{daily, weekly}) {
		t.Errorf("b.org is in %v: %v", of, err)
	}
	c.activated(t, weekly, 1000)
	refusedAs(t, c.apply(t, runs.RemoveConfigurations, runs.Listing{Number: weekly, Configurations: all}), catalog.Conflict,
		"the last configuration of an active harvest")
	c.must(t, runs.RemoveConfigurations, runs.Listing{Number: daily, Configurations: all[1:]})
	c.must(t, domains.RemoveConfiguration, domains.PartRef{Domain: "a.org", Name: "deep"})
	refusedAs(t, c.apply(t, domains.Remove, domains.Ref{Name: "a.org"}), catalog.Conflict, "a domain that is harvested")
	c.must(t, runs.RemoveConfigurations, runs.Listing{Number: daily, Configurations: all})
	c.must(t, domains.Remove, domains.Ref{Name: "a.org"})
	if h, err := c.runs().Harvest(daily); err != nil || h.Configurations != 0 {
		t.Errorf("%d configurations: %v", h.Configurations, err)
	}
}

// countingReader counts the keys that are read.
type countingReader struct {
	agree.Reader
	keys *int
}

func (r countingReader) Get(key []byte) ([]byte, error) {
	*r.keys++
	return r.Reader.Get(key)
}

func (r countingReader) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	return r.Reader.Scan(prefix, from, func(key, value []byte) bool {
		*r.keys++
		return visit(key, value)
	})
}

// TestDueHarvestsAreFoundByKey looks for harvests that are due among many that are not: these cost nothing.
func TestDueHarvestsAreFoundByKey(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	var date catalog.Time
	for i := range 50 {
		number := c.defined(t, runs.Selective, fmt.Sprint("harvest ", i))
		c.must(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: configurations("b.org")})
		if at := c.activated(t, number, catalog.Time(5000+i*1000)); i == 1 {
			date = at
		}
	}
	read := 0
	due, err := runs.NewView(countingReader{c.view().Reader, &read}).Due(date, 0)
	if err != nil || len(due) != 2 || read > 6 {
		t.Errorf("%d harvests are due, %d keys were read: %v", len(due), read, err)
	}
}

// TestRunsOfAHarvest begins runs when they are due, once each, and one after the other.
func TestRunsOfAHarvest(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	number := c.defined(t, runs.Selective, "daily")
	c.must(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: configurations("b.org")})
	date := c.activated(t, number, 5000)
	if due, err := c.runs().Due(date-1, 10); err != nil || len(due) != 0 {
		t.Errorf("due before its date: %v, %v", due, err)
	}
	refusedAs(t, c.apply(t, runs.BeginRun, runs.Beginning{Number: number, Date: date, Next: date + 1}), catalog.Conflict, "before its date")
	c.now = date
	due, err := c.runs().Due(date, 10)
	if err != nil || len(due) != 1 || due[0].Number != number || due[0].Next != date {
		t.Fatalf("due: %v, %v", due, err)
	}
	begin := runs.Beginning{Number: number, Date: date, Next: date + 50_000, Skipped: 3, Schedule: `{"unit":"day"}`}
	c.must(t, runs.BeginRun, begin)
	refusedAs(t, c.apply(t, runs.BeginRun, begin), catalog.Conflict, "the same date again")
	h, err := c.runs().Harvest(number)
	if err != nil || h.Runs != 1 || h.Skipped != 3 || h.Next != date+50_000 || !h.Active || h.Version != 3 {
		t.Errorf("%+v, %v", h, err)
	}
	open, err := c.runs().OpenRuns()
	if err != nil || len(open) != 1 || open[0].State != runs.Splitting || open[0].Date != date || open[0].Index == 0 {
		t.Errorf("open: %+v, %v", open, err)
	}
	if open[0].Definition.Name != "daily" || open[0].Schedule != begin.Schedule || h.From() == 0 || h.From() > date {
		t.Errorf("the run keeps %+v and %q; dates are counted from %d", open[0].Definition, open[0].Schedule, h.From())
	}
	c.now = h.Next
	refusedAs(t, c.apply(t, runs.BeginRun, runs.Beginning{Number: number, Date: h.Next}), catalog.Conflict, "a run while another is split")

	job := opened(t, c, jobs.JobOpening{Harvest: "daily", Collection: "web", Channel: "FOCUSED", Number: number, Run: 1})
	end := runs.Ending{Number: number, Run: 1, Jobs: 1, Configurations: 1, LeftOut: map[string]int64{"alias": 2}}
	refusedAs(t, c.apply(t, runs.EndRun, end), catalog.Conflict, "the end while a job is open")
	_, parts, sum := divided(t, 1)
	for i, p := range parts {
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: i + 1, Part: p})
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: len(parts), Sum: sum})
	refusedAs(t, c.apply(t, runs.EndRun, runs.Ending{Number: number, Run: 1, Jobs: 2}), catalog.Conflict, "another number of jobs")
	c.must(t, runs.EndRun, end)
	before := c.keys()
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 1, Jobs: 1, Error: "too late"})
	run, err := c.runs().Run(number, 1)
	if err != nil || run.State != runs.Made || run.Jobs != 1 || run.LeftOut["alias"] != 2 || run.Error != "" || len(c.keys()) != len(before) {
		t.Errorf("%+v, %v", run, err)
	}
	c.must(t, runs.BeginRun, runs.Beginning{Number: number, Date: h.Next, Next: h.Next + 9})
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 2, Error: "no template", Detail: "long"})
	h, err = c.runs().Harvest(number)
	if err != nil || h.Active || h.Next != 0 || h.Error != "no template" || h.Detail != "long" {
		t.Errorf("after an error: %+v, %v", h, err)
	}
	if failed, err := c.runs().Failed(10); err != nil || len(failed) != 1 || failed[0].Number != number {
		t.Errorf("failed: %v, %v", failed, err)
	}
	if due, err := c.runs().Due(h.Changed+1e12, 10); err != nil || len(due) != 0 {
		t.Errorf("due after an error: %v, %v", due, err)
	}
	refusedAs(t, c.apply(t, runs.Remove, runs.Ref{Number: number}), catalog.Conflict, "a harvest that ran")
	date = c.activated(t, number, 0)
	if h, err = c.runs().Harvest(number); err != nil || h.Error != "" || h.Next != date {
		t.Errorf("activated again: %+v, %v", h, err)
	}
	if failed, err := c.runs().Failed(10); err != nil || len(failed) != 0 {
		t.Errorf("failed after it was activated again: %v, %v", failed, err)
	}
	c.must(t, runs.Deactivate, runs.Ref{Number: number, Reason: "enough"})
	// A snapshot cannot be activated again after an error: deactivating any harvest settles it.
	date = c.activated(t, number, 0)
	c.must(t, runs.BeginRun, runs.Beginning{Number: number, Date: date})
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 3, Error: "no template"})
	c.must(t, runs.Deactivate, runs.Ref{Number: number, Reason: "seen"})
	if failed, err := c.runs().Failed(10); err != nil || len(failed) != 0 {
		t.Errorf("failed after it was deactivated: %v, %v", failed, err)
	}
	if h, err = c.runs().Harvest(number); err != nil || h.Error != "" || h.Detail != "" || !h.Ended {
		t.Errorf("deactivated after an error: %+v, %v", h, err)
	}
	all, err := c.runs().Runs(number, 1, 1)
	if err != nil || len(all) != 1 || all[0].Number != 2 || all[0].State != runs.Failed {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestADateThatIsSetAsideIsSkipped counts a date that was due when the harvest got another one.
func TestADateThatIsSetAsideIsSkipped(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	number := c.defined(t, runs.Selective, "daily")
	c.must(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: configurations("b.org")})
	date := c.activated(t, number, 5000)
	for i, want := range []uint64{0, 1} {
		h, err := c.runs().Harvest(number)
		if err != nil {
			t.Fatal(err)
		}
		c.must(t, runs.Set, runs.Change{Number: number, Version: h.Version, Asked: h.Asked, Next: h.Next + 9000})
		if h, err = c.runs().Harvest(number); err != nil || h.Skipped != want {
			t.Errorf("%d: %d skipped, want %d, %v", i, h.Skipped, want, err)
		}
		c.now = max(c.now, date+20_000)
	}
}

// TestSnapshotsRunOnce and are continued by others.
func TestSnapshotsRunOnce(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	first := c.defined(t, runs.Snapshot, "first")
	date := c.activated(t, first, 0)
	refusedAs(t, c.apply(t, runs.BeginRun, runs.Beginning{Number: first, Date: date, Next: date + 1}), catalog.Invalid, "another date of a snapshot")
	c.must(t, runs.BeginRun, runs.Beginning{Number: first, Date: date})
	c.must(t, runs.EndRun, runs.Ending{Number: first, Run: 1})
	h, err := c.runs().Harvest(first)
	if err != nil || h.Active || !h.Ended || h.Next != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	refusedAs(t, c.apply(t, runs.Activate, runs.Activation{Number: first, Version: h.Version, Next: c.now}), catalog.Conflict, "a second run")
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "other"})
	refusedAs(t, c.apply(t, runs.Create, runs.Creation{Kind: runs.Snapshot, Collection: "other",
		Asked: runs.Asked{Name: "theirs", Earlier: first}}), catalog.Invalid, "continuing one of another collection")
	bytes := int64(1e9)
	second := c.harvest(t, c.must(t, runs.Create, runs.Creation{Kind: runs.Snapshot, Collection: "web",
		Asked: runs.Asked{Name: "second", Earlier: first, Bytes: &bytes, MaxTime: 3600}}))
	c.activated(t, second.Number, 0)
	refusedAs(t, c.apply(t, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "web"}), catalog.Conflict, "a collection with harvests")
	got, err := c.runs().Harvests(first, 0)
	if err != nil || len(got) != 1 || got[0].Earlier != first || !reflect.DeepEqual(got[0].Bytes, &bytes) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestASnapshotOfWhichNoJobWasMadeRunsAgain: what was wrong may be mended by then.
func TestASnapshotOfWhichNoJobWasMadeRunsAgain(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	number := c.defined(t, runs.Snapshot, "first")
	c.must(t, runs.BeginRun, runs.Beginning{Number: number, Date: c.activated(t, number, 0)})
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 1, Error: "there is no template"})
	date := c.activated(t, number, 0)
	c.must(t, runs.BeginRun, runs.Beginning{Number: number, Date: date})
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 2})
	h, err := c.runs().Harvest(number)
	if err != nil || h.Runs != 2 || h.Error != "" || !h.Ended {
		t.Errorf("%+v, %v", h, err)
	}
	refusedAs(t, c.apply(t, runs.Activate, runs.Activation{Number: number, Version: h.Version, Next: c.now}),
		catalog.Conflict, "a third run")
}

// TestWhoMayDefineHarvests: those with the role curator for the harvest's collection. Runs are for nodes alone.
func TestWhoMayDefineHarvests(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.raiseTo(t, 4)
	c.person("anna", admin)
	c.person("berta", curatorWeb)
	web := runs.Creation{Kind: runs.Snapshot, Collection: "web", Asked: runs.Asked{Name: "web"}}
	radio := runs.Creation{Kind: runs.Snapshot, Collection: "radio", Asked: runs.Asked{Name: "radio"}}
	c.must(t, runs.Create, web)
	c.must(t, runs.Create, radio)
	south := id("south-1")
	for name, tt := range map[string]struct {
		kind  catalog.Kind
		actor string
		body  any
		good  bool
	}{
		"a curator":                  {runs.Create, "person:berta", web, true},
		"a curator, elsewhere":       {runs.Create, "person:berta", radio, false},
		"of no collection":           {runs.Create, "person:berta", runs.Creation{}, false},
		"a change":                   {runs.Set, "person:berta", runs.Change{Number: 1}, true},
		"a change elsewhere":         {runs.Set, "person:berta", runs.Change{Number: 2}, false},
		"a change of nothing":        {runs.Set, "person:berta", runs.Change{Number: 9}, false},
		"activation elsewhere":       {runs.Activate, "person:berta", runs.Activation{Number: 2}, false},
		"deactivation":               {runs.Deactivate, "person:berta", runs.Ref{Number: 1}, true},
		"configurations elsewhere":   {runs.AddConfigurations, "person:berta", runs.Listing{Number: 2}, false},
		"seeds elsewhere":            {runs.AddSeeds, "person:berta", runs.SeedsAddition{Number: 2}, false},
		"seeds":                      {runs.AddSeeds, "person:berta", runs.SeedsAddition{Number: 1}, true},
		"settings":                   {runs.SetSettings, "person:berta", runs.SettingsChange{}, false},
		"settings, by who may":       {runs.SetSettings, "person:anna", runs.SettingsChange{}, true},
		"removal elsewhere":          {runs.Remove, "person:berta", runs.Ref{Number: 2}, false},
		"an administrator":           {runs.Remove, "person:anna", runs.Ref{Number: 2}, true},
		"a node, of itself":          {runs.Activate, string(south), runs.Activation{Number: 1}, false},
		"a node begins a run":        {runs.BeginRun, string(south), runs.Beginning{Number: 1}, true},
		"an administrator begins it": {runs.BeginRun, "person:anna", runs.Beginning{Number: 1}, false},
		"an administrator ends it":   {runs.EndRun, "person:anna", runs.Ending{Number: 1, Run: 1}, false},
	} {
		raw, err := json.Marshal(tt.body)
		if err != nil {
			t.Fatal(err)
		}
		cmd := catalog.Command{Version: 1, Kind: tt.kind, Actor: tt.actor, Node: south, Body: raw}
		if err := c.people().Vouch(south, &cmd, "", c.now); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
