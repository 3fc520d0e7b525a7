package harvester

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/harvest"
	"holdfast/harvest/split"
	"holdfast/internal/seed"
)

// TestASelectiveHarvestBecomesJobs splits one whose configurations differ in template, settings and domain.
func TestASelectiveHarvestBecomesJobs(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "deep", Text: `{"operator_contact":"web@example.org","max_hops":50}`})
	a.must(harvests.CreateTraps, harvests.Creation{Name: "calendars", Text: "# all\n.*calendar.*\n", Items: 1})
	a.must(harvests.CreateTraps, harvests.Creation{Name: "old", Text: ".*old.*\n", Items: 1, Off: true})
	hops := `{"max_hops":3}`
	a.domain("a.org", domains.Configuring{Name: "deep", Template: "deep"}, domains.Configuring{Name: "near", Settings: &hops})
	a.domain("b.org", domains.Configuring{Name: "near", Settings: &hops, Objects: new(int64(4000))})
	a.domain("c.org", domains.Configuring{Name: "none", Lists: []string{}})
	a.must(domains.SetList, listing("b.org", domains.Traps, "traps", ".*b-trap.*\n"))
	a.must(domains.SetList, listing("b.org", domains.Seeds, "defaultseeds", "https://b.org/ # home\nhttps://b.org/news\n"))
	want := []string{"a.org/deep", "a.org/defaultconfig", "a.org/near", "b.org/defaultconfig", "b.org/near"}
	number := a.define(runs.Selective, runs.Asked{Name: "some"}, append(want, "c.org/none")...)
	a.begin(number)
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, want)
	if left := a.run(number, 1).LeftOut; len(left) != 1 || left["no seeds"] != 1 {
		t.Errorf("left out: %v", left)
	}
	all := a.made(number, 1)
	if len(all) != 3 {
		t.Errorf("%d jobs: %v", len(all), all)
	}
	for id, names := range all {
		j := see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) })
		spec := see(a, func(v catalog.View) (harvest.Job, error) { return v.Spec(&j) })
		if err := spec.Validate(); err != nil {
			t.Errorf("job %d of %v: %v", id, names, err)
		}
		if j.State != catalog.JobNew || j.Channel != "FOCUSED" || j.Harvest != "some" || j.Number != number || j.Run != 1 {
			t.Errorf("%+v", j)
		}
		if !slices.Equal(spec.Domains.Traps, []string{".*calendar.*"}) || spec.Settings.OperatorContact != "web@example.org" {
			t.Errorf("job %d has traps %q, contact %q", id, spec.Domains.Traps, spec.Settings.OperatorContact)
		}
		hops := map[string]int{"a.org/deep": 50, "a.org/near": 3, "a.org/defaultconfig": harvest.DefaultSettings().MaxHops}[names[0]]
		if names[0] == "b.org/near" || names[0] == "b.org/defaultconfig" {
			continue
		}
		if spec.Settings.MaxHops != hops {
			t.Errorf("the job of %v has max_hops %d", names, spec.Settings.MaxHops)
		}
		for _, c := range spec.Domains.Configurations {
			if c.Domain == "b.org" && (!slices.Equal(c.Seeds, []string{"https://b.org/", "https://b.org/news"}) || len(c.Traps) != 1) {
				t.Errorf("%+v", c)
			}
			if most, given := c.Objects.Given(); c.Domain == "b.org" && c.Name == "near" && (!given || most != 4000) {
				t.Errorf("%s has limit %v", c.Name, c.Objects)
			}
		}
	}
}

func listing(domain domains.Name, kind domains.ListKind, name, text string) domains.Listing {
	items, err := listed(text)
	if err != nil {
		panic(err)
	}
	return domains.Listing{Domain: domain, Kind: kind, Name: name, Text: text, Items: len(items),
		Sum: domains.SumOf(domains.Divide(text))}
}

