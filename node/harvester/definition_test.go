package harvester

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// TestAJobKnowsWhatItWasMadeFrom changes everything after a job was made.
func TestAJobKnowsWhatItWasMadeFrom(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	until := catalog.At(time.Now().Add(time.Hour))
	a.domain("a.org")
	a.domain("b.org")
	a.domain("c.org")
	a.must(domains.SetAlias, domains.Aliasing{Name: "b.org", Of: "a.org", Until: until})
	number := a.define(runs.Snapshot, runs.Asked{Name: "all", Audience: "readers", Comments: "the first"})
	a.begin(number)
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	var id uint64
	for id = range a.made(number, 1) {
	}
	job := see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) })
	text := `{"operator_contact":"other@example.org"}`
	a.must(harvests.SetTemplate, harvests.Change{Name: "default", Text: &text, Comment: new("by default")})
	a.must(runs.Set, runs.Change{Number: number, Version: a.harvest(number).Version, Asked: runs.Asked{Name: "renamed"}})
	d, err := a.harvester().Definition(job)
	if err != nil {
		t.Fatal(err)
	}
	if d.Said.Name != "all" || d.Said.Audience != "readers" || d.TemplateName != "default" ||
		d.TemplateComment != "by default" || d.TemplateMade.IsZero() {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(string(d.Template), "web@example.org") || !json.Valid(d.Harvest) ||
		!strings.Contains(string(d.Harvest), `"name":"all"`) || !strings.Contains(string(d.Harvest), `"harvestnum":1`) {
		t.Errorf("template %s, harvest %s", d.Template, d.Harvest)
	}
	if len(d.Aliases) != 1 || d.Aliases[0] != (Alias{"b.org", "a.org"}) {
		t.Errorf("aliases: %v", d.Aliases)
	}
	if string(d.Schedule) != `{"unit":"hour"}` {
		t.Errorf("schedule: %s", d.Schedule)
	}
}
