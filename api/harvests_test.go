package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/runs"
	"holdfast/client"
	"holdfast/harvest"
)

// harvestProbes are the operations about harvests; harvest 1 is in collection web.
func harvestProbes() map[string]probe {
	const at = "/harvests/1"
	reads := func(path string) probe { return probe{path, "", "reader"} }
	const some = `{"configurations":[{"domain":"kept.org"}]}`
	return map[string]probe{
		"harvest-list": reads("/harvests"), "harvest-show": reads(at), "harvest-runs": reads(at + "/runs"),
		"harvest-jobs":  reads(at + "/runs/1/jobs"),
		"harvest-dates": reads(at + "/dates"), "harvest-configurations": reads(at + "/configurations"),
		"harvest-create":                {"/harvests", `{"name":"x","kind":"snapshot","collection":"web"}`, "web"},
		"harvest-set":                   {at, `{"comments":"x"}`, "web"},
		"harvest-copy":                  {at + "/copy", `{"name":"y"}`, "web"},
		"harvest-delete":                {at + "/delete", `{"reason":"x"}`, "web"},
		"harvest-activate":              {at + "/activate", `{}`, "web"},
		"harvest-deactivate":            {at + "/deactivate", `{"reason":"x"}`, "web"},
		"harvest-configurations-add":    {at + "/configurations/add", some, "web"},
		"harvest-configurations-remove": {at + "/configurations/remove", some, "web"},
		"harvest-seeds":                 {at + "/seeds", "http://kept.org/", "web"},
		"harvest-preview":               reads(at + "/preview"),
		"harvest-settings-show":         reads("/harvest-settings"),
		"harvest-settings-set":          {"/harvest-settings", `{"max_domain_size":7}`, "curator"},
	}
}

// harvesting is a curator of a cluster with some domains.
func harvesting(t *testing.T, names ...string) (*backend, client.Harvests) {
	t.Helper()
	b, all, _ := keeperAnd(t, names...)
	return b, all.Harvests()
}

