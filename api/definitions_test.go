package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/harvest"
)

// curator is a cluster with a curator of the whole archive, and an operator.
func curator(t *testing.T) (b *backend, c, operator *client.Client) {
	t.Helper()
	b, open := clusterOf(t, catalog.Level)
	c = open(b.person("anna", catalog.Giving{Role: catalog.RoleCurator}))
	return b, c, open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator}))
}

// TestBadDefinitionsAreRefused with place and reason, before anything is stored.
func TestBadDefinitionsAreRefused(t *testing.T) {
	t.Parallel()
	b, c, _ := curator(t)
	contact := `"operator_contact":"a@example.org"`
	template := func(settings string) string { return `{"name":"t","settings":{` + contact + settings + `}}` }
	schedule := func(s string) string { return `{"name":"s","schedule":` + s + `}` }
	before := b.index
	for name, tt := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"a channel with a dash":       {"/channels", `{"name":"a-b"}`, 422, "name"},
		"a channel that is there":     {"/channels", `{"name":"FOCUSED"}`, 409, "FOCUSED"},
		"no contact":                  {"/templates", `{"name":"t","settings":{"max_hops":3}}`, 422, "operator_contact"},
		"no settings":                 {"/templates", `{"name":"t"}`, 422, "settings"},
		"a contact and settings":      {"/templates", `{"name":"default","contact":"a@example.org","settings":{` + contact + `}}`, 422, "not together with settings"},
		"no contact at all":           {"/templates", `{"name":"default","contact":"","settings":null}`, 422, "settings"},
		"a contact that is none":      {"/templates", `{"name":"default","contact":"nobody"}`, 422, "operator_contact"},
		"a contact alone":             {"/templates", `{"name":"t","contact":"a@example.org"}`, 422, "default_template"},
		"settings of another kind":    {"/templates", `{"name":"t","settings":[]}`, 422, "settings"},
		"an unknown setting":          {"/templates", template(`,"max_hop":3`), 422, `max_hops`},
		"a bad value":                 {"/templates", template(`,"max_hops":-3`), 422, "max_hops"},
		"a negative limit":            {"/templates", template(`,"max_bytes":-3`), 422, "max_bytes"},
		"a bad trap":                  {"/templates", template(`,"traps":["("]`), 422, "traps"},
		"a bad rule":                  {"/templates", template(`,"rules":[{"rule":"unknown","decision":"reject"}]`), 422, "rule"},
		"what harvests set":           {"/templates", template(`,"harvest_domain_bytes":3`), 422, "harvest_domain_bytes"},
		"a redacted secret":           {"/templates", template(`,"first_cookies":"[redacted]"`), 422, "first_cookies"},
		"a reference to a secret":     {"/templates", template(`,"first_cookies":"[sealed first_cookies]"`), 422, "first_cookies"},
		"the nodes' own network":      {"/templates", template(`,"allow_private":true`), 403, "a template with allow_private"},
		"a template with a bad name":  {"/templates", `{"name":"a/b","settings":{` + contact + `}}`, 422, "name"},
		"an unknown unit":             {"/schedules", schedule(`{"unit":"year"}`), 422, "unit"},
		"an unknown key":              {"/schedules", schedule(`{"unit":"day","att":"22:00"}`), 422, "att"},
		"an unknown zone":             {"/schedules", schedule(`{"unit":"day","zone":"Europe/Nowhere"}`), 422, "zone"},
		"a schedule that never fires": {"/schedules", schedule(`{"unit":"day","until":"2001-01-01"}`), 422, ""},
		"one that fired only once":    {"/schedules", schedule(`{"unit":"once","from":"2001-01-01"}`), 422, ""},
		"one of that name":            {"/schedules", `{"name":"daily","schedule":{"unit":"day"}}`, 409, "comes with the system"},
		"a trap that is no regexp":    {"/trap-lists", `{"name":"t","traps":["ok","a("]}`, 422, "traps[1]"},
		"a trap with a line's end":    {"/trap-lists", `{"name":"t","traps":["a\nb"]}`, 422, "traps[0]"},
		"an empty trap":               {"/trap-lists", `{"name":"t","traps":[""]}`, 422, "traps[0]"},
		"no traps":                    {"/trap-lists", `{"name":"t","traps":[]}`, 422, "traps"},
		"traps that are too long":     {"/trap-lists", `{"name":"t","traps":["` + strings.Repeat("x", 300_000) + `"]}`, 422, "traps"},
		"a copy of nothing":           {"/templates/none/copy", `{"name":"t"}`, 404, "template none"},
		"a job of no channel":         {"/jobs", `{"name":"j","seeds":["http://127.0.0.1/"],"channel":"NONE"}`, 404, "channel NONE"},
	} {
		answer, err := http.DefaultClient.Do(b.request(c, http.MethodPost, tt.path, tt.body))
		if err != nil {
			t.Fatal(err)
		}
		var p wire.Problem
		if err := json.NewDecoder(answer.Body).Decode(&p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = answer.Body.Close()
		text, _ := json.Marshal(p)
		if p.Status != tt.status || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: %d %s, want %d: %s", name, p.Status, text, tt.status, tt.want)
		}
	}
	for _, kind := range []string{"templates", "trap-lists"} {
		answer, err := http.DefaultClient.Do(b.request(c, http.MethodGet, "/"+kind, ""))
		if err != nil {
			t.Fatal(err)
		}
		var page wire.Page[wire.Defined]
		err = json.NewDecoder(answer.Body).Decode(&page)
		_ = answer.Body.Close()
		if err != nil || len(page.Items) > 0 {
			t.Errorf("%s: %+v %v", kind, page, err)
		}
	}
	if n := b.index - before; n > 3 { // the catalog is asked only where it alone knows
		t.Errorf("%d commands were proposed", n)
	}
}

