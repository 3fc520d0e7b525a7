package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/client"
	"holdfast/harvest"
)

// domainProbes are the operations about domains; kept.org is in collection web, and has an alias.
func domainProbes() map[string]probe {
	const at = "/domains/kept.org"
	reads := func(path string) probe { return probe{path, "", "reader"} }
	return map[string]probe{
		"domain-list": reads("/domains"), "domain-show": reads(at), "domain-history": reads(at + "/history"),
		"domain-alias-list":   reads("/domain-aliases"),
		"domain-create":       {"/domains", `{"name":"new.org","collection":"web"}`, "web"},
		"domain-set":          {at, `{"owner":"x"}`, "web"},
		"domain-alias":        {at + "/alias", `{}`, "web"},
		"domain-remove":       {at + "/remove", `{"reason":"x"}`, "web"},
		"domain-configure":    {at + "/configurations/x", `{}`, "web"},
		"domain-unconfigure":  {at + "/configurations/x/remove", `{"reason":"x"}`, "web"},
		"domain-seeds-put":    {at + "/seeds/x", "http://kept.org/", "web"},
		"domain-seeds-get":    reads(at + "/seeds/defaultseeds"),
		"domain-seeds-remove": {at + "/seeds/x/remove", `{"reason":"x"}`, "web"},
		"domain-traps-put":    {at + "/traps", "x.*", "web"},
		"domain-traps-get":    reads(at + "/traps"),
		"field-list":          reads("/fields"),
		"field-set":           {"/fields", `{"of":"domain","name":"f","type":"text"}`, "curator"},
		"field-remove":        {"/fields/domain/f/remove", `{"reason":"x"}`, "curator"},
		"domain-ingest":       {"/domain-ingests?collection=web", "new.org", "web"},
		"domain-ingest-list":  reads("/domain-ingests"), "domain-ingest-show": reads("/domain-ingests/i"),
		"domain-ingest-bad":    reads("/domain-ingests/i/bad"),
		"domain-ingest-stop":   {"/domain-ingests/i/stop", `{"reason":"x"}`, "web"},
		"domain-settings-show": reads("/domain-settings"),
		"domain-settings-set":  {"/domain-settings", `{"alias_expiry":"1h"}`, "curator"},
	}
}

// keeper is a curator of a cluster with some domains.
func keeper(t *testing.T, names ...string) (*backend, client.Domains) {
	t.Helper()
	b, _, c := keeperAnd(t, names...)
	return b, c
}

func keeperAnd(t *testing.T, names ...string) (*backend, *client.Client, client.Domains) {
	t.Helper()
	b, open := clusterOf(t, catalog.Level)
	all := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator}))
	c := all.Domains()
	for _, name := range names {
		if _, err := c.Create(t.Context(), wire.DomainRequest{Name: name, Collection: "web"}); err != nil {
			t.Fatal(err)
		}
	}
	return b, all, c
}

