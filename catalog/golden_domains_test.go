package catalog_test

import (
	"fmt"
	"strings"

	"holdfast/catalog"
	"holdfast/catalog/domains"
)

// domains makes domains with all that they can have, changes and removes them, and brings lists of them in.
func (g *golden) domains() {
	const who = "north-1"
	words := []string{"", "plain", `"quoted" <&> é`, "line\nline"}
	for i, of := range []domains.FieldOf{domains.OfDomains, domains.OfHarvests} {
		for j, kind := range []domains.FieldType{domains.TextField, domains.NumberField, domains.DateField,
			domains.BooleanField} {
			g.say(who, domains.SetField, domains.Field{Of: of, Name: string(kind) + "1", Type: kind, Mandatory: j == 9,
				Comments: words[i]})
		}
	}
	values := []domains.FieldValue{{Name: "date1", Value: "2026-11-20"}, {Name: "number1", Value: "1.5"}}
	for i := range 12 {
		name := domains.Name(fmt.Sprintf("d%d.example", i))
		created := domains.Creation{Name: name, Collection: []catalog.CollectionName{"web", "radio"}[i%2],
			Owner: words[i%3], Comments: words[i%4]}
		if i%3 == 0 {
			created.Fields = values
		}
		g.say(who, domains.Create, created)
		g.lists(name, i)
		g.configurations(name, i)
	}
	year := g.now + 365*24*3600_000
	g.say(who, domains.SetAlias, domains.Aliasing{Name: "d1.example", Of: "d0.example", Until: year})
	g.say(who, domains.SetAlias, domains.Aliasing{Name: "d2.example", Of: "d0.example", Until: year})
	g.say(who, domains.SetAlias, domains.Aliasing{Name: "d2.example", Of: "d0.example", Until: year + 1})
	g.say(who, domains.SetAlias, domains.Aliasing{Name: "d3.example", Of: "d2.example", Until: year})
	g.say(who, domains.SetAlias, domains.Aliasing{Name: "d1.example"})
	for _, i := range []int{0, 5, 6} {
		g.say(who, domains.Remove, domains.Ref{Name: domains.Name(fmt.Sprintf("d%d.example", i)), Reason: words[2]})
	}
	g.say(who, domains.RemoveField, domains.FieldRef{Of: domains.OfHarvests, Name: "text1"})
	g.say(who, domains.RemoveField, domains.FieldRef{Of: domains.OfDomains, Name: "date1"})
	g.say(who, domains.SetSettings, domains.SettingsChange{Text: `{"alias_expiry":"1h"}`})
	g.say(who, domains.SetSettings, domains.SettingsChange{Version: 1, Text: words[2]})
	g.ingests()
}

// lists gives a domain a seed list of parts, others at once, and traps.
func (g *golden) lists(name domains.Name, i int) {
	parts := []string{"http://" + string(name) + "/\n", "# <&> é\n"}
	for n, part := range parts {
		g.say("north-1", domains.AddText, domains.TextAddition{Domain: name, Kind: domains.Seeds, List: "parts", Upload: "u",
			Number: n + 1, Text: part})
	}
	g.say("north-1", domains.SetList, domains.Listing{Domain: name, Kind: domains.Seeds, Name: "parts", Upload: "u", Parts: 2,
		Items: 1, Sum: domains.SumOf(parts), Comments: "c"})
	for version := range uint64(3) {
		text := strings.Repeat("http://x/\n", int(version))
		g.say("north-1", domains.SetList, domains.Listing{Domain: name, Kind: domains.Seeds, Name: "once", Version: version,
			Text: text, Items: int(version), Sum: domains.SumOf(domains.Divide(text))})
	}
	g.say("north-1", domains.SetList, domains.Listing{Domain: name, Kind: domains.Traps, Name: "traps", Text: "a.*\n", Items: 1,
		Sum: domains.SumOf([]string{"a.*\n"})})
	if i%4 == 0 {
		g.say("north-1", domains.RemoveList, domains.PartRef{Domain: name, Name: "once", Reason: "<&>"})
	}
}

// configurations gives a domain configurations, changes and removes them.
func (g *golden) configurations(name domains.Name, i int) {
	zero, some, settings := int64(0), int64(1e9), `{"max_hops":3,"user_agent":"<&>"}`
	config := domains.Configuring{Domain: name, Name: "weekly", Template: "t", Lists: []string{"parts", "defaultseeds"},
		Objects: &zero, Bytes: &some, Settings: &settings, Comments: "é"}
	g.say("north-1", domains.SetConfiguration, config)
	config.Version, config.Settings, config.Objects, config.Template = 1, nil, nil, "u"
	g.say("north-1", domains.SetConfiguration, config)
	config.Version, config.Name = 0, domains.DefaultConfiguration
	g.say("north-1", domains.SetConfiguration, config)
	weekly, owner, radio := "weekly", "anna", catalog.CollectionName("radio")
	g.say("north-1", domains.Set, domains.Change{Name: name, Default: &weekly, Owner: &owner, Collection: &radio})
	g.say("north-1", domains.RemoveConfiguration, domains.PartRef{Domain: name, Name: "weekly"})
	if i%2 == 0 {
		g.say("north-1", domains.RemoveConfiguration, domains.PartRef{Domain: name, Name: domains.DefaultConfiguration})
	}
}

// ingests brings in a list to its end, one that is stopped, and one that fails.
func (g *golden) ingests() {
	for i, end := range []string{"done", "stop", "fail"} {
		b := domains.IngestBeginning{ID: fmt.Sprint("in-", i), Collection: "web", Node: id("north-1"), Size: 100,
			SHA256: digest("list")}
		g.say("north-1", domains.BeginIngest, b)
		for seq := uint64(1); seq < 4; seq++ {
			g.say("north-1", domains.AddIngested, domains.IngestChunk{ID: b.ID, Node: b.Node, Seq: seq, Line: int64(seq),
				At: int64(10 * seq), Names: []domains.Name{"d4.example", domains.Name(fmt.Sprintf("i%d.example", seq))},
				Bad: []domains.BadLine{{Line: int64(seq), Reason: `"<&>" é`}}})
		}
		switch end {
		case "stop":
			g.say("north-1", domains.StopIngest, domains.IngestStop{ID: b.ID, Reason: "enough"})
		default:
			g.say("north-1", domains.EndIngest, domains.IngestEnding{ID: b.ID, Node: b.Node, Seq: 3, Failed: end == "fail",
				Reason: "x"})
		}
	}
}