// TestDefaultTemplate is made of a contact alone, under the name that new configurations refer to, whichever it is.
func TestDefaultTemplate(t *testing.T) {
	t.Parallel()
	_, c, operator := curator(t)
	const shown = `{"deduplicate":"digest","operator_contact":"a@example.org"}`
	for _, name := range []string{"default", "ours"} {
		request := wire.TemplateRequest{Name: name, Contact: "a@example.org"}
		if name != "default" {
			if _, err := c.Templates().Create(t.Context(), request); status(err) != http.StatusUnprocessableEntity {
				t.Errorf("%s is not the default: %v", name, err)
			}
			if _, err := operator.Domains().SetSettings(t.Context(), map[string]any{"default_template": name}); err != nil {
				t.Fatal(err)
			}
		}
		made, err := c.Templates().Create(t.Context(), request)
		if err != nil || made.Version != 1 || string(made.Settings) != shown {
			t.Errorf("%+v %s %v", made, made.Settings, err)
		}
		if _, err := c.Templates().Create(t.Context(), request); status(err) != http.StatusConflict {
			t.Errorf("%s is made twice: %v", name, err)
		}
	}
}

// TestTemplates makes, changes, copies and deletes one.
func TestTemplates(t *testing.T) {
	t.Parallel()
	b, c, operator := curator(t)
	first := `{"operator_contact":"a@example.org","first_cookies":"x\tTRUE\t/\tFALSE\t0\tsession\thunter2"}`
	made, err := c.Templates().Create(t.Context(), wire.TemplateRequest{Name: "deep", Comment: "for blogs",
		Settings: json.RawMessage(first)})
	const shown = `{"first_cookies":"[redacted]","operator_contact":"a@example.org"}`
	if err != nil || made.Version != 1 || !made.Active || string(made.Settings) != shown || made.ChangedBy != "anna" {
		t.Fatalf("%+v %s %v", made, made.Settings, err)
	}
	next, off := json.RawMessage(`{"operator_contact":"a@example.org","max_hops":3}`), false
	made, err = c.Templates().Set(t.Context(), "deep", wire.TemplateChange{Settings: next, Active: &off, After: 1})
	if err != nil || made.Version != 2 || made.Active || made.Comment != "for blogs" {
		t.Fatalf("%+v %v", made, err)
	}
	_, err = c.Templates().Set(t.Context(), "deep", wire.TemplateChange{Settings: next, After: 1})
	if status(err) != http.StatusConflict {
		t.Errorf("a change of an older version: %v", err)
	}
	if old, err := c.Templates().Show(t.Context(), "deep", 1); err != nil || string(old.Settings) != shown ||
		old.Version != 2 || old.Shown != 1 {
		t.Errorf("the first version: %+v %v", old, err)
	}
	if _, err := c.Templates().Show(t.Context(), "deep", 3); status(err) != http.StatusNotFound {
		t.Errorf("a version that is not there: %v", err)
	}
	if all, err := c.Templates().Versions(t.Context(), "deep"); err != nil || len(all) != 2 || all[0].MadeBy != "anna" {
		t.Errorf("%+v %v", all, err)
	}
	again, err := c.Templates().Copy(t.Context(), "deep", wire.Copying{Name: "deeper", Version: 1})
	if err != nil || again.Version != 1 || string(again.Settings) != shown {
		t.Errorf("the copy: %+v %v", again, err)
	}
	inside := wire.TemplateRequest{Name: "inside",
		Settings: json.RawMessage(`{"operator_contact":"a@example.org","allow_private":true}`)}
	if _, err := operator.Templates().Create(t.Context(), inside); err != nil {
		t.Errorf("an operator's template: %v", err)
	}
	_, err = c.Templates().Copy(t.Context(), "inside", wire.Copying{Name: "outside"})
	if status(err) != http.StatusForbidden {
		t.Errorf("a curator copies what only an operator can make: %v", err)
	}
	if err := c.Templates().Delete(t.Context(), "deep"); err != nil {
		t.Error(err)
	}
	if _, err := c.Templates().Show(t.Context(), "deep", 0); status(err) != http.StatusNotFound {
		t.Errorf("it is still there: %v", err)
	}
	for key, value := range b.state.All() {
		if strings.Contains(string(value), "hunter2") {
			t.Errorf("%s has the secret", key)
		}
	}
}