// TestASnapshotTakesTheDefaultsOfItsCollection leaves out aliases, and what was made after the run began.
func TestASnapshotTakesTheDefaultsOfItsCollection(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("a.org", domains.Configuring{Name: "other"})
	a.must(domains.Set, domains.Change{Name: "a.org", Version: a.domainVersion("a.org"), Default: new("other")})
	a.domain("b.org")
	a.domain("alias.org")
	a.must(domains.SetAlias, domains.Aliasing{Name: "alias.org", Of: "b.org", Until: catalog.At(time.Now().Add(time.Hour))})
	a.must(domains.Create, domains.Creation{Name: "r.org", Collection: "radio"})
	limit := int64(2000)
	number := a.define(runs.Snapshot, runs.Asked{Name: "all", Bytes: &limit, MaxTime: 3600})
	a.begin(number)
	a.domain("late.org")
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, []string{"a.org/other", "b.org/defaultconfig"})
	if left := a.run(number, 1).LeftOut; len(left) != 1 || left["alias"] != 1 {
		t.Errorf("left out: %v", left)
	}
	for id := range a.made(number, 1) {
		j := see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) })
		spec := see(a, func(v catalog.View) (harvest.Job, error) { return v.Spec(&j) })
		if most, given := spec.Domains.Bytes.Given(); j.Channel != "SNAPSHOT" || !given || most != limit ||
			spec.Settings.MaxTime.String() != "1h0m0s" {
			t.Errorf("channel %s, limit %v, time %v", j.Channel, spec.Domains.Bytes, spec.Settings.MaxTime)
		}
	}
}

func (a *alone) domainVersion(name domains.Name) uint64 {
	return see(a, func(v catalog.View) (domains.Domain, error) { return catalog.DomainsIn(v).Domain(name) }).Version
}

// many makes domains, of which every third has several configurations, and returns the names of all configurations.
func (a *alone) many(n int) (all []string) {
	hops := `{"max_hops":3}`
	for i := range n {
		var own []domains.Configuring
		if i%3 == 0 {
			own = append(own, domains.Configuring{Name: "near", Settings: &hops}, domains.Configuring{Name: "far", Bytes: new(int64(i * 1000))})
		}
		a.domain(host(i), own...)
		all = append(all, string(host(i))+"/defaultconfig")
		for _, c := range own {
			all = append(all, string(host(i))+"/"+c.Name)
		}
	}
	return all
}

// TestLeadersThatStopInASplit cuts leaders off at random commands of a split, whether or not what they proposed last
// was decided. Others go on. In the end each configuration is in exactly one job.
func TestLeadersThatStopInASplit(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	stops := 0
	for round := range 6 {
		a := newAlone(t)
		a.settings(fmt.Sprintf(`{"domain_config_subset_size":%d}`, 1+random.IntN(12)))
		all := a.many(30 + random.IntN(40))
		kind, want := runs.Selective, all
		if round%2 == 1 {
			kind, want = runs.Snapshot, nil
			for _, name := range all {
				if strings.HasSuffix(name, "/defaultconfig") {
					want = append(want, name)
				}
			}
		}
		of := all
		if kind == runs.Snapshot {
			of = nil
		}
		number := a.define(kind, runs.Asked{Name: "big"}, of...)
		a.begin(number)
		a.before = func(catalog.Kind, any) (bool, error) {
			if random.IntN(12) == 0 {
				stops++
				return random.IntN(2) == 0, errCut
			}
			return true, nil
		}
		for tries := 0; a.harvester().Split(t.Context(), number, 1) != nil; tries++ {
			if tries > 2000 {
				t.Fatal("the split does not end")
			}
		}
		a.once(number, 1, want)
	}
	if stops < 6 {
		t.Errorf("leaders were stopped %d times", stops)
	}
}