// made makes a harvest.
func made(t *testing.T, c client.Harvests, in wire.HarvestRequest) wire.Harvest {
	t.Helper()
	h, err := c.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHarvestByHand makes a harvest, says all that can be said of it, activates, copies and deletes it.
func TestHarvestByHand(t *testing.T) {
	t.Parallel()
	b, all, domains := keeperAnd(t, "a.org", "b.org")
	c := all.Harvests()
	do := func(h wire.Harvest, err error) wire.Harvest {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if _, err := all.Fields().Set(t.Context(), wire.Field{Of: "harvest", Name: "fund", Type: "text"}); err != nil {
		t.Fatal(err)
	}
	objects := int64(5)
	if _, err := domains.Configure(t.Context(), "a.org", "deep", wire.ConfigurationChange{Objects: &objects}); err != nil {
		t.Fatal(err)
	}
	h := made(t, c, wire.HarvestRequest{Name: "Newspapers, daily", Kind: "selective", Schedule: "daily",
		Audience: "readers", Fields: map[string]string{"fund": "own"}})
	if h.Number != 1 || h.State != wire.HarvestInactive || h.Channel != defined.Focused || h.Collection != "web" ||
		h.ChangedBy != "carl" || h.Version != 1 || h.Fields["fund"] != "own" {
		t.Fatalf("%+v", h)
	}
	deep := wire.HarvestConfiguration{Domain: "A.org", Configuration: "deep"}
	h = do(c.Add(t.Context(), 1, deep, wire.HarvestConfiguration{Domain: "b.org"}))
	h = do(c.Add(t.Context(), 1, deep)) // again
	if h.Configurations != 2 {
		t.Errorf("%d configurations", h.Configurations)
	}
	has := func(number uint64, want ...string) {
		t.Helper()
		var got []string
		for one, err := range c.Configurations(t.Context(), number) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, one.Domain+"/"+one.Configuration)
		}
		if !slices.Equal(got, want) {
			t.Errorf("harvest %d has %v, want %v", number, got, want)
		}
	}
	has(1, "a.org/deep", "b.org/"+kept.DefaultConfiguration)
	name, weekly, comments := "Newspapers", "weekly", "all of them"
	h = do(c.Set(t.Context(), 1, wire.HarvestChange{Name: &name, Schedule: &weekly, Comments: &comments,
		Fields: map[string]string{"fund": ""}}))
	if h.Name != name || h.Schedule != weekly || h.Audience != "readers" || h.Comments != comments || h.Fields != nil {
		t.Errorf("%+v", h)
	}
	h = do(c.Activate(t.Context(), 1, wire.HarvestActivation{Version: &h.Version}))
	if h.State != wire.HarvestWaiting || h.Next.Before(time.Now()) || h.Next.After(time.Now().Add(2*time.Minute)) {
		t.Errorf("%+v", h)
	}
	dates, err := c.Dates(t.Context(), 1, 3)
	if err != nil || len(dates) != 3 || !dates[0].At.Equal(h.Next) || dates[2].At.Sub(dates[0].At) != 14*24*time.Hour {
		t.Errorf("%+v, %v", dates, err)
	}
	next := h.Next
	if h = do(c.Set(t.Context(), 1, wire.HarvestChange{Comments: new(string)})); !h.Next.Equal(next) {
		t.Errorf("the date %s became %s by a change of comments", next, h.Next)
	}
	start := time.Now().Add(50 * time.Hour).UTC().Truncate(time.Second)
	if h = do(c.Set(t.Context(), 1, wire.HarvestChange{Start: &start})); h.Next.Before(start) || !h.Start.Equal(start) {
		t.Errorf("starts %s, and is due at %s", h.Start, h.Next)
	}
	two := do(c.Copy(t.Context(), 1, "Newspapers, too"))
	if two.Number != 2 || two.State != wire.HarvestInactive || two.Configurations != 2 || two.Schedule != weekly {
		t.Errorf("the copy: %+v", two)
	}
	has(2, "a.org/deep", "b.org/"+kept.DefaultConfiguration)
	if h = do(c.Deactivate(t.Context(), 1, "enough")); h.State != wire.HarvestInactive || !h.Next.IsZero() {
		t.Errorf("%+v", h)
	}
	two = do(c.Remove(t.Context(), 2, deep))
	if has(2, "b.org/"+kept.DefaultConfiguration); two.Configurations != 1 {
		t.Errorf("%+v", two)
	}
	for number := range uint64(2) {
		if err := c.Delete(t.Context(), number+1, "done"); err != nil {
			t.Fatal(err)
		}
	}
	for key := range b.state.All() {
		if strings.HasPrefix(key, "harvest") && key != "harvestcount" {
			t.Errorf("%s is left", key)
		}
	}
}

// serves has this node say that it crawls the jobs of some channels.
func (b *backend) serves(channels ...string) {
	b.t.Helper()
	b.says(self, catalog.MemberChange{ID: self, Crawls: new(true), Channels: &channels})
}