// TestDomainByHand makes a domain, says all that can be said of it, and removes it.
func TestDomainByHand(t *testing.T) {
	t.Parallel()
	b, all, c := keeperAnd(t, "Bücher.example", "other.example")
	d, err := c.Show(t.Context(), "bücher.example.")
	if err != nil || d.Name != "xn--bcher-kva.example" || d.Collection != "web" || d.Default != kept.DefaultConfiguration {
		t.Fatalf("%+v, %v", d, err)
	}
	implied := d.Configurations[0]
	if len(d.Configurations) != 1 || !implied.Implied || !implied.Default || implied.Index != d.Index ||
		implied.Bytes != harvest.AtMost(1e9) || !implied.Objects.IsZero() || implied.Seeds[0] != kept.DefaultSeedList {
		t.Errorf("the implied configuration: %+v", implied)
	}
	text, err := c.Seeds(t.Context(), d.Name, kept.DefaultSeedList, 0)
	if err != nil || text != "http://www.xn--bcher-kva.example/\n" {
		t.Errorf("the implied seeds: %q, %v", text, err)
	}
	fields := all.Fields()
	if _, err := fields.Set(t.Context(), wire.Field{Of: "domain", Name: "since", Type: "date", Mandatory: true}); err != nil {
		t.Fatal(err)
	}
	if d, err = c.Show(t.Context(), d.Name); err != nil || !slices.Equal(d.Missing, []string{"since"}) {
		t.Errorf("missing: %v, %v", d.Missing, err)
	}
	name := d.Name
	do := func(d wire.Domain, err error) wire.Domain {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	list := "\uFEFF# news\r\nhttp://bücher.example/news # daily\r\n\r\nhttps://other.example/\r\n"
	do(c.PutSeeds(t.Context(), name, "news", "two", strings.NewReader(list)))
	ten, seeds, weekly := int64(10), []string{"news", kept.DefaultSeedList}, "weekly"
	do(c.Configure(t.Context(), name, weekly, wire.ConfigurationChange{Seeds: &seeds, Objects: &ten,
		NoLimit: []string{"bytes"}, Settings: wire.Overlay{"max_hops": []byte("3"),
			"credentials": []byte(`[{"kind":"basic","domain":"xn--bcher-kva.example","realm":"r","user":"u","password":"hunter2"}]`)}}))
	do(c.Configure(t.Context(), name, kept.DefaultConfiguration, wire.ConfigurationChange{Comments: &weekly}))
	do(c.PutTraps(t.Context(), name, strings.NewReader(".*/calendar/.*\n")))
	owner := "anna"
	do(c.Set(t.Context(), name, wire.DomainChange{Default: &weekly, Owner: &owner,
		Fields: map[string]string{"since": "2026-11-20"}}))
	d = do(c.Alias(t.Context(), "other.example", name))
	if d.Alias == nil || d.Alias.Of != name || d.Alias.Until.Sub(d.Alias.Since).Hours() < 8759 {
		t.Errorf("%+v", d.Alias)
	}
	d = do(c.Show(t.Context(), name))
	w := d.Configurations[1]
	if len(d.Configurations) != 2 || w.Name != weekly || !w.Default || w.Objects != harvest.AtMost(10) || !w.Bytes.IsZero() ||
		len(w.Sealed) != 1 || string(w.Settings["max_hops"]) != "3" || w.Problem != "" {
		t.Errorf("%+v", w)
	}
	if !strings.Contains(string(w.Settings["credentials"]), harvest.Redaction) {
		t.Errorf("settings: %s", w.Settings["credentials"])
	}
	for key, value := range b.state.All() {
		if bytes.Contains([]byte(value), []byte("hunter2")) {
			t.Errorf("%s holds the password", key)
		}
	}
	if d.Owner != owner || d.Fields["since"] != "2026-11-20" || d.Missing != nil || d.Traps == nil || d.Traps.Items != 1 ||
		!slices.Equal(d.Aliases, []string{"other.example"}) || len(d.Seeds) != 2 || d.Seeds[1].Items != 2 {
		t.Errorf("%+v", d)
	}
	if text, err = c.Seeds(t.Context(), name, "news", 1); err != nil || strings.ContainsAny(text, "\r\uFEFF") ||
		!strings.Contains(text, "# daily\n") {
		t.Errorf("%q, %v", text, err)
	}
	// What is not given stays, the secret too.
	d = do(c.Configure(t.Context(), name, weekly, wire.ConfigurationChange{NoLimit: []string{"objects"}}))
	if w = d.Configurations[1]; !w.Objects.IsZero() || len(w.Sealed) != 1 || w.Version != 2 {
		t.Errorf("%+v", w)
	}
	do(c.Configure(t.Context(), name, weekly, wire.ConfigurationChange{Settings: wire.Overlay{}}))
	for key := range b.state.All() {
		if strings.HasPrefix(key, "secret/") {
			t.Errorf("%s is left of settings that are gone", key)
		}
	}
	aliases := 0
	for _, err := range c.Aliases(t.Context(), false) {
		if aliases++; err != nil {
			t.Fatal(err)
		}
	}
	if aliases != 1 {
		t.Errorf("%d aliases", aliases)
	}
	if err := c.Remove(t.Context(), name, "x"); status(err) != http.StatusConflict {
		t.Errorf("a domain with an alias is removed: %v", err)
	}
	do(c.Alias(t.Context(), "other.example", ""))
	if err := c.Remove(t.Context(), name, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Show(t.Context(), name); status(err) != http.StatusNotFound {
		t.Errorf("it is shown still: %v", err)
	}
}

// TestBadDomains sends what is to be refused, with place and reason.
func TestBadDomains(t *testing.T) {
	t.Parallel()
	b, c := keeper(t, "a.org", "b.org", "c.org")
	ctx := t.Context()
	create := func(name string) func() error {
		return func() error { _, err := c.Create(ctx, wire.DomainRequest{Name: name, Collection: "web"}); return err }
	}
	seeds := func(text string) func() error {
		return func() error { _, err := c.PutSeeds(ctx, "a.org", "x", "", strings.NewReader(text)); return err }
	}
	lay := func(name, value string) func() error {
		return func() error {
			_, err := c.Configure(ctx, "a.org", "x", wire.ConfigurationChange{Settings: wire.Overlay{name: []byte(value)}})
			return err
		}
	}
	alias := func(name, of string) func() error {
		return func() error { _, err := c.Alias(ctx, name, of); return err }
	}
	if err := alias("b.org", "a.org")(); err != nil {
		t.Fatal(err)
	}
	minus, none := int64(-1), []string{"none"}
	stored := func() (n int) {
		for key := range b.state.All() {
			if strings.HasPrefix(key, "domain") || strings.HasPrefix(key, "secret") {
				n++
			}
		}
		return n
	}
	before := stored()
	for name, tt := range map[string]struct {
		do     func() error
		status int
		says   string
	}{
		"a suffix":              {create("co.uk"), 422, "suffix"},
		"an address":            {create("192.0.2.1"), 422, "address"},
		"a URL":                 {create("http://example.org/"), 422, "URL"},
		"a host":                {create("www.example.org"), 422, "host of the domain example.org"},
		"two words":             {create("example.org x"), 422, "more than one word"},
		"there already":         {create("a.org"), 409, "already"},
		"no collection":         {func() error { _, err := c.Create(ctx, wire.DomainRequest{Name: "d.org", Collection: "x"}); return err }, 404, "collection"},
		"Latin-1":               {seeds("http://a.org/\nhttp://a.org/\xe6\n"), 422, "line 2"},
		"UTF-16":                {seeds("\xff\xfeh\x00t\x00"), 422, "UTF-16"},
		"a seed without scheme": {seeds("# x\na.org\n"), 422, "line 2"},
		"a seed with a login":   {seeds("http://u:hunter2@a.org/\n"), 422, "password"},
		"a long line":           {seeds("http://a.org/" + strings.Repeat("x", 5000) + "\n"), 422, "line 1"},
		"a line of 10 MiB":      {seeds("http://a.org/" + strings.Repeat("x", 10<<20) + "\n"), 413, "bytes"},
		"an expression":         {func() error { _, err := c.PutTraps(ctx, "a.org", strings.NewReader("ok\n(\n")); return err }, 422, "line 2"},
		"a negative limit": {func() error {
			_, err := c.Configure(ctx, "a.org", "x", wire.ConfigurationChange{Bytes: &minus})
			return err
		}, 422, "bytes"},
		"no such template": {func() error {
			_, err := c.Configure(ctx, "a.org", "x", wire.ConfigurationChange{Template: &none[0]})
			return err
		}, 404, "template"},
		"no such list": {func() error {
			_, err := c.Configure(ctx, "a.org", "x", wire.ConfigurationChange{Seeds: &none})
			return err
		}, 404, "none"},
		"an unknown key":       {lay("max_hopps", "3"), 422, "max_hops"},
		"a bad value":          {lay("max_hops", "-3"), 422, "max_hops"},
		"a template's setting": {lay("workers", "3"), 422, "in the template alone"},
		"a redacted value":     {lay("headers", `["Cookie: [redacted]"]`), 422, "left out"},
		"a sealed value":       {lay("headers", `["Cookie: [sealed headers.0]"]`), 422, "left out"},
		"the nodes' network":   {lay("allow_private", "true"), 403, "operator"},
		"an alias of itself":   {alias("c.org", "c.org"), 422, "itself"},
		"an alias circle":      {alias("a.org", "b.org"), 409, "alias"},
		"an alias of an alias": {alias("c.org", "b.org"), 409, "alias of a.org itself"},
		"an alias of nothing":  {alias("c.org", "x.org"), 404, "x.org"},
		"what is used":         {func() error { return c.Remove(ctx, "a.org", "x") }, 409, "b.org"},
		"an unknown setting":   {func() error { _, err := c.SetSettings(ctx, map[string]any{"alias_expire": "1h"}); return err }, 422, "alias_expiry"},
		"seeds for all": {func() error {
			_, err := c.SetSettings(ctx, map[string]any{"default_seeds": []string{"http://x/"}})
			return err
		}, 422, "{domain}"},
		"no domain": {func() error { _, err := c.Show(ctx, "d.org"); return err }, 404, "d.org"},
		"an older version": {func() error {
			old := uint64(7)
			_, err := c.Set(ctx, "a.org", wire.DomainChange{Version: &old, Owner: new(string)})
			return err
		}, 409, "version"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.do()
			if status(err) != tt.status || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %d with %q", err, tt.status, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is repeated: %v", err)
			}
			if now := stored(); now != before {
				t.Errorf("%d keys were %d: something is stored", now, before)
			}
		})
	}
}

