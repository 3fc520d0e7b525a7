package catalog_test

import (
	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
)

// harvests draws a command about channels, templates, schedules and lists of traps.
func (h hostile) harvests() (catalog.Kind, any) {
	name := pick(h, "name", "x", "x", "y", "EVENTS", "FOCUSED", "daily", "", "a/b", "a-b")
	text, off := h.text(), rapid.Bool().Draw(h.t, "off")
	kind := string(pick(h, "kind", harvests.Kinds()...))
	secret := pick(h, "secret", nil, nil, &jobs.Secret{ID: "s", Text: []byte("x"),
		Boxes: []jobs.Box{{Node: h.node(), Key: []byte("k"), Box: []byte("b")}}})
	switch rapid.IntRange(0, 8).Draw(h.t, "harvests") {
	case 0:
		return harvests.CreateChannel, harvests.ChannelCreation{Name: name, Snapshot: off, Comment: text}
	case 1:
		return harvests.SetChannel, harvests.ChannelChange{Name: name, Comment: text}
	case 2:
		return harvests.DeleteChannel, harvests.Ref{Name: name}
	case 3, 4:
		return catalog.Kind(kind + ".create"), harvests.Creation{Name: name, Text: text, Items: h.number(), Off: off,
			Comment: h.text(), Secret: secret}
	case 5, 6:
		return catalog.Kind(kind + ".set"), harvests.Change{Name: name, After: h.number(), Text: pick(h, "new", nil, &text),
			Items: h.number(), Off: pick(h, "switch", nil, &off), Secret: secret}
	case 7:
		return catalog.Kind(kind + ".copy"), harvests.Copying{From: name, Version: h.number(),
			Name: pick(h, "to", "z", "y", "")}
	}
	return catalog.Kind(kind + ".delete"), harvests.Ref{Name: name}
}

// defined fails unless all that is defined can be read.
func defined(t interface{ Fatalf(string, ...any) }, c *cluster) {
	view := catalog.HarvestsIn(c.view())
	if _, err := view.Channels(); err != nil {
		t.Fatalf("channels: %v", err)
	}
	for _, kind := range harvests.Kinds() {
		all, err := view.Definitions(kind)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, d := range all {
			if _, err := view.Versions(kind, d.Name); err != nil {
				t.Fatalf("versions of %s %s: %v", kind, d.Name, err)
			}
			if _, _, err := view.Text(kind, d.Name, d.Version); err != nil {
				t.Fatalf("%s %s: %v", kind, d.Name, err)
			}
		}
	}
}