// TestStatesOfHarvests has harvests in all states that people see.
func TestStatesOfHarvests(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t, "a.org")
	says := func(number uint64, want wire.HarvestState) wire.Harvest {
		t.Helper()
		h, err := c.Show(t.Context(), number)
		if err != nil || h.State != want {
			t.Errorf("%+v, %v: want %s", h, err, want)
		}
		return h
	}
	made(t, c, wire.HarvestRequest{Name: "often", Kind: "selective", Schedule: "hourly"})
	made(t, c, wire.HarvestRequest{Name: "all", Kind: "snapshot"})
	if _, err := c.Add(t.Context(), 1, wire.HarvestConfiguration{Domain: "a.org"}); err != nil {
		t.Fatal(err)
	}
	due := func(number uint64) catalog.Time {
		t.Helper()
		h, err := c.Show(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		at := catalog.At(time.Now()) - 1000
		b.must(runs.Activate, runs.Activation{Number: number, Version: h.Version, Next: at})
		return at
	}
	says(2, wire.HarvestInactive)
	snapshot := due(2)
	says(2, wire.HarvestBlocked) // no node serves the channel of snapshots
	b.serves(defined.Snapshot)
	says(2, wire.HarvestWaiting)
	b.must(runs.BeginRun, runs.Beginning{Number: 2, Date: snapshot})
	if h := says(2, wire.HarvestSplitting); h.LastRun == nil || h.LastRun.Number != 1 || h.Runs != 1 {
		t.Errorf("%+v", h)
	}
	b.must(runs.EndRun, runs.Ending{Number: 2, Run: 1, LeftOut: map[string]int64{"alias": 3}})
	if h := says(2, wire.HarvestEnded); h.LastRun.State != "made" || h.LastRun.LeftOut["alias"] != 3 {
		t.Errorf("%+v", h.LastRun)
	}
	for run := range uint64(3) {
		at := due(1)
		b.must(runs.BeginRun, runs.Beginning{Number: 1, Date: at, Next: at + 1e7, Skipped: 2})
		b.must(runs.EndRun, runs.Ending{Number: 1, Run: run + 1})
		b.must(runs.Deactivate, runs.Ref{Number: 1})
	}
	at := due(1)
	b.must(runs.BeginRun, runs.Beginning{Number: 1, Date: at, Next: at + 1e7})
	b.must(runs.EndRun, runs.Ending{Number: 1, Run: 4, Error: "no template", Detail: "long"})
	if h := says(1, wire.HarvestFailed); h.Error != "no template" || h.Skipped != 6 || h.LastRun.State != "failed" {
		t.Errorf("%+v", h)
	}
	var numbers []uint64
	for r, err := range c.Runs(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, r.Number)
	}
	if !slices.Equal(numbers, []uint64{4, 3, 2, 1}) {
		t.Errorf("%v", numbers)
	}
	s := harvests{newServer(Backend{Catalog: b}, nil), nil}
	page, err := s.runs(t.Context(), 1, "", 3)
	if err != nil || len(page.Items) != 3 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	if page, err = s.runs(t.Context(), 1, page.Next, 3); err != nil || len(page.Items) != 1 || page.Items[0].Number != 1 ||
		page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestHarvestsAreListed in pages, searched, chosen and sorted.
