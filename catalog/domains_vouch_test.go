package catalog_test

import (
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
)

// TestVouchForDomains plays a member that forwards commands about domains in the names of people.
func TestVouchForDomains(t *testing.T) {
	c := newTown(t)
	c.person("anna", admin)
	c.person("berta", curatorWeb)
	c.raiseTo(t, catalog.Level)
	for name, of := range map[domains.Name]catalog.CollectionName{"web.org": "web", "radio.org": "radio"} {
		c.must(t, domains.Create, domains.Creation{Name: name, Collection: of})
	}
	c.must(t, domains.BeginIngest, domains.IngestBeginning{ID: "radio", Collection: "radio", Node: id("south-1")})
	south := id("south-1")
	web, radio := catalog.CollectionName("web"), catalog.CollectionName("radio")
	for name, tt := range map[string]struct {
		kind  catalog.Kind
		actor string
		body  any
		good  bool
	}{
		"a domain":                 {domains.Create, "person:berta", domains.Creation{Name: "a.org", Collection: web}, true},
		"a domain elsewhere":       {domains.Create, "person:berta", domains.Creation{Name: "a.org", Collection: radio}, false},
		"a domain by itself":       {domains.Create, string(south), domains.Creation{Name: "a.org", Collection: web}, false},
		"a change":                 {domains.Set, "person:berta", domains.Change{Name: "web.org"}, true},
		"a change of another":      {domains.Set, "person:berta", domains.Change{Name: "radio.org"}, false},
		"a move":                   {domains.Set, "person:berta", domains.Change{Name: "web.org", Collection: &radio}, false},
		"a move here":              {domains.Set, "person:berta", domains.Change{Name: "radio.org", Collection: &web}, false},
		"a move by who may":        {domains.Set, "person:anna", domains.Change{Name: "web.org", Collection: &radio}, true},
		"a configuration":          {domains.SetConfiguration, "person:berta", domains.Configuring{Domain: "web.org", Name: "radio.org"}, true},
		"another's configuration":  {domains.SetConfiguration, "person:berta", domains.Configuring{Domain: "radio.org", Name: "web.org"}, false},
		"another's list":           {domains.SetList, "person:berta", domains.Listing{Domain: "radio.org"}, false},
		"what there is not":        {domains.Remove, "person:berta", domains.Ref{Name: "none.org"}, false},
		"a field":                  {domains.SetField, "person:berta", domains.Field{}, false},
		"a field by who may":       {domains.SetField, "person:anna", domains.Field{}, true},
		"settings":                 {domains.SetSettings, "person:berta", domains.SettingsChange{}, false},
		"an ingest":                {domains.BeginIngest, "person:berta", domains.IngestBeginning{Collection: web}, true},
		"an ingest elsewhere":      {domains.BeginIngest, "person:berta", domains.IngestBeginning{Collection: radio}, false},
		"a stop of another":        {domains.StopIngest, "person:berta", domains.IngestStop{ID: "radio"}, false},
		"a chunk by itself":        {domains.AddIngested, string(south), domains.IngestChunk{ID: "radio", Node: south}, true},
		"a chunk in anyone's name": {domains.AddIngested, "person:anna", domains.IngestChunk{ID: "radio", Node: south}, false},
	} {
		cmd := catalog.Command{Kind: tt.kind, Actor: tt.actor, Node: south, Body: raw(t, tt.body)}
		if err := c.people().Vouch(south, &cmd, "", c.now); (err == nil) != tt.good {
			t.Errorf("%s: %v, want it accepted: %t", name, err, tt.good)
		}
	}
}

// TestSecretsOfConfigurations follows the secret of a configuration: it stays while the settings do, is sealed to further
// nodes, and goes with the settings or the domain.
func TestSecretsOfConfigurations(t *testing.T) {
	c, a, _ := sealing(t)
	c.raiseTo(t, catalog.Level)
	crawls := true
	c.send(t, catalog.Command{Kind: catalog.UpdateMember, Node: a.ID, Boot: 1, Seq: 1},
		catalog.MemberChange{ID: a.ID, Crawls: &crawls, Seal: a.seal("k")})
	c.must(t, domains.Create, domains.Creation{Name: "a.org", Collection: "web"})
	secret := func(id string) *catalog.Secret {
		return &catalog.Secret{ID: id, Text: []byte("x"), Boxes: []catalog.Box{box(a, "k")}}
	}
	settings := `{"first_cookies":"[sealed first_cookies]"}`
	config := domains.Configuring{Domain: "a.org", Name: "x", Template: "t", Settings: &settings, Secret: secret("s1")}
	c.must(t, domains.SetConfiguration, config)
	config.Version, config.Settings = 1, nil
	if res := c.apply(t, domains.SetConfiguration, config); res.Refusal == nil {
		t.Error("a secret without settings")
	}
	config.Secret = nil
	c.must(t, domains.SetConfiguration, config)
	c.must(t, catalog.SealToNodes, catalog.SealAgain{ID: "s1", Boxes: []catalog.Box{box(a, "k")}})
	kept, err := c.domains().Configuration("a.org", "x")
	if err != nil || kept.Secret != "s1" || kept.Settings != settings || c.starting("secret/s1") != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
	config.Version, config.Settings, config.Secret = 2, &settings, secret("s2")
	c.must(t, domains.SetConfiguration, config)
	if c.starting("secret/s1") != 0 || c.starting("secret/s2") != 1 {
		t.Error("the secret of settings that are gone is there still, or the new one is not")
	}
	c.must(t, domains.Remove, domains.Ref{Name: "a.org"})
	if n := c.starting("secret/"); n != 0 {
		t.Errorf("%d secrets are left of a domain that is gone", n)
	}
}
