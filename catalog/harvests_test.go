package catalog_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
)

// TestDefinitionsNeedLevel4 asks for each command below the level.
func TestDefinitionsNeedLevel4(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, 3)
	for _, kind := range harvests.Commands() {
		want := fmt.Sprintf("command %q is not known at level 3", kind)
		if res := c.apply(t, kind, map[string]any{}); res.Refusal == nil || res.Refusal.Message != want {
			t.Errorf("%s: %v", kind, res.Refusal)
		}
	}
}

// defining is a cluster of level 4 with something of each kind.
func defining(t *testing.T) *cluster {
	c := aloneAt(t, 4)
	c.must(t, harvests.CreateChannel, harvests.ChannelCreation{Name: "EVENTS", Comment: "elections"})
	c.must(t, harvests.CreateTemplate, harvests.Creation{Name: "deep", Text: `{"max_hops":9}`})
	c.must(t, harvests.CreateSchedule, harvests.Creation{Name: "often", Text: `{"unit":"hour","every":2}`})
	c.must(t, harvests.CreateTraps, harvests.Creation{Name: "calendars", Text: ".*/calendar/.*", Items: 1})
	return c
}

// TestRefusedDefinitions tries what is not carried out; nothing is stored then, nor in the trail.
func TestRefusedDefinitions(t *testing.T) {
	t.Parallel()
	c := defining(t)
	long, off, text := strings.Repeat("x", harvests.MaxComment+1), true, "x"
	huge := strings.Repeat("x", harvests.MaxText+1)
	secret := &jobs.Secret{ID: "s", Text: []byte("x"), Boxes: []jobs.Box{{Node: id("north-1"), Box: []byte("x")}}}
	before := c.sum()
	for name, tt := range map[string]struct {
		kind catalog.Kind
		body any
		code catalog.Code
		want string
	}{
		"a channel with a dash":           {harvests.CreateChannel, harvests.ChannelCreation{Name: "a-b"}, catalog.Invalid, `channel "a-b"`},
		"a channel without a name":        {harvests.CreateChannel, harvests.ChannelCreation{}, catalog.Invalid, `channel ""`},
		"a channel twice":                 {harvests.CreateChannel, harvests.ChannelCreation{Name: "EVENTS"}, catalog.Conflict, "already"},
		"a default channel again":         {harvests.CreateChannel, harvests.ChannelCreation{Name: "FOCUSED"}, catalog.Conflict, "already"},
		"a long comment":                  {harvests.SetChannel, harvests.ChannelChange{Name: "EVENTS", Comment: long}, catalog.Invalid, "comment of"},
		"no channel":                      {harvests.SetChannel, harvests.ChannelChange{Name: "NONE"}, catalog.NotFound, "NONE"},
		"the default goes":                {harvests.DeleteChannel, harvests.Ref{Name: "FOCUSED"}, catalog.Unsafe, "default"},
		"the other default goes":          {harvests.DeleteChannel, harvests.Ref{Name: "SNAPSHOT"}, catalog.Unsafe, "default"},
		"no channel goes":                 {harvests.DeleteChannel, harvests.Ref{Name: "NONE"}, catalog.NotFound, "NONE"},
		"a template twice":                {harvests.CreateTemplate, harvests.Creation{Name: "deep", Text: "x"}, catalog.Conflict, "already"},
		"a template with a slash":         {harvests.CreateTemplate, harvests.Creation{Name: "a/b", Text: "x"}, catalog.Invalid, "template name"},
		"a template without a text":       {harvests.CreateTemplate, harvests.Creation{Name: "b"}, catalog.Invalid, "text of 0 bytes"},
		"a template that is too long":     {harvests.CreateTemplate, harvests.Creation{Name: "b", Text: huge}, catalog.Invalid, "text of"},
		"a template with items":           {harvests.CreateTemplate, harvests.Creation{Name: "b", Text: "x", Items: 1}, catalog.Invalid, "items"},
		"a template, badly sealed":        {harvests.CreateTemplate, harvests.Creation{Name: "b", Text: "x", Secret: secret}, catalog.Conflict, "does not crawl"},
		"a template of an older version":  {harvests.SetTemplate, harvests.Change{Name: "deep", After: 7, Text: &text}, catalog.Conflict, "version 1 by now"},
		"a secret without a text":         {harvests.SetTemplate, harvests.Change{Name: "deep", Secret: secret}, catalog.Invalid, "secret"},
		"a template that is not there":    {harvests.SetTemplate, harvests.Change{Name: "none", Text: &text}, catalog.NotFound, `template "none"`},
		"a copy of nothing":               {harvests.CopyTemplate, harvests.Copying{From: "none", Name: "b"}, catalog.NotFound, `template "none"`},
		"a copy of no version":            {harvests.CopyTemplate, harvests.Copying{From: "deep", Version: 2, Name: "b"}, catalog.NotFound, "version 2"},
		"a copy of a negative version":    {harvests.CopyTemplate, harvests.Copying{From: "deep", Version: -1, Name: "b"}, catalog.NotFound, "version -1"},
		"a copy over another":             {harvests.CopyTemplate, harvests.Copying{From: "deep", Name: "deep"}, catalog.Conflict, "already"},
		"a template goes that is not":     {harvests.DeleteTemplate, harvests.Ref{Name: "none"}, catalog.NotFound, `template "none"`},
		"a schedule with a standard name": {harvests.CreateSchedule, harvests.Creation{Name: "daily", Text: "x"}, catalog.Conflict, "comes with the system"},
		"a standard schedule changes":     {harvests.SetSchedule, harvests.Change{Name: "daily", Text: &text}, catalog.Unsafe, "comes with the system"},
		"a standard schedule goes":        {harvests.DeleteSchedule, harvests.Ref{Name: "daily"}, catalog.Unsafe, "comes with the system"},
		"a schedule that is off":          {harvests.CreateSchedule, harvests.Creation{Name: "b", Text: "x", Off: true}, catalog.Invalid, "switched off"},
		"a schedule is switched off":      {harvests.SetSchedule, harvests.Change{Name: "often", Off: &off}, catalog.Invalid, "switched off"},
		"a schedule with a secret":        {harvests.CreateSchedule, harvests.Creation{Name: "b", Text: "x", Secret: secret}, catalog.Invalid, "no secret"},
		"too many traps":                  {harvests.CreateTraps, harvests.Creation{Name: "b", Text: "x", Items: 1e6}, catalog.Invalid, "items"},
		"traps with a long comment":       {harvests.SetTraps, harvests.Change{Name: "calendars", Comment: &long}, catalog.Invalid, "comment of"},
		"an unknown field":                {harvests.CreateTraps, map[string]any{"name": "b", "text": "x", "more": 1}, catalog.Invalid, "more"},
	} {
		res := c.apply(t, tt.kind, tt.body)
		if res.Refusal == nil || res.Refusal.Code != tt.code || !strings.Contains(res.Refusal.Message, tt.want) {
			t.Errorf("%s: %+v, want %s: %s", name, res.Refusal, tt.code, tt.want)
		}
	}
	if c.sum() != before {
		t.Error("what was refused has changed what is stored")
	}
}