// TestSchedules lists dates, and copies a schedule that comes with the system.
func TestSchedules(t *testing.T) {
	t.Parallel()
	_, c, _ := curator(t)
	names := func(search, sort string) (out []string) {
		t.Helper()
		for s, err := range c.Schedules().List(t.Context(), search, sort) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s.Name)
		}
		return out
	}
	if got := names("", ""); !slices.Equal(got, []string{"daily", "hourly", "monthly", "weekly"}) {
		t.Errorf("%q", got)
	}
	made, err := c.Schedules().Copy(t.Context(), "weekly", wire.Copying{Name: "mine"})
	if err != nil || made.Standard || made.Version != 1 || string(made.Schedule) != `{"every":1,"unit":"week"}` {
		t.Fatalf("%+v %s %v", made, made.Schedule, err)
	}
	made, err = c.Schedules().Set(t.Context(), "mine", wire.ScheduleChange{Schedule: json.RawMessage(
		`{"unit":"day","at":"02:30","zone":"Europe/Copenhagen"}`)})
	if err != nil || made.Version != 2 {
		t.Fatalf("%+v %v", made, err)
	}
	from := time.Date(2099, 3, 28, 12, 0, 0, 0, time.UTC)
	dates, err := c.Schedules().Dates(t.Context(), "mine", from, 2)
	if err != nil || fmt.Sprint(dates) != "[{2099-03-29 01:00:00 +0000 UTC 2099-03-29T03:00 CEST} "+
		"{2099-03-30 00:30:00 +0000 UTC 2099-03-30T02:30 CEST}]" {
		t.Errorf("%v %v", dates, err)
	}
	if got := names("", "changed"); got[0] != "mine" {
		t.Errorf("by their changes: %q", got)
	}
	if got := names("MI", ""); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("searched: %q", got)
	}
	if err := c.Schedules().Delete(t.Context(), "daily"); status(err) != http.StatusConflict {
		t.Errorf("a standard schedule is deleted: %v", err)
	}
	if err := c.Schedules().Delete(t.Context(), "mine"); err != nil {
		t.Error(err)
	}
}