func TestHarvestsAreListed(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t, "a.org", "b.org")
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	for i, in := range []wire.HarvestRequest{{Name: "c", Kind: "selective"}, {Name: "a", Kind: "event", Comments: "Vote"},
		{Name: "b", Kind: "snapshot"}, {Name: "d", Kind: "snapshot", Collection: "radio"}} {
		if in.Kind != "snapshot" {
			in.Schedule = "daily"
		}
		if in.Collection == "" {
			in.Collection = "web"
		}
		h := made(t, c, in)
		if i < 2 {
			if _, err := c.Add(t.Context(), h.Number, wire.HarvestConfiguration{Domain: []string{"a.org", "b.org"}[i]}); err != nil {
				t.Fatal(err)
			}
		}
		b.later += time.Second
	}
	for _, number := range []uint64{4, 2} {
		if _, err := c.Activate(t.Context(), number, wire.HarvestActivation{}); err != nil {
			t.Fatal(err)
		}
		b.later += time.Second
	}
	for name, tt := range map[string]struct {
		q    client.HarvestQuery
		want string
	}{
		"all":           {client.HarvestQuery{}, "a b c d"},
		"by change":     {client.HarvestQuery{Sort: "changed"}, "a d b c"},
		"by date":       {client.HarvestQuery{Sort: "next"}, "d a b c"},
		"searched":      {client.HarvestQuery{Search: "vote"}, "a"},
		"named":         {client.HarvestQuery{Named: "c"}, "c"},
		"of no name":    {client.HarvestQuery{Named: "cc"}, ""},
		"of a domain":   {client.HarvestQuery{Domain: "b.org"}, "a"},
		"in collection": {client.HarvestQuery{Collection: "radio"}, "d"},
		"of a kind":     {client.HarvestQuery{Kind: "snapshot"}, "b d"},
		"in a state":    {client.HarvestQuery{State: wire.HarvestInactive}, "b c"},
	} {
		var got []string
		for h, err := range c.List(t.Context(), tt.q) {
			if err != nil {
				t.Fatal(name, err)
			}
			got = append(got, h.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
	s := harvests{newServer(Backend{Catalog: b}, nil), nil}
	var got []string
	for in := (HarvestListing{Paging: Paging{Limit: 2}, Sort: "next"}); ; {
		page, err := s.list(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Items {
			got = append(got, h.Name)
		}
		if in.After = page.Next; page.Next == "" {
			break
		}
	}
	if strings.Join(got, " ") != "d a b c" {
		t.Errorf("in pages: %v", got)
	}
}

// TestBadHarvests are refused, with what is wrong, and nothing of them is stored.
func TestBadHarvests(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t, "a.org")
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	b.must(kept.Create, kept.Creation{Name: "r.org", Collection: "radio"})
	b.must(defined.CreateSchedule, defined.Creation{Name: "past", Text: `{"unit":"day","until":"2020-01-01"}`})
	made(t, c, wire.HarvestRequest{Name: "one", Kind: "selective", Schedule: "daily", Collection: "web"})
	made(t, c, wire.HarvestRequest{Name: "all", Kind: "snapshot", Collection: "web"})
	made(t, c, wire.HarvestRequest{Name: "over", Kind: "selective", Schedule: "past", Collection: "web"})
	made(t, c, wire.HarvestRequest{Name: "runs", Kind: "event", Schedule: "daily", Collection: "web"})
	for _, number := range []uint64{3, 4} {
		if _, err := c.Add(t.Context(), number, wire.HarvestConfiguration{Domain: "a.org"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Activate(t.Context(), 4, wire.HarvestActivation{}); err != nil {
		t.Fatal(err)
	}
	stored := func() string {
		text, err := json.Marshal(maps.Collect(b.state.All()))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := stored()
	create := func(in wire.HarvestRequest) func() error {
		return func() error { _, err := c.Create(t.Context(), in); return err }
	}
	set := func(number uint64, in wire.HarvestChange) func() error {
		return func() error { _, err := c.Set(t.Context(), number, in); return err }
	}
	add := func(number uint64, domain, configuration string) func() error {
		return func() error {
			_, err := c.Add(t.Context(), number, wire.HarvestConfiguration{Domain: "a.org"},
				wire.HarvestConfiguration{Domain: domain, Configuration: configuration})
			return err
		}
	}
	activate := func(number uint64) func() error {
		return func() error { _, err := c.Activate(t.Context(), number, wire.HarvestActivation{}); return err }
	}
	minus, self, past, old, none := int64(-1), uint64(2), "past", uint64(9), "none"
	half := harvest.Duration(time.Second / 2)
	for name, tt := range map[string]struct {
		do     func() error
		status int
		says   string
	}{
		"no configurations":      {activate(1), 409, "has no configurations"},
		"a schedule that ended":  {activate(3), 422, "schedule past: "},
		"activated twice":        {activate(4), 409, "is active"},
		"none there":             {activate(9), 404, "harvest 9"},
		"no schedule":            {create(wire.HarvestRequest{Name: "x", Kind: "selective"}), 422, "need a schedule"},
		"a snapshot's schedule":  {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Schedule: "daily"}), 422, "schedule"},
		"an unknown schedule":    {create(wire.HarvestRequest{Name: "x", Kind: "event", Schedule: "none"}), 404, `no schedule "none"`},
		"an unknown kind":        {create(wire.HarvestRequest{Name: "x", Kind: "total"}), 422, "kind"},
		"a name that is given":   {create(wire.HarvestRequest{Name: "one", Kind: "snapshot"}), 409, `has the name "one"`},
		"a bad name":             {create(wire.HarvestRequest{Name: "a\nb", Kind: "snapshot"}), 422, "readable name"},
		"an unknown collection":  {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Collection: "none"}), 404, `no collection "none"`},
		"a negative limit":       {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Bytes: &minus}), 422, "bytes"},
		"half a second":          {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", MaxTime: half}), 422, "maxTime"},
		"the wrong channel":      {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Channel: "FOCUSED"}), 422, "channel FOCUSED"},
		"a continued selective":  {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Continues: 1}), 422, "only a snapshot"},
		"nothing to continue":    {create(wire.HarvestRequest{Name: "x", Kind: "snapshot", Collection: "web", Continues: 2}), 409, "has not run"},
		"continuing itself":      {set(2, wire.HarvestChange{Continues: &self}), 422, "itself"},
		"limits of a selective":  {set(1, wire.HarvestChange{Objects: new(int64)}), 422, "only a snapshot"},
		"an older version":       {set(1, wire.HarvestChange{Version: &old, Name: &none}), 409, "version 1"},
		"set and cleared":        {set(2, wire.HarvestChange{Bytes: new(int64), Clear: []string{"bytes"}}), 422, "bytes"},
		"an ended schedule, set": {set(4, wire.HarvestChange{Schedule: &past}), 422, "no date after"},
		"no field":               {set(1, wire.HarvestChange{Fields: map[string]string{"none": "x"}}), 404, "none"},
		"no domain":              {add(1, "none.org", ""), 404, "configurations[1]: domain none.org"},
		"a URL for a domain":     {add(1, "http://a.org/", ""), 404, "configurations[1]: "},
		"no configuration":       {add(1, "a.org", "none"), 404, `no configuration "none"`},
		"another collection":     {add(1, "r.org", ""), 409, "domain r.org is of collection radio"},
		"domains of a snapshot":  {add(2, "a.org", ""), 422, "snapshot"},
		"the last configuration": {func() error {
			_, err := c.Remove(t.Context(), 4, wire.HarvestConfiguration{Domain: "a.org"})
			return err
		}, 409, "would have no configurations"},
		"deleting what is active": {func() error { return c.Delete(t.Context(), 4, "x") }, 409, "deactivate it first"},
		"a copy of the same name": {func() error { _, err := c.Copy(t.Context(), 1, "one"); return err }, 409, `"one"`},
		"an unknown setting": {func() error {
			_, err := c.SetSettings(t.Context(), map[string]any{"max_domain_sise": 1})
			return err
		}, 422, "max_domain_size"},
		"a bad setting": {func() error {
			_, err := c.SetSettings(t.Context(), map[string]any{"generator": "random"})
			return err
		}, 422, "generator"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.do()
			if status(err) != tt.status || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %d with %q", err, tt.status, tt.says)
			}
			if now := stored(); now != before {
				t.Error("something of it is stored")
			}
		})
	}
}