// TestTwoLeadersSplitOneRun has a leader that was replaced go on: what it still gets decided makes no configuration
// come twice.
func TestTwoLeadersSplitOneRun(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	for range 5 {
		a := newAlone(t)
		a.settings(`{"domain_config_subset_size":4}`)
		want := a.many(40)
		number := a.define(runs.Selective, runs.Asked{Name: "big"}, want...)
		a.begin(number)
		nested := 0
		a.before = func(catalog.Kind, any) (bool, error) {
			if nested == 0 && random.IntN(10) == 0 { // another leader does some of the work in between
				nested = 1 + random.IntN(30)
				_ = a.harvester().Split(t.Context(), number, 1)
				nested = 0
				return true, nil
			}
			if nested == 1 {
				return false, errCut
			}
			nested = max(0, nested-1)
			return true, nil
		}
		for tries := 0; a.harvester().Split(t.Context(), number, 1) != nil; tries++ {
			if tries > 2000 {
				t.Fatal("the split does not end")
			}
		}
		a.once(number, 1, want)
	}
}

// TestConfigurationsThatChangeInASplit changes and removes some after they were sorted.
func TestConfigurationsThatChangeInASplit(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.settings(`{"domain_config_subset_size":2}`)
	want := map[string]bool{}
	for i := range 20 {
		a.domain(host(i))
		want[string(host(i))+"/defaultconfig"] = true
	}
	number := a.define(runs.Snapshot, runs.Asked{Name: "all"})
	a.begin(number)
	opened := 0
	a.before = func(kind catalog.Kind, body any) (bool, error) {
		if kind != jobs.OpenJob && kind != jobs.MakeJob {
			return true, nil
		}
		switch opened++; opened {
		case 2:
			hops := `{"max_hops":3}`
			a.must(domains.SetConfiguration, domains.Configuring{Domain: host(11), Name: "defaultconfig", Template: "default",
				Lists: []string{"defaultseeds"}, Settings: &hops})
		case 3:
			a.must(domains.Remove, domains.Ref{Name: host(15)})
			a.must(domains.Remove, domains.Ref{Name: host(0)}) // is in a job already
			a.domain(host(15))                                 // another one
			delete(want, string(host(15))+"/defaultconfig")
		}
		return true, nil
	}
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, slices.Sorted(maps.Keys(want)))
	r := a.run(number, 1)
	if r.Gone != 1 || len(r.GoneNames) != 1 || r.GoneNames[0].Domain != host(15) {
		t.Errorf("gone: %d, %v", r.Gone, r.GoneNames)
	}
}

// TestWhatWasDeletedBeforeTheWalkIsCounted counts what was there when the run began and is in no job, and what only a
// leader that died saw.
func TestWhatWasDeletedBeforeTheWalkIsCounted(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.settings(`{"domain_config_subset_size":2}`)
	for i := range 6 {
		a.domain(host(i))
	}
	number := a.define(runs.Snapshot, runs.Asked{Name: "all"})
	a.begin(number)
	a.must(domains.Remove, domains.Ref{Name: host(5)})
	opened := 0
	a.before = func(kind catalog.Kind, _ any) (bool, error) {
		if kind != jobs.OpenJob && kind != jobs.MakeJob {
			return true, nil
		}
		switch opened++; opened {
		case 2:
			a.must(domains.Remove, domains.Ref{Name: host(4)})
		case 3:
			return false, errCut // after host(4) was missed
		}
		return true, nil
	}
	if err := a.harvester().Split(t.Context(), number, 1); err == nil && opened > 2 {
		t.Fatal("the leader was not cut off")
	}
	a.before = nil
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	if r := a.run(number, 1); r.There != 6 || r.Gone != 2 || r.Configurations != 4 {
		t.Errorf("of %d configurations %d are in jobs, and %d are gone", r.There, r.Configurations, r.Gone)
	}
}

