package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
)

// TestAMandatoryFieldIsGiven by whoever says something of a domain or a harvest, from when it is mandatory on. What was
// there before stays as it is.
func TestAMandatoryFieldIsGiven(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	before := c.defined(t, runs.Selective, "before")
	for _, of := range []domains.FieldOf{domains.OfDomains, domains.OfHarvests} {
		c.must(t, domains.SetField, domains.Field{Of: of, Name: "fund", Type: domains.NumberField, Mandatory: true})
		c.must(t, domains.SetField, domains.Field{Of: of, Name: "note", Type: domains.TextField})
	}
	given := []domains.FieldValue{{Name: "fund", Value: "7"}}
	for name, tt := range map[string]struct {
		kind   catalog.Kind
		body   any
		reason string
	}{
		"a new harvest without it": {runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web",
			Asked: runs.Asked{Name: "x", Schedule: "daily"}}, "the field fund is mandatory"},
		"a new harvest with another alone": {runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web",
			Asked: runs.Asked{Name: "x", Schedule: "daily", Fields: []domains.FieldValue{{Name: "note", Value: "n"}}}},
			"the field fund is mandatory"},
		"a harvest from before, changed": {runs.Set, runs.Change{Number: before, Version: 1,
			Asked: runs.Asked{Name: "before", Schedule: "daily"}}, "the field fund is mandatory"},
		"a domain from before, changed": {domains.Set, domains.Change{Name: "a.org",
			Fields: &[]domains.FieldValue{{Name: "note", Value: "n"}}}, "the field fund is mandatory"},
		"a new domain without it": {domains.Create, domains.Creation{Name: "made.org", Collection: "web"},
			"the field fund is mandatory"},
		"a value of another type": {domains.Set, domains.Change{Name: "a.org",
			Fields: &[]domains.FieldValue{{Name: "fund", Value: "seven"}}}, "field fund"},
	} {
		res := c.apply(t, tt.kind, tt.body)
		if refusedAs(t, res, catalog.Invalid, name); res.Refusal != nil && !strings.Contains(res.Refusal.Message, tt.reason) {
			t.Errorf("%s: %s", name, res.Refusal.Message)
		}
	}
	c.must(t, runs.Set, runs.Change{Number: before, Version: 1, Asked: runs.Asked{Name: "before", Schedule: "daily", Fields: given}})
	c.must(t, domains.Set, domains.Change{Name: "a.org", Fields: &given})
	c.must(t, domains.Create, domains.Creation{Name: "made.org", Collection: "web", Fields: given})
}
