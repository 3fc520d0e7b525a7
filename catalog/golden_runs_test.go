package catalog_test

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// runs defines harvests, changes and removes them, and has them run.
func (g *golden) runs() {
	const who = "north-1"
	limit := int64(1e9)
	for i, kind := range []runs.Kind{runs.Selective, runs.Event, runs.Snapshot, runs.Snapshot, "x"} {
		asked := runs.Asked{Name: fmt.Sprintf("harvest %d", i), Schedule: "daily", Audience: `"all" <&> é`}
		if kind == runs.Snapshot {
			asked.Schedule, asked.Bytes, asked.Objects, asked.MaxTime = "", &limit, &limit, 3600
		}
		g.say(who, runs.Create, runs.Creation{Kind: kind, Collection: "web", Asked: asked})
	}
	g.say(who, domains.Create, domains.Creation{Name: "harvested.org", Collection: "web"})
	some := []runs.Configuration{{Domain: "harvested.org", Name: domains.DefaultConfiguration}}
	for number := range uint64(4) {
		g.say(who, runs.AddConfigurations, runs.Listing{Number: number + 1, Configurations: some})
	}
	g.say(who, runs.Set, runs.Change{Number: 2, Version: 2, Asked: runs.Asked{Name: "two", Schedule: "weekly",
		Start: g.now, Comments: "c"}})
	for number, version := range []uint64{2, 3, 1} {
		g.say(who, runs.Activate, runs.Activation{Number: uint64(number + 1), Version: version, Next: g.now})
		h, _ := g.cluster.runs().Harvest(uint64(number + 1))
		begin := runs.Beginning{Number: h.Number, Date: h.Next, Skipped: 2}
		if h.Kind != runs.Snapshot {
			begin.Next, begin.Schedule = h.Next+1e6, `{"unit":"day"}`
		}
		g.say(who, runs.BeginRun, begin)
	}
	g.say(who, runs.EndRun, runs.Ending{Number: 1, Run: 1, Configurations: 5, Gone: 1, GoneNames: some,
		LeftOut: map[string]int64{"alias": 2, "no-seeds": 1}})
	g.say(who, runs.EndRun, runs.Ending{Number: 2, Run: 1, Error: "broken", Detail: "long"})
	g.say(who, runs.Set, runs.Change{Number: 4, Version: 1, Asked: runs.Asked{Name: "continues", Earlier: 3}})
	g.say(who, domains.Remove, domains.Ref{Name: "harvested.org"})
	g.say(who, runs.RemoveConfigurations, runs.Listing{Number: 2, Configurations: some})
	g.say(who, runs.Deactivate, runs.Ref{Number: 1, Reason: "enough"})
	g.say(who, runs.Remove, runs.Ref{Number: 1})
	g.say(who, runs.Remove, runs.Ref{Number: 4})
	seeding := domains.Seeding{Domain: "seeded.org", Name: "harvest-2", Text: "http://seeded.org/\n", Items: 1}
	add := runs.SeedsAddition{Number: 2, Template: "default", Bytes: &limit, Domains: []domains.Seeding{seeding}}
	g.say(who, runs.AddSeeds, add)
	g.say(who, runs.AddSeeds, add)
	add.Domains[0].Version, add.Domains[0].Text = 1, "http://www.seeded.org/\n"
	g.say(who, runs.AddSeeds, add)
	g.say(who, runs.SetSettings, runs.SettingsChange{Text: `{"generator":"fixed"}`})
	g.say(who, runs.SetSettings, runs.SettingsChange{Text: `{}`})
	making := jobs.JobMaking{Opening: jobs.JobOpening{Harvest: "h", Collection: "web", Channel: "FOCUSED", Number: 2,
		Run: 1, Template: "default@1"}, Parts: []jobs.Part{{Kind: jobs.PartJob, Text: `{"é":"<&>"}`},
		{Kind: jobs.PartConfigurations, Items: 2, Text: "[]", Domains: []string{"a.org", "b.org"}}}}
	g.say(who, jobs.MakeJob, making)
	g.say(who, jobs.MakeJob, making)
	making.Opening.After = 1
	g.say(who, jobs.MakeJob, making)
	g.say(who, catalog.SubmitJob, catalog.JobRef{ID: 1})
}
