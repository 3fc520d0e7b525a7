package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/client"
)

// occasion is a cluster with templates default and quick, and an event harvest.
func occasion(t *testing.T) (*backend, client.Harvests, client.Domains) {
	t.Helper()
	b, all, domains := keeperAnd(t, "a.org")
	for _, name := range []string{"default", "quick"} {
		b.must(defined.CreateTemplate, defined.Creation{Name: name, Text: "{}"})
	}
	made(t, all.Harvests(), wire.HarvestRequest{Name: "Wahl 2026: Köln", Kind: "event", Schedule: "daily",
		Collection: "web"})
	return b, all.Harvests(), domains
}

// TestSeedsAreGivenInBulk uploads a list with good and bad lines, and again.
func TestSeedsAreGivenInBulk(t *testing.T) {
	t.Parallel()
	b, c, domains := occasion(t)
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	b.must(kept.Create, kept.Creation{Name: "radio.org", Collection: "radio"})
	const list = "\uFEFF# the election\r\nhttps://www.a.org/vote # daily\r\n\r\nhttp://Bücher.example/\r\na.org\r\n" +
		"http://a.org/b#c\nhttp://radio.org/\nhttp://127.0.0.1/\nhttps://www.a.org/vote\nhttp://a.org/\xe6\n"
	o := client.SeedsOptions{Template: "quick", Objects: "500", Bytes: "none"}
	got, err := c.AddSeeds(t.Context(), 1, o, strings.NewReader(list))
	if err != nil || got.Lines != 8 || got.Seeds != 3 || got.Known != 1 || got.Domains != 1 || got.Configurations != 2 ||
		got.Bad != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	slices.SortFunc(got.BadLines, func(a, b wire.BadLine) int { return int(a.Line - b.Line) })
	for i, want := range []wire.BadLine{{Line: 5, Reason: "URL"}, {Line: 7, Reason: "collection radio"},
		{Line: 8, Reason: "address"}, {Line: 10, Reason: "UTF-8"}} {
		if bad := got.BadLines[i]; bad.Line != want.Line || !strings.Contains(bad.Reason, want.Reason) {
			t.Errorf("%+v, want %+v", bad, want)
		}
	}
	const name = "Wahl_2026__K_ln-1"
	text, err := domains.Seeds(t.Context(), "a.org", name, 0)
	if err != nil || text != "https://www.a.org/vote\nhttp://a.org/b#c\n" {
		t.Errorf("%q, %v", text, err)
	}
	d, err := domains.Show(t.Context(), "bücher.example")
	if err != nil || len(d.Configurations) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	k := d.Configurations[0]
	if most, given := k.Objects.Given(); k.Name != name || k.Template != "quick" || !given || most != 500 ||
		!k.Bytes.IsZero() || !slices.Equal(k.Seeds, []string{name}) {
		t.Errorf("%+v", k)
	}
	index := b.index
	got, err = c.AddSeeds(t.Context(), 1, o, strings.NewReader(list))
	if err != nil || got.Seeds != 0 || got.Known != 4 || got.Bad != 4 || b.index != index {
		t.Errorf("a repeat: %+v, %v, and %d decisions", got, err, b.index-index)
	}
	// The harvest has another name now, and more seeds come, with the template that there is.
	other := "Köln"
	if _, err := c.Set(t.Context(), 1, wire.HarvestChange{Name: &other}); err != nil {
		t.Fatal(err)
	}
	got, err = c.AddSeeds(t.Context(), 1, client.SeedsOptions{}, strings.NewReader("http://a.org/new\nhttp://c.org/\n"))
	if err != nil || got.Seeds != 2 || got.Configurations != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err = domains.Seeds(t.Context(), "a.org", name, 0); err != nil || !strings.HasSuffix(text, "http://a.org/new\n") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err = domains.Seeds(t.Context(), "c.org", "K_ln-1", 0); err != nil {
		t.Error(err)
	}
	got, err = c.AddSeeds(t.Context(), 1, client.SeedsOptions{Template: "default"}, strings.NewReader("http://a.org/x\n"))
	if err != nil || got.Bad != 1 || !strings.Contains(got.BadLines[0].Reason, "has the template quick") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestManySeedsAreGiven in several decisions, while somebody else changes a list.
func TestManySeedsAreGiven(t *testing.T) {
	t.Parallel()
	b, c, domains := occasion(t)
	var list strings.Builder
	for i := range 250 {
		fmt.Fprintf(&list, "http://d%d.org/\nhttp://d%d.org/two\n", i, i)
	}
	for i := range 3000 {
		fmt.Fprintf(&list, "http://a.org/%d/%s\n", i, strings.Repeat("x", 80))
	}
	b.between = func() {
		if _, err := domains.PutSeeds(b.t.Context(), "a.org", "other", "", strings.NewReader("http://a.org/\n")); err != nil {
			t.Error(err)
		}
	}
	got, err := c.AddSeeds(t.Context(), 1, client.SeedsOptions{}, strings.NewReader(list.String()))
	if err != nil || got.Seeds != 3500 || got.Domains != 250 || got.Configurations != 251 || got.Bad != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	d, err := domains.Show(t.Context(), "a.org")
	if err != nil || len(d.Seeds) != 3 || d.Seeds[0].Items != 3000 {
		t.Errorf("%+v, %v", d.Seeds, err)
	}
	h, err := c.Show(t.Context(), 1)
	if err != nil || h.Configurations != 251 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestBadSeedsInBulk are refused as a whole.
func TestBadSeedsInBulk(t *testing.T) {
	t.Parallel()
	b, c, _ := occasion(t)
	made(t, c, wire.HarvestRequest{Name: "one", Kind: "selective", Schedule: "daily", Collection: "web"})
	index := b.index
	for name, tt := range map[string]struct {
		number uint64
		o      client.SeedsOptions
		status int
		says   string
	}{
		"no template":         {1, client.SeedsOptions{Template: "none"}, 404, `no template "none"`},
		"a negative limit":    {1, client.SeedsOptions{Objects: "-1"}, 422, "limit"},
		"a word for a limit":  {1, client.SeedsOptions{Bytes: "many"}, 422, "limit"},
		"a selective harvest": {2, client.SeedsOptions{}, 409, "harvest 2 is a selective harvest"},
		"no harvest":          {3, client.SeedsOptions{}, 404, "harvest 3"},
	} {
		_, err := c.AddSeeds(t.Context(), tt.number, tt.o, strings.NewReader("http://a.org/\n"))
		if status(err) != tt.status || !strings.Contains(err.Error(), tt.says) || b.index != index {
			t.Errorf("%s: %v, want %d with %q", name, err, tt.status, tt.says)
		}
	}
	got, err := c.AddSeeds(t.Context(), 1, client.SeedsOptions{}, strings.NewReader(strings.Repeat("x\n", 20_000)))
	if err != nil || got.Bad != kept.MaxBadLines+1 || len(got.BadLines) != kept.MaxBadLines || got.Reason == "" {
		t.Errorf("%d bad lines, %q, %v", got.Bad, got.Reason, err)
	}
}

// TestOnlyOperatorsLetHarvestsReachTheNodesNetwork: who cannot make a template with which crawls can reach it, or lay
// that over one, cannot use it either, and does not say what is crawled with it.
func TestOnlyOperatorsLetHarvestsReachTheNodesNetwork(t *testing.T) {
	t.Parallel()
	b, all, c := keeperAnd(t, "a.org", "b.org")
	for name, text := range map[string]string{"default": "{}", "inside": `{"allow_private":true}`} {
		b.must(defined.CreateTemplate, defined.Creation{Name: name, Text: text})
	}
	made(t, all.Harvests(), wire.HarvestRequest{Name: "e", Kind: "event", Schedule: "daily", Collection: "web"})
	laid := `{"allow_private":true}`
	b.must(kept.SetConfiguration, kept.Configuring{Domain: "b.org", Name: "deep", Template: "default",
		Lists: []string{kept.DefaultSeedList}, Settings: &laid})
	b.must(kept.SetConfiguration, kept.Configuring{Domain: "b.org", Name: "e-1", Template: "inside",
		Lists: []string{kept.DefaultSeedList}})
	inside, comment := "inside", "x"
	for name, do := range map[string]func() error{
		"a configuration": func() error {
			_, err := c.Configure(t.Context(), "a.org", "x", wire.ConfigurationChange{Template: &inside})
			return err
		},
		"the default template": func() error {
			_, err := c.SetSettings(t.Context(), map[string]any{"default_template": inside})
			return err
		},
		"seeds of an event": func() error {
			_, err := all.Harvests().AddSeeds(t.Context(), 1, client.SeedsOptions{Template: inside},
				strings.NewReader("http://a.org/\n"))
			return err
		},
		"what an operator laid over a template": func() error {
			_, err := c.Configure(t.Context(), "b.org", "deep", wire.ConfigurationChange{Comments: &comment})
			return err
		},
		"a seed list": func() error {
			_, err := c.PutSeeds(t.Context(), "b.org", kept.DefaultSeedList, "", strings.NewReader("http://10.0.0.1/\n"))
			return err
		},
	} {
		index := b.index
		if err := do(); status(err) != 403 || !strings.Contains(err.Error(), "allow_private") || b.index != index {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := all.Harvests().AddSeeds(t.Context(), 1, client.SeedsOptions{}, strings.NewReader("http://b.org/\n"))
	if err != nil || got.Bad != 1 || !strings.Contains(got.BadLines[0].Reason, "allow_private") {
		t.Errorf("a seed for a configuration that is there: %+v, %v", got, err)
	}
	if _, err := c.PutSeeds(t.Context(), "a.org", kept.DefaultSeedList, "", strings.NewReader("http://a.org/\n")); err != nil {
		t.Error(err)
	}
}