// TestSettingsOfDomainsHold changes what is implied.
func TestSettingsOfDomainsHold(t *testing.T) {
	t.Parallel()
	b, c := keeper(t, "a.org")
	b.must(defined.CreateTemplate, defined.Creation{Name: "quick", Text: shut})
	changed, err := c.SetSettings(t.Context(), map[string]any{"default_seeds": []string{"https://{domain}/"}, "default_bytes": nil,
		"default_objects": 5, "default_template": "quick"})
	if err != nil || changed.Version != 1 {
		t.Fatalf("%+v, %v", changed, err)
	}
	if changed, err = c.SetSettings(t.Context(), map[string]any{"alias_expiry": "2h"}); err != nil || changed.Version != 2 {
		t.Fatalf("%+v, %v", changed, err)
	}
	d, err := c.Show(t.Context(), "a.org")
	if err != nil || d.Configurations[0].Template != "quick" || !d.Configurations[0].Bytes.IsZero() ||
		d.Configurations[0].Objects != harvest.AtMost(5) {
		t.Errorf("%+v, %v", d, err)
	}
	if text, err := c.Seeds(t.Context(), "a.org", kept.DefaultSeedList, 0); err != nil || text != "https://a.org/\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestAnUploadUnderWayIsNoVersion has the first part of a list's next version come, and not the rest.
func TestAnUploadUnderWayIsNoVersion(t *testing.T) {
	t.Parallel()
	b, c := keeper(t, "a.org")
	if _, err := c.PutSeeds(t.Context(), "a.org", "all", "", strings.NewReader("http://a.org/\n")); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"all", "new"} {
		b.must(kept.AddText, kept.TextAddition{Domain: "a.org", Kind: kept.Seeds, List: list, Upload: "u", Number: 1,
			Text: "http://a.org/half\n"})
	}
	if text, err := c.Seeds(t.Context(), "a.org", "all", 1); err != nil || text != "http://a.org/\n" {
		t.Errorf("version 1: %q, %v", text, err)
	}
	if text, err := c.Seeds(t.Context(), "a.org", "all", 2); status(err) != 404 {
		t.Errorf("version 2, which is not whole: %q, %v", text, err)
	}
	if text, err := c.Seeds(t.Context(), "a.org", "new", 1); status(err) != 404 {
		t.Errorf("a list that is not whole: %q, %v", text, err)
	}
}