// TestVersionsStayAsTheyWere changes a definition of each kind.
func TestVersionsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, kind := range harvests.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := aloneAt(t, 4)
			do := func(verb string, body any) catalog.Definition {
				t.Helper()
				var d catalog.Definition
				if err := json.Unmarshal(c.must(t, catalog.Kind(string(kind)+"."+verb), body).Value, &d); err != nil {
					t.Fatal(err)
				}
				return d
			}
			texts := []string{"first\nline", `"second" <&> é`, "third"}
			do("create", harvests.Creation{Name: "a", Text: texts[0], Comment: "c"})
			for _, text := range texts[1:] {
				do("set", harvests.Change{Name: "a", Text: &text})
			}
			trail, err := c.view().Trail(0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if d := do("set", harvests.Change{Name: "a", Text: &texts[2], After: 3}); d.Version != 3 {
				t.Errorf("the same text again makes version %d", d.Version)
			}
			if again, err := c.view().Trail(0, 0); err != nil || len(again) != len(trail) {
				t.Errorf("a change without a difference is in the trail: %v", err)
			}
			do("copy", harvests.Copying{From: "a", Version: 2, Name: "b"})
			view := catalog.HarvestsIn(c.view())
			for i, want := range texts {
				if v, text, err := view.Text(kind, "a", i+1); err != nil || text != want || v.Number != i+1 || v.Made == 0 {
					t.Errorf("version %d: %+v %q %v", i+1, v, text, err)
				}
			}
			if _, text, err := view.Text(kind, "b", 1); err != nil || text != texts[1] {
				t.Errorf("the copy: %q %v", text, err)
			}
			if all, err := view.Versions(kind, "a"); err != nil || len(all) != 3 {
				t.Errorf("%+v %v", all, err)
			}
			c.must(t, catalog.Kind(string(kind)+".delete"), harvests.Ref{Name: "a"})
			c.must(t, catalog.Kind(string(kind)+".delete"), harvests.Ref{Name: "b"})
			for key := range c.All() {
				if strings.HasPrefix(key, string(kind)) && !strings.HasPrefix(key, string(kind)+"gone/") {
					t.Errorf("%s is left", key)
				}
			}
			if d := do("create", harvests.Creation{Name: "a", Text: "anew"}); d.First != 4 || d.Version != 4 {
				t.Errorf("a name that was given before begins with %+v", d)
			}
			if _, _, err := view.Text(kind, "a", 3); err == nil {
				t.Error("a version of what was deleted is shown")
			}
			if d := do("copy", harvests.Copying{From: "a", Name: "b"}); d.First != 2 || d.Version != 2 {
				t.Errorf("so does a copy: %+v", d)
			}
			if all, err := view.Versions(kind, "a"); err != nil || len(all) != 1 || all[0].Number != 4 {
				t.Errorf("%+v %v", all, err)
			}
		})
	}
}

