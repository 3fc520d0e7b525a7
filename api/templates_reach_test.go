package api

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/client"
)

// Settings of templates with which crawls cannot reach the nodes' own network, and with which they can.
const (
	shut   = `{"operator_contact":"a@example.org"}`
	inside = `{"operator_contact":"a@example.org","allow_private":true}`
)

// TestATemplateNeverComesToReachTheNodesNetwork: who put what is crawled with it did not have to be an operator. One
// that does is changed by operators alone.
func TestATemplateNeverComesToReachTheNodesNetwork(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	carl := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator}))
	otto := open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator})).Templates()
	for name, text := range map[string]string{"default": shut, "used": shut, "unused": shut, "open": inside,
		"closed": inside} {
		b.must(defined.CreateTemplate, defined.Creation{Name: name, Text: text})
	}
	b.must(kept.Create, kept.Creation{Name: "a.org", Collection: "web"})
	used := "used"
	_, err := carl.Domains().PutSeeds(t.Context(), "a.org", "router", "", strings.NewReader("http://10.0.0.1/\n"))
	if err == nil {
		_, err = carl.Domains().Configure(t.Context(), "a.org", "x",
			wire.ConfigurationChange{Template: &used, Seeds: &[]string{"router"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "y", Template: "named"})
	set := func(who client.Templates, name, text string, after int) error {
		_, err := who.Set(t.Context(), name, wire.TemplateChange{Settings: json.RawMessage(text), After: after})
		return err
	}
	create := func(name string) error {
		_, err := otto.Create(t.Context(), wire.TemplateRequest{Name: name, Settings: json.RawMessage(inside)})
		return err
	}
	for _, tt := range []struct {
		name   string
		do     func() error
		status int // 0: it is done
		says   string
	}{
		{"one in use", func() error { return set(otto, "used", inside, 0) }, 409, "version 1 of template used"},
		{"after its version", func() error { return set(otto, "used", inside, 1) }, 409, "version 1 of template used"},
		{"one without use", func() error { return set(otto, "unused", inside, 0) }, 409, "allow_private"},
		{"none", func() error { return set(otto, "none", inside, 0) }, 404, "none"},
		{"a new one that is named", func() error { return create("named") }, 409, "domain a.org names template named"},
		{"a copy that is named", func() error {
			_, err := otto.Copy(t.Context(), "open", wire.Copying{Name: "named"})
			return err
		}, 409, "domain a.org names template named"},
		{"an operator's", func() error { return set(carl.Templates(), "open", shut, 0) }, 403, "allow_private"},
		{"one that was closed meanwhile", func() error {
			b.lags = func() {
				b.lags = nil
				text := shut
				b.must(defined.SetTemplate, defined.Change{Name: "closed", Text: &text})
			}
			return set(otto, "closed", inside, 0)
		}, 409, "version 2 of template closed"},
		{"an older version", func() error { return set(otto, "closed", inside, 1) }, 409, "has version 2 by now"},
		{"the default one", func() error { return set(otto, "default", inside, 0) }, 0, ""},
		{"other settings", func() error { return set(carl.Templates(), "used", `{"operator_contact":"b@example.org"}`, 0) }, 0, ""},
		{"one that does", func() error { return set(otto, "open", inside[:len(inside)-1]+`,"max_hops":3}`, 0) }, 0, ""},
		{"a new one", func() error { return create("new") }, 0, ""},
	} {
		version := b.index
		switch err := tt.do(); {
		case tt.status == 0 && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.status != 0 && (status(err) != tt.status || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want %d with %q", tt.name, err, tt.status, tt.says)
		case tt.status == 409 && strings.HasPrefix(tt.says, "domain") && b.index != version:
			t.Errorf("%s: it was asked for all the same", tt.name)
		}
	}
}

// TestEventSeedsFeedNoOtherConfiguration: the list of an event is a configuration's that an operator made, too. What an
// operator decides while a list is on its way counts.
func TestEventSeedsFeedNoOtherConfiguration(t *testing.T) {
	t.Parallel()
	b, all, c := keeperAnd(t, "a.org")
	for name, text := range map[string]string{"default": shut, "open": inside, "deleted": shut} {
		b.must(defined.CreateTemplate, defined.Creation{Name: name, Text: text})
	}
	made(t, all.Harvests(), wire.HarvestRequest{Name: "e", Kind: "event", Schedule: "daily", Collection: "web"})
	seed := func(url, template string) (wire.HarvestSeeds, error) {
		return all.Harvests().AddSeeds(t.Context(), 1, client.SeedsOptions{Template: template}, strings.NewReader(url+"\n"))
	}
	if got, err := seed("http://a.org/", ""); err != nil || got.Seeds != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	reaching := kept.Configuring{Domain: "a.org", Name: "intranet", Template: "open", Lists: []string{"e-1"}}
	b.must(kept.SetConfiguration, reaching)
	got, err := seed("http://a.org/router", "")
	if err != nil || got.Bad != 1 || got.Seeds != 0 || !strings.Contains(got.BadLines[0].Reason, "allow_private") {
		t.Errorf("a seed for the list of an operator's configuration: %+v, %v", got, err)
	}
	later := func(do func()) {
		b.lags = func() { b.lags = nil; do() }
	}
	later(func() {
		reaching.Name, reaching.Lists = "other", []string{kept.DefaultSeedList}
		b.must(kept.SetConfiguration, reaching)
	})
	_, err = c.PutSeeds(t.Context(), "a.org", kept.DefaultSeedList, "", strings.NewReader("http://10.0.0.1/\n"))
	if status(err) != 403 {
		t.Errorf("a list that an operator's configuration has by now: %v", err)
	}
	comment := "x"
	later(func() {
		laid := `{"allow_private":true}`
		b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "laid", Template: "default", Settings: &laid})
	})
	if _, err = c.Configure(t.Context(), "a.org", "laid", wire.ConfigurationChange{Comments: &comment}); status(err) != 403 {
		t.Errorf("a configuration that an operator has made by now: %v", err)
	}
	later(func() {
		b.must(defined.DeleteTemplate, defined.Ref{Name: "deleted"})
		b.must(defined.CreateTemplate, defined.Creation{Name: "deleted", Text: inside})
	})
	if got, err := seed("http://b.org/", "deleted"); status(err) != 403 {
		t.Errorf("seeds for a template that was made again meanwhile: %+v, %v", got, err)
	}
}