// TestLongSeedListIsStoredInParts uploads a list that is more than a command may carry.
func TestLongSeedListIsStoredInParts(t *testing.T) {
	t.Parallel()
	_, c := keeper(t, "a.org")
	text := strings.Repeat("http://a.org/æøå/"+strings.Repeat("x", 80)+"\n", 30_000)
	d, err := c.PutSeeds(t.Context(), "a.org", "all", "", strings.NewReader(text))
	if err != nil || d.Seeds[0].Items != 30_000 || d.Seeds[0].Bytes != int64(len(text)) {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err = c.PutSeeds(t.Context(), "a.org", "all", "", strings.NewReader("http://a.org/\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Seeds(t.Context(), "a.org", "all", 1); err != nil || got != text {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
}

// TestDomainsAreListedInPages asks for pages of two.
func TestDomainsAreListedInPages(t *testing.T) {
	t.Parallel()
	b, c := keeper(t, "a.org", "ab.org", "abc.org", "b.org", "abd.org")
	var got []string
	for d, err := range c.All(t.Context(), "ab") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Name)
	}
	if strings.Join(got, " ") != "ab.org abc.org abd.org" {
		t.Errorf("%v", got)
	}
	s := domains{server: newServer(Backend{Catalog: b}, nil)}
	cursor, pages := "", 0
	for got = nil; ; pages++ {
		page, err := s.list("", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Items {
			got = append(got, d.Name)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(got) != 5 || pages != 2 {
		t.Errorf("%v in %d pages", got, pages+1)
	}
}

// listsOfDomains begins ingests, and brings nothing in.
type listsOfDomains struct{ b *backend }

func (l listsOfDomains) Begin(ctx context.Context, in IngestRequest) (i kept.Ingest, err error) {
	if _, err := io.Copy(io.Discard, in.Body); err != nil {
		return i, err
	}
	result, err := l.b.Propose(ctx, kept.BeginIngest, kept.IngestBeginning{ID: "new", Collection: in.Collection, Node: self},
		in.Actor)
	if err != nil || result.Refusal != nil {
		return i, errors.Join(err, refusalOf(result))
	}
	return i, json.Unmarshal(result.Value, &i)
}

func refusalOf(r catalog.Result) error {
	if r.Refusal == nil {
		return nil
	}
	return r.Refusal
}

// TestIngestIsShown begins an ingest and pages through its bad lines.
func TestIngestIsShown(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"})).Ingests()
	i, err := c.Begin(t.Context(), "web", strings.NewReader("a.org\n"))
	if err != nil || i.State != wire.IngestRunning || i.By != "carl" || i.Node != "north-1" {
		t.Fatalf("%+v, %v", i, err)
	}
	b.must(kept.AddIngested, kept.IngestChunk{ID: "new", Node: self, Seq: 1, Names: []kept.Name{"a.org"},
		Bad: []kept.BadLine{{Line: 2, Reason: "x"}, {Line: 3, Reason: "y"}, {Line: 9, Reason: "z"}}})
	var lines []int64
	for bad, err := range c.Bad(t.Context(), i.ID) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bad.Line)
	}
	if !slices.Equal(lines, []int64{2, 3, 9}) {
		t.Errorf("%v", lines)
	}
	s := ingests{server: newServer(Backend{Catalog: b}, nil)}
	page, err := s.bad("new", "b-2", 1)
	if err != nil || page.Items[0].Line != 3 || page.Next != "b-3" {
		t.Errorf("%+v, %v", page, err)
	}
	if i, err = c.Stop(t.Context(), i.ID, "enough"); err != nil || i.State != wire.IngestStopped || i.Made != 1 || i.Bad != 3 {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err = c.Show(t.Context(), "none"); status(err) != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

// TestDomainsOfLowerLevels asks a cluster that does not know domains.
func TestDomainsOfLowerLevels(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 3)
	c := open(b.person("carl", catalog.Giving{Role: catalog.RoleCurator}))
	if _, err := c.Domains().Create(t.Context(), wire.DomainRequest{Name: "a.org"}); status(err) != http.StatusNotImplemented {
		t.Errorf("%v", err)
	}
	if _, err := c.Ingests().Begin(t.Context(), "web", strings.NewReader("a.org")); status(err) != http.StatusNotImplemented {
		t.Errorf("%v", err)
	}
}
