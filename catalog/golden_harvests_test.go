package catalog_test

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
)

// harvests makes, changes, copies and deletes channels, templates, schedules and lists of traps, and has members say
// which channels they serve.
func (g *golden) harvests() {
	const who = "north-1"
	words := []string{"", "plain", `"quoted" <&> é`, "line\nline"}
	for i, name := range []string{"A", "EVENTS", "a-b", "EVENTS", "deep_web"} {
		g.say(who, harvests.CreateChannel, harvests.ChannelCreation{Name: name, Snapshot: i%2 == 0, Comment: words[i%4]})
	}
	g.say(who, harvests.SetChannel, harvests.ChannelChange{Name: "SNAPSHOT", Comment: words[2]})
	g.say(who, harvests.SetChannel, harvests.ChannelChange{Name: "A", Comment: words[3]})
	g.say(who, catalog.UpdateMember, catalog.MemberChange{ID: id(who), Channels: &[]string{"EVENTS", "FOCUSED"}})
	for i, channel := range []string{"EVENTS", "A", "FOCUSED", ""} {
		g.say(who, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Channel: channel, Submit: true,
			Spec: []byte(`{"name":"j","seeds":["http://example.org/"]}`)})
		g.say(who, catalog.ClaimJob, catalog.JobRef{ID: uint64(i + 1), Node: id(who)})
	}
	for _, name := range []string{"A", "EVENTS", "deep_web", "FOCUSED", "none"} {
		g.say(who, harvests.DeleteChannel, harvests.Ref{Name: name})
	}
	for _, kind := range harvests.Kinds() {
		do := func(verb string, body any) { g.say(who, catalog.Kind(string(kind)+"."+verb), body) }
		for i := range 6 {
			name, off := fmt.Sprintf("%s-%d", kind, i), i%2 == 0
			do("create", harvests.Creation{Name: name, Text: words[1+i%3], Off: off && kind != harvests.Schedule,
				Comment: words[i%4]})
			text := words[1+(i+1)%3]
			do("set", harvests.Change{Name: name, Text: &text, After: 1})
			do("set", harvests.Change{Name: name, Text: &text, Comment: &words[(i+1)%4]})
			do("copy", harvests.Copying{From: name, Version: i % 3, Name: name + ".copy"})
		}
		off := false
		do("set", harvests.Change{Name: string(kind) + "-0", Off: &off})
		do("create", harvests.Creation{Name: "daily", Text: "x"})
		do("delete", harvests.Ref{Name: string(kind) + "-1"})
		do("delete", harvests.Ref{Name: string(kind) + "-1"})
	}
	g.say(who, harvests.CreateTraps, harvests.Creation{Name: "many", Text: "a\nb", Items: 2})
	g.sealedTemplates()
}

// sealedTemplates makes templates with secrets.
func (g *golden) sealedTemplates() {
	crawler := newSealer("north-2")
	crawler.Level = 4
	g.tell(catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: digest("secret"), Replica: "north",
		Expires: g.now + 1e6})
	g.tell(catalog.JoinMember, catalog.Joining{Token: "t", Secret: []byte("secret"), Member: crawler.Member})
	crawls := true
	g.seq++
	g.answers = append(g.answers, g.send(g.t, catalog.Command{Kind: catalog.UpdateMember, Node: crawler.ID, Boot: 1,
		Seq: g.seq}, catalog.MemberChange{ID: crawler.ID, Crawls: &crawls, Seal: crawler.seal("k")}))
	text := "y"
	secret := func(id string) *jobs.Secret {
		return &jobs.Secret{ID: id, Text: []byte("x"), Boxes: []jobs.Box{box(crawler, "k")}}
	}
	g.tell(harvests.CreateTemplate, harvests.Creation{Name: "sealed", Text: "x", Secret: secret("s1")})
	g.tell(harvests.SetTemplate, harvests.Change{Name: "sealed", Text: &text, Secret: secret("s2")})
	g.tell(harvests.CopyTemplate, harvests.Copying{From: "sealed", Name: "sealed.copy"})
	g.tell(jobs.OpenJob, jobs.JobOpening{Harvest: "h", Collection: "web", Uses: []string{"s1", "s2"}})
	g.tell(harvests.DeleteTemplate, harvests.Ref{Name: "sealed"})
}
