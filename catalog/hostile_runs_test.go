package catalog_test

import (
	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
)

// runs draws a command about harvests and their runs.
func (h hostile) runs() (catalog.Kind, any) {
	number := uint64(rapid.IntRange(0, 3).Draw(h.t, "harvest"))
	version := uint64(rapid.IntRange(0, 4).Draw(h.t, "version"))
	text, at := h.text(), h.time()
	asked := runs.Asked{Name: pick(h, "name", "x", "y", "z", ""), Schedule: pick(h, "schedule", "daily", "daily", "", "s"),
		Channel: pick(h, "channel", "", "", "FOCUSED", "SNAPSHOT", "none"), Objects: h.limit(), Comments: text,
		Earlier: uint64(rapid.IntRange(0, 3).Draw(h.t, "earlier"))}
	some := []runs.Configuration{{Domain: h.domain(), Name: pick(h, "of", "x", domains.DefaultConfiguration)}}
	switch rapid.IntRange(0, 11).Draw(h.t, "runs") {
	case 0, 1:
		return runs.Create, runs.Creation{Kind: pick(h, "kind", runs.Selective, runs.Snapshot, "x"),
			Collection: catalog.CollectionName(text), Asked: asked}
	case 2:
		return runs.Set, runs.Change{Number: number, Version: version, Next: at, Asked: asked}
	case 3, 4:
		return runs.Activate, runs.Activation{Number: number, Version: version, Next: at}
	case 5:
		return pick(h, "end", runs.Deactivate, runs.Remove), runs.Ref{Number: number, Reason: text}
	case 6:
		return pick(h, "list", runs.AddConfigurations, runs.RemoveConfigurations), runs.Listing{Number: number,
			Configurations: some}
	case 7:
		return runs.SetSettings, runs.SettingsChange{Version: version, Text: text}
	case 8:
		return runs.AddSeeds, runs.SeedsAddition{Number: number, Template: text, Objects: h.limit(),
			Domains: []domains.Seeding{{Domain: h.domain(), Name: pick(h, "of", "x", text), Version: version % 2,
				Text: text + "\n", Items: 1}}}
	case 9, 10:
		return runs.BeginRun, runs.Beginning{Number: number, Date: at, Next: h.time(), Skipped: version}
	}
	return runs.EndRun, runs.Ending{Number: number, Run: version, Jobs: uint64(rapid.IntRange(0, 1).Draw(h.t, "jobs")),
		Error: text, LeftOut: map[string]int64{text: 1}}
}