// TestOneEventForEachChange looks for each change in the trail.
func TestOneEventForEachChange(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, 4)
	off, text, comment := true, "z", "why"
	var acts []string
	for _, tt := range []struct {
		kind catalog.Kind
		body any
	}{
		{harvests.CreateChannel, harvests.ChannelCreation{Name: "A"}},
		{harvests.SetChannel, harvests.ChannelChange{Name: "SNAPSHOT", Comment: "whole domain"}},
		{harvests.DeleteChannel, harvests.Ref{Name: "A"}},
		{harvests.CreateTemplate, harvests.Creation{Name: "a", Text: "x"}},
		{harvests.SetTemplate, harvests.Change{Name: "a", Text: &text, Off: &off, Comment: &comment}},
		{harvests.CopyTemplate, harvests.Copying{From: "a", Name: "b"}},
		{harvests.DeleteTemplate, harvests.Ref{Name: "a"}},
		{harvests.CreateSchedule, harvests.Creation{Name: "a", Text: "x"}},
		{harvests.SetSchedule, harvests.Change{Name: "a", Text: &text}},
		{harvests.CopySchedule, harvests.Copying{From: "a", Name: "b"}},
		{harvests.DeleteSchedule, harvests.Ref{Name: "b"}},
		{harvests.CreateTraps, harvests.Creation{Name: "a", Text: "x", Items: 1}},
		{harvests.SetTraps, harvests.Change{Name: "a", Off: &off}},
		{harvests.CopyTraps, harvests.Copying{From: "a", Name: "b"}},
		{harvests.DeleteTraps, harvests.Ref{Name: "a"}},
	} {
		trail, err := c.view().Trail(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		res := c.send(t, catalog.Command{Kind: tt.kind, Actor: "person:anna"}, tt.body)
		if res.Refusal != nil {
			t.Fatalf("%s: %s", tt.kind, res.Refusal)
		}
		after, err := c.view().Trail(0, 0)
		if err != nil || len(after) != len(trail)+1 {
			t.Fatalf("%s: %d events, %v", tt.kind, len(after)-len(trail), err)
		}
		if e := after[len(after)-1]; e.Act != string(tt.kind) || e.Actor != "person:anna" || e.Subject == "" {
			t.Errorf("%s: %+v", tt.kind, e)
		}
		acts = append(acts, string(tt.kind))
	}
	for _, kind := range harvests.Commands() {
		if !slices.Contains(acts, string(kind)) {
			t.Errorf("%s was not tried", kind)
		}
	}
}