// TestSettingsOfHarvestsHold changes how harvests are split.
func TestSettingsOfHarvestsHold(t *testing.T) {
	t.Parallel()
	_, c := harvesting(t)
	if s, err := c.Settings(t.Context()); err != nil || s.Version != 0 || valueOf(s, "max_total_size") != "8000000" {
		t.Errorf("%+v, %v", s, err)
	}
	for i, changes := range []map[string]any{{"max_total_size": 1000000000000}, {"generator": "fixed", "fixed_domain_count_focused": 7}} {
		if s, err := c.SetSettings(t.Context(), changes); err != nil || s.Version != uint64(i)+1 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	s, err := c.Settings(t.Context())
	if err != nil || valueOf(s, "max_total_size") != "1000000000000" || valueOf(s, "generator") != `"fixed"` {
		t.Errorf("%+v, %v", s, err)
	}
}

func valueOf(s wire.HarvestSettings, name string) string {
	value := s.Settings.(map[string]any)[name]
	if n, ok := value.(float64); ok {
		return fmt.Sprintf("%.0f", n)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestACopyIsWholeOrNothing has the second hundred of configurations refused.
func TestACopyIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t)
	made(t, c, wire.HarvestRequest{Name: "many", Kind: "selective", Schedule: "daily"})
	for from := 0; from < 150; from += 50 {
		l := runs.Listing{Number: 1}
		for i := from; i < from+50; i++ {
			name := kept.Name(fmt.Sprintf("d%d.org", i))
			b.must(kept.Create, kept.Creation{Name: name, Collection: "web"})
			l.Configurations = append(l.Configurations, runs.Configuration{Domain: name, Name: kept.DefaultConfiguration})
		}
		b.must(runs.AddConfigurations, l)
	}
	if h, err := c.Copy(t.Context(), 1, "copy"); err != nil || h.Configurations != 150 {
		t.Fatalf("%+v, %v", h, err)
	}
	asked := 0
	b.refuse = func(kind catalog.Kind) error {
		if kind == runs.AddConfigurations {
			if asked++; asked == 2 {
				return ErrUnavailable
			}
		}
		return nil
	}
	if _, err := c.Copy(t.Context(), 1, "another"); status(err) != 503 {
		t.Errorf("%v", err)
	}
	var names []string
	for h, err := range c.List(t.Context(), client.HarvestQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if !reflect.DeepEqual(names, []string{"copy", "many"}) {
		t.Errorf("%v", names)
	}
}