// TestTroubleOfASplitIsSaid is what an operator sees if no jobs can be made of a run.
func TestTroubleOfASplitIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.domain("a.org")
		number := a.define(runs.Snapshot, runs.Asked{Name: "all"})
		full := errors.New("no space left on device")
		a.before = func(kind catalog.Kind, _ any) (bool, error) {
			if kind == jobs.OpenJob || kind == jobs.MakeJob {
				return false, full
			}
			return true, nil
		}
		a.begin(number)
		h := a.harvester()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = h.Run(ctx, nil)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if p := alert.Texts(h.Alerts()); len(p) != 1 || !strings.Contains(p[0], "run 1 of harvest 1 ") || !strings.Contains(p[0], full.Error()) {
			t.Errorf("problems: %q", p)
		}
		a.mu.Lock()
		a.before = nil
		a.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := alert.Texts(h.Alerts()); len(p) != 0 || a.run(number, 1).State != runs.Made {
			t.Errorf("problems: %q; the run is %s", p, a.run(number, 1).State)
		}
		cancel()
		<-ended
	})
}

// TestAHarvestThatCannotBeSplit is deactivated with the reason; jobs that were made stay.
func TestAHarvestThatCannotBeSplit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(*alone)
		want  string
	}{
		"no template": {func(a *alone) { a.domain("z.org", domains.Configuring{Name: "deep", Template: "nosuch"}) }, "no template nosuch"},
		"a template of a later program": {func(a *alone) {
			a.must(harvests.CreateTemplate, harvests.Creation{Name: "later", Text: `{"operator_contact":"web@example.org","warp":9}`})
			a.domain("z.org", domains.Configuring{Name: "deep", Template: "later"})
		}, "template later cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlone(t)
			a.domain("a.org")
			tt.spoil(a)
			number := a.define(runs.Selective, runs.Asked{Name: "some"}, "a.org/defaultconfig", "z.org/deep")
			a.begin(number)
			if err := a.harvester().Split(t.Context(), number, 1); err != nil {
				t.Fatal(err)
			}
			h, r := a.harvest(number), a.run(number, 1)
			if h.Active || !strings.Contains(h.Error, tt.want) || h.Detail == "" || r.State != runs.Failed {
				t.Errorf("harvest %+v, run %+v", h, r)
			}
			if made := a.made(number, 1); len(made) != int(r.Jobs) {
				t.Errorf("%d jobs, the run says %d", len(made), r.Jobs)
			}
		})
	}
}

// TestSettingsThatDoNotFitLeaveOutNothingElse: whoever lays them over a template ends no other configuration's harvest.
func TestSettingsThatDoNotFitLeaveOutNothingElse(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "slow",
		Text: `{"operator_contact":"web@example.org","min_delay":"20s","max_delay":"60s"}`})
	a.domain("a.org", domains.Configuring{Name: "slow", Template: "slow"})
	bad, worse := `{"max_delay":"10s"}`, `{"max_hops":-5}`
	a.domain("b.org", domains.Configuring{Name: "slow", Template: "slow", Settings: &bad})
	a.domain("c.org", domains.Configuring{Name: "slow", Template: "slow", Settings: &worse})
	number := a.define(runs.Selective, runs.Asked{Name: "some"}, "a.org/slow", "b.org/slow", "c.org/slow")
	p, err := a.harvester().Preview(t.Context(), number)
	if err != nil || p.Error != "" || p.Configurations != 1 || p.LeftOut[split.BadSettings] != 2 {
		t.Errorf("preview: %+v, %v", p, err)
	}
	a.begin(number)
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, []string{"a.org/slow"})
	if r := a.run(number, 1); r.State != runs.Made || r.LeftOut[string(split.BadSettings)] != 2 || r.Configurations != 1 {
		t.Errorf("%+v", r)
	}
}