// TestChannelsComeWithTheSystem and are there before anybody made one.
func TestChannelsComeWithTheSystem(t *testing.T) {
	t.Parallel()
	c := defining(t)
	names := func() (out []string) {
		all, err := catalog.HarvestsIn(c.view()).Channels()
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range all {
			out = append(out, fmt.Sprintf("%s %t %t", ch.Name, ch.Snapshot, ch.Default()))
		}
		return out
	}
	want := []string{"EVENTS false false", "FOCUSED false true", "SNAPSHOT true true"}
	if got := names(); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	c.must(t, harvests.SetChannel, harvests.ChannelChange{Name: "FOCUSED", Comment: "daily work"})
	if got := names(); !reflect.DeepEqual(got, want) {
		t.Errorf("with a comment: %q", got)
	}
}

// TestAUsedChannelStays while a job waits in it or a node serves it.
func TestAUsedChannelStays(t *testing.T) {
	t.Parallel()
	c := defining(t)
	refused := func(want string) {
		t.Helper()
		res := c.apply(t, harvests.DeleteChannel, harvests.Ref{Name: "EVENTS"})
		if res.Refusal == nil || res.Refusal.Code != catalog.Conflict || !strings.Contains(res.Refusal.Message, want) {
			t.Errorf("%+v, want %s", res.Refusal, want)
		}
	}
	job := c.jobOf(t, "EVENTS")
	refused("job 1 waits in it")
	c.must(t, catalog.WishJob, catalog.JobWishing{ID: job, Wish: catalog.WishStop})
	c.serve(t, "north-1", "EVENTS", "FOCUSED")
	refused("node north-1 serves it")
	c.serve(t, "north-1", "FOCUSED")
	c.must(t, harvests.DeleteChannel, harvests.Ref{Name: "EVENTS"})
}

// TestASecretGoesWithTheLastText that refers to it.
func TestASecretGoesWithTheLastText(t *testing.T) {
	t.Parallel()
	c, a, _ := sealing(t)
	c.raiseTo(t, 4)
	c.publish(t, a, "ka")
	secret := func(id string) *jobs.Secret {
		return &jobs.Secret{ID: id, Text: []byte("x"), Boxes: []jobs.Box{box(a, "ka")}}
	}
	kept := func(want ...string) {
		t.Helper()
		all, err := c.view().Secrets("", 0)
		var got []string
		for _, x := range all {
			got = append(got, x.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("secrets %v %v, want %v", got, err, want)
		}
	}
	text := "y"
	c.must(t, harvests.CreateTemplate, harvests.Creation{Name: "a", Text: "x", Secret: secret("s1")})
	c.must(t, harvests.SetTemplate, harvests.Change{Name: "a", Text: &text, Secret: secret("s2")})
	c.must(t, harvests.CopyTemplate, harvests.Copying{From: "a", Version: 1, Name: "b"})
	kept("s1", "s2")
	c.must(t, harvests.DeleteTemplate, harvests.Ref{Name: "a"})
	kept("s1")
	c.must(t, harvests.DeleteTemplate, harvests.Ref{Name: "b"})
	kept()
}

// TestADefinitionHasSoManyVersions that one command can delete it.
func TestADefinitionHasSoManyVersions(t *testing.T) {
	t.Parallel()
	c := defining(t)
	for n := 2; n <= harvests.MaxVersions; n++ {
		text := fmt.Sprint(n)
		c.must(t, harvests.SetTemplate, harvests.Change{Name: "deep", Text: &text})
	}
	text := "one more"
	if res := c.apply(t, harvests.SetTemplate, harvests.Change{Name: "deep", Text: &text}); res.Refusal == nil {
		t.Error("there is no end of versions")
	}
	c.must(t, harvests.DeleteTemplate, harvests.Ref{Name: "deep"})
}

// TestATemplateOfAConfigurationStays while a domain has a configuration with it.
func TestATemplateOfAConfigurationStays(t *testing.T) {
	t.Parallel()
	c := defining(t)
	c.must(t, domains.Create, domains.Creation{Name: "example.org", Collection: "web"})
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "example.org", Name: "weekly", Template: "deep",
		Lists: []string{domains.DefaultSeedList}})
	res := c.apply(t, harvests.DeleteTemplate, harvests.Ref{Name: "deep"})
	if res.Refusal == nil || res.Refusal.Code != catalog.Conflict ||
		!strings.Contains(res.Refusal.Message, "domain example.org") {
		t.Errorf("%+v", res.Refusal)
	}
}