// TestTrapListsAreSwitched on and off.
func TestTrapListsAreSwitched(t *testing.T) {
	t.Parallel()
	_, c, _ := curator(t)
	traps := []string{`.*/calendar/.*`, `.*[?&]sid=.*`}
	made, err := c.TrapLists().Create(t.Context(), wire.TrapListRequest{Name: "all", Traps: traps})
	if err != nil || !made.Active || !slices.Equal(made.Traps, traps) {
		t.Fatalf("%+v %v", made, err)
	}
	trapsOfJob := func() []string {
		t.Helper()
		settings := harvest.DefaultSettings()
		settings.Traps = []string{"own"}
		job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"},
			Settings: &wire.Settings{Settings: settings}})
		if err != nil {
			t.Fatal(err)
		}
		return job.Settings.Traps
	}
	if got := trapsOfJob(); !slices.Equal(got, append([]string{"own"}, traps...)) {
		t.Errorf("a job has the traps %q", got)
	}
	off := false
	made, err = c.TrapLists().Set(t.Context(), "all", wire.TrapListChange{Active: &off})
	if err != nil || made.Active || made.Version != 1 || !slices.Equal(made.Traps, traps) {
		t.Errorf("%+v %v", made, err)
	}
	if got := trapsOfJob(); !slices.Equal(got, []string{"own"}) {
		t.Errorf("a job has the traps %q of a list that is off", got)
	}
	made, err = c.TrapLists().Set(t.Context(), "all", wire.TrapListChange{Traps: traps[:1]})
	if err != nil || made.Version != 2 || len(made.Traps) != 1 {
		t.Errorf("%+v %v", made, err)
	}
	if _, err = c.TrapLists().Copy(t.Context(), "all", wire.Copying{Name: "more"}); err != nil {
		t.Error(err)
	}
	if err := c.TrapLists().Delete(t.Context(), "all"); err != nil {
		t.Error(err)
	}
}

// TestChannels makes many, and turns their pages.
func TestChannels(t *testing.T) {
	t.Parallel()
	b, c, _ := curator(t)
	for i := range 7 {
		made, err := c.Channels().Create(t.Context(), wire.ChannelRequest{Name: fmt.Sprintf("C%d", i), Snapshot: i%2 == 0})
		if err != nil || made.Snapshot != (i%2 == 0) || made.Default || made.ChangedBy != "anna" {
			t.Fatalf("%+v %v", made, err)
		}
	}
	for _, sort := range []string{"name", "changed"} {
		seen := map[string]bool{}
		for after, pages := "", 0; ; pages++ {
			path := "/channels?limit=2&sort=" + sort + "&after=" + after
			answer, err := http.DefaultClient.Do(b.request(c, http.MethodGet, path, ""))
			if err != nil {
				t.Fatal(err)
			}
			var page wire.Page[wire.Channel]
			err = json.NewDecoder(answer.Body).Decode(&page)
			_ = answer.Body.Close()
			if err != nil || len(page.Items) > 2 || pages > 5 {
				t.Fatalf("%+v %v", page, err)
			}
			for _, one := range page.Items {
				if seen[one.Name] {
					t.Errorf("by %s, %s comes twice", sort, one.Name)
				}
				seen[one.Name] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if len(seen) != 9 {
			t.Errorf("by %s there are %d", sort, len(seen))
		}
	}
	set, err := c.Channels().Set(t.Context(), "SNAPSHOT", wire.ChannelChange{Comment: "whole domain"})
	if err != nil || !set.Default || !set.Snapshot || set.Comment != "whole domain" {
		t.Errorf("%+v %v", set, err)
	}
	if err := c.Channels().Delete(t.Context(), "SNAPSHOT"); status(err) != http.StatusConflict {
		t.Errorf("a default is deleted: %v", err)
	}
	if err := c.Channels().Delete(t.Context(), "C3"); err != nil {
		t.Error(err)
	}
	if _, err := c.Channels().Show(t.Context(), "C3"); status(err) != http.StatusNotFound {
		t.Errorf("it is still there: %v", err)
	}
}