// TestPreview plans what a split makes, and makes nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.settings(`{"domain_config_subset_size":10}`)
	all := a.many(25)
	number := a.define(runs.Selective, runs.Asked{Name: "some"}, all...)
	before := a.index
	p, err := a.harvester().Preview(t.Context(), number)
	if err != nil || a.index != before {
		t.Fatalf("%v; %d commands were decided", err, a.index-before)
	}
	a.begin(number)
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	var planned, made []int
	for _, j := range p.Jobs {
		planned = append(planned, j.Configurations)
	}
	of := a.made(number, 1)
	for _, id := range slices.Sorted(maps.Keys(of)) {
		made = append(made, len(of[id]))
	}
	if !slices.Equal(planned, made) || p.Count != int64(len(made)) || p.Configurations != int64(len(all)) || !p.Served || p.Expected == 0 {
		text, _ := json.Marshal(p)
		t.Errorf("planned %v, made %v: %s", planned, made, text)
	}
	if p, err = a.harvester().Preview(t.Context(), number); err != nil || p.Busy != int64(len(all)) || len(p.BusyDomains) != 25 {
		t.Errorf("%d configurations are in open jobs, of %d domains, %v", p.Busy, len(p.BusyDomains), err)
	}
	others := map[uint64]int64{number: 0, a.define(runs.Selective, runs.Asked{Name: "others"}, all[:5]...): 5,
		a.define(runs.Snapshot, runs.Asked{Name: "snapshot"}): 25}
	for _, n := range slices.Sorted(maps.Keys(others)) {
		if n != number {
			a.begin(n)
			if err := a.harvester().Split(t.Context(), n, 1); err != nil {
				t.Fatal(err)
			}
		}
		run, err := catalog.RunsIn(catalog.NewView(&a.state)).Run(n, 1)
		if err != nil || run.Busy != others[n] {
			t.Errorf("harvest %d: %d configurations were in open jobs of others, want %d, %v", n, run.Busy, others[n], err)
		}
	}
	empty, err := a.harvester().Preview(t.Context(), a.define(runs.Event, runs.Asked{Name: "none"}))
	if err != nil || empty.Count != 0 {
		t.Errorf("a harvest without configurations: %+v, %v", empty, err)
	}
}

// TestATemplateThatIsClosedInASplit: seeds that are put after it was closed are not crawled with what it said before.
func TestATemplateThatIsClosedInASplit(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	open, shut := `{"operator_contact":"a@example.org","allow_private":true}`, `{"operator_contact":"a@example.org"}`
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "open", Text: open})
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "middle", Text: shut})
	a.domain("a.org", domains.Configuring{Name: "first"}, domains.Configuring{Name: "second", Template: "middle"},
		domains.Configuring{Name: "third", Template: "open"})
	want := []string{"a.org/first", "a.org/second", "a.org/third"} // the third is read when the first job is stored
	number := a.define(runs.Selective, runs.Asked{Name: "h"}, want...)
	a.begin(number)
	jobsMade := 0
	a.before = func(kind catalog.Kind, _ any) (bool, error) {
		if kind == jobs.MakeJob {
			if jobsMade++; jobsMade == 1 {
				a.must(harvests.SetTemplate, harvests.Change{Name: "open", Text: &shut})
				text := "http://10.0.0.1/\n"
				a.must(domains.SetList, domains.Listing{Domain: "a.org", Kind: domains.Seeds,
					Name: domains.DefaultSeedList, Text: text, Items: 1, Sum: domains.SumOf([]string{text})})
			}
		}
		return true, nil
	}
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, want)
	for id := range a.made(number, 1) {
		job := see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) })
		head := see(a, func(v catalog.View) (harvest.Job, error) { return v.Head(&job) })
		lines := see(a, func(v catalog.View) ([]harvest.Configuration, error) { return v.Configurations(&job) })
		if head.Settings.AllowPrivate || job.Parts.Template == "open@1" {
			t.Errorf("job %d of %s crawls %v, which was put when the template was closed", id, job.Parts.Template,
				lines[0].Seeds)
		}
	}
}
