package catalog_test

import (
	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/domains"
)

func (h hostile) domain() domains.Name {
	return pick[domains.Name](h, "domain", "a.org", "a.org", "b.org", "c.org", "", "A.org", "a/b.org", "a..org")
}

func (h hostile) limit() *int64 {
	n := int64(h.number())
	return pick(h, "limit", nil, &n)
}

// domains draws a command about domains and what they have.
func (h hostile) domains() (catalog.Kind, any) {
	name := h.domain()
	one := pick(h, "one", "x", "x", "y", domains.DefaultConfiguration, domains.DefaultSeedList, "", "a/b")
	version := uint64(rapid.IntRange(0, 3).Draw(h.t, "version"))
	text := h.text()
	field := pick(h, "field", nil, []domains.FieldValue{{Name: "f", Value: text}}, []domains.FieldValue{{Name: "g"}})
	switch rapid.IntRange(0, 12).Draw(h.t, "domains") {
	case 0, 1, 2:
		return domains.Create, domains.Creation{Name: name, Collection: catalog.CollectionName(h.text()), Comments: text,
			Fields: field}
	case 3:
		to := catalog.CollectionName(h.text())
		return domains.Set, domains.Change{Name: name, Version: version, Default: &one, Owner: &text, Fields: &field,
			Collection: pick(h, "to", nil, &to)}
	case 4:
		return domains.SetAlias, domains.Aliasing{Name: name, Of: h.domain(), Until: h.time()}
	case 5:
		return domains.Remove, domains.Ref{Name: name, Reason: text}
	case 6:
		return domains.SetConfiguration, domains.Configuring{Domain: name, Name: one, Version: version, Template: "t",
			Lists: pick(h, "lists", nil, []string{"x"}, []string{"x", "x"}), Objects: h.limit(), Bytes: h.limit(),
			Settings: pick(h, "settings", nil, &text), Comments: text}
	case 7:
		return pick(h, "part", domains.RemoveConfiguration, domains.RemoveList), domains.PartRef{Domain: name, Name: one}
	case 8:
		return domains.AddText, domains.TextAddition{Domain: name, Kind: h.listKind(), List: one, Upload: "u",
			Number: h.number(), Text: text}
	case 9, 10:
		l := domains.Listing{Domain: name, Kind: h.listKind(), Name: one, Version: version, Text: text, Items: h.number(),
			Sum: domains.SumOf([]string{text})}
		if rapid.Bool().Draw(h.t, "upload") {
			l.Upload, l.Parts, l.Text = "u", h.number(), ""
		}
		return domains.SetList, l
	case 11:
		return domains.SetField, domains.Field{Of: pick(h, "of", domains.OfDomains, domains.OfHarvests, "x"),
			Name: pick(h, "name", "f", "g", ""), Type: pick(h, "type", domains.TextField, domains.NumberField, "x"),
			Mandatory: rapid.Bool().Draw(h.t, "mandatory")}
	}
	return domains.RemoveField, domains.FieldRef{Of: domains.OfDomains, Name: "f"}
}

func (h hostile) listKind() domains.ListKind {
	return pick(h, "kind", domains.Seeds, domains.Seeds, domains.Traps, "x")
}

// ingests draws a command about an ingest, or the settings of domains.
func (h hostile) ingests() (catalog.Kind, any) {
	id, seq := pick(h, "ingest", "i", "j", ""), uint64(rapid.IntRange(0, 3).Draw(h.t, "seq"))
	switch rapid.IntRange(0, 5).Draw(h.t, "ingests") {
	case 0, 1:
		return domains.BeginIngest, domains.IngestBeginning{ID: id, Collection: "web", Node: h.node(), Size: 100}
	case 2, 3:
		return domains.AddIngested, domains.IngestChunk{ID: id, Node: h.node(), Seq: seq, Line: int64(h.number()),
			At: int64(h.number()), Names: []domains.Name{h.domain(), h.domain()}, Bad: []domains.BadLine{{Line: 1,
				Reason: h.text()}}}
	case 4:
		return domains.EndIngest, domains.IngestEnding{ID: id, Node: h.node(), Seq: seq, Reason: h.text()}
	}
	if rapid.Bool().Draw(h.t, "stop") {
		return domains.StopIngest, domains.IngestStop{ID: id, Reason: h.text()}
	}
	return domains.SetSettings, domains.SettingsChange{Version: seq, Text: h.text()}
}
