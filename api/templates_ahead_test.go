package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/client"
)

// A template that is not there yet cannot become the default one: it would be everybody's when an operator makes it with
// what only operators may set.
func TestADefaultTemplateIsThere(t *testing.T) {
	t.Parallel()
	_, all, _ := keeperAnd(t, "a.org")
	_, err := all.Domains().SetSettings(t.Context(), map[string]any{"default_template": "intranet"})
	if !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("a template that is not there is the default one: %v", err)
	}
}

// A copy is of the version that was looked at, whatever is decided meanwhile.
func TestACopyIsOfWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	carl := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator}))
	b.must(defined.CreateTemplate, defined.Creation{Name: "default", Text: shut})
	b.must(kept.Create, kept.Creation{Name: "a.org", Collection: "web"})
	b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "y", Template: "named"})
	b.between = func() {
		text := inside
		b.must(defined.SetTemplate, defined.Change{Name: "default", Text: &text})
	}
	got, err := carl.Templates().Copy(t.Context(), "default", wire.Copying{Name: "named"})
	if err != nil || strings.Contains(string(got.Settings), "allow_private") {
		t.Errorf("the copy has %s, %v", got.Settings, err)
	}
}

// Seeds go by what is the default template when they are given.
func TestSeedsGoByTheDefaultOfNow(t *testing.T) {
	t.Parallel()
	b, all, _ := keeperAnd(t, "a.org")
	b.must(defined.CreateTemplate, defined.Creation{Name: "default", Text: inside})
	b.must(defined.CreateTemplate, defined.Creation{Name: "safe", Text: shut})
	made(t, all.Harvests(), wire.HarvestRequest{Name: "e", Kind: "event", Schedule: "daily", Collection: "web"})
	b.lags = func() {
		b.lags = nil
		b.must(kept.SetSettings, kept.SettingsChange{Text: `{"default_template":"safe"}`})
	}
	got, err := all.Harvests().AddSeeds(t.Context(), 1, client.SeedsOptions{}, strings.NewReader("http://router.b.org/\n"))
	if err == nil || got.Configurations > 0 {
		t.Errorf("seeds with the template that was the default one: %+v, %v", got, err)
	}
}

// A version that is named ahead of time is not one that was looked at.
func TestAVersionAheadIsRefused(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	carl := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator}))
	otto := open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator})).Templates()
	for _, n := range []string{"default", "used"} {
		b.must(defined.CreateTemplate, defined.Creation{Name: n, Text: shut})
	}
	b.must(kept.Create, kept.Creation{Name: "a.org", Collection: "web"})
	b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "y", Template: "used"})
	b.between = func() {
		laid := `{"allow_private":true}`
		b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "y", Template: "used", Version: 1, Settings: &laid})
	}
	ahead, lists := uint64(2), []string{kept.DefaultSeedList}
	_, err := carl.Domains().Configure(t.Context(), "a.org", "y", wire.ConfigurationChange{Version: &ahead, Seeds: &lists})
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != wire.CodeConflict {
		t.Errorf("a configuration is changed by a version ahead: %v", err)
	}
	b.between = func() {
		text := `{"operator_contact":"b@example.org"}`
		b.must(defined.SetTemplate, defined.Change{Name: "used", Text: &text})
	}
	_, err = otto.Set(t.Context(), "used", wire.TemplateChange{Settings: json.RawMessage(inside), After: 2})
	if !errors.As(err, &refused) || refused.Code != wire.CodeConflict {
		t.Errorf("a template is opened by a version ahead: %v", err)
	}
}
