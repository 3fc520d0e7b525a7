package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// The whole way in: a node's operator invites the first administrator, she invites a curator, who makes a program.
func TestPeopleComeInByInvitation(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx, first := t.Context(), open(localText)
	invited, err := first.People().Invite(ctx, wire.PersonRequest{Name: "Anna Berg", Mail: "anna@example.org", Institution: "north", Language: "da"})
	if err != nil || invited.Text == "" || invited.Person.State != wire.Invited {
		t.Fatalf("%+v %v", invited, err)
	}
	if _, err := first.Grants().Give(ctx, wire.GrantRequest{Person: "anna@example.org", Role: wire.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	early := open(invited.Text)
	if _, err := early.Status(ctx); status(err) != http.StatusForbidden || !strings.Contains(err.Error(), "user accept") {
		t.Errorf("an invited person acts: %v", err)
	}
	own, err := open("").People().Accept(ctx, invited.Text)
	if err != nil || own.Text == "" || own.OwnerName != "Anna Berg" || own.Kind != "person" {
		t.Fatalf("%+v %v", own, err)
	}
	if _, err := early.People().Accept(ctx, invited.Text); status(err) != http.StatusUnauthorized {
		t.Errorf("an invitation twice: %v", err)
	}
	if _, err := early.Status(ctx); status(err) != http.StatusUnauthorized {
		t.Errorf("a used invitation: %v", err)
	}
	anna := open(own.Text)
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"}))
	grant, err := anna.Grants().Give(ctx, wire.GrantRequest{Person: "berta", Role: wire.RoleCurator, Collection: "radio", Reason: "for the summer"})
	if err != nil || grant.PersonName != "berta" || grant.ByName != "Anna Berg" || grant.By != "person:"+string(own.Owner) || grant.State != "open" {
		t.Errorf("%+v %v", grant, err)
	}
	made, err := berta.Tokens().Create(ctx, wire.AccessTokenRequest{Name: "robot", Role: wire.RoleCurator, Program: true, Collections: []string{"radio"}})
	if err != nil || made.Kind != "program" || made.Owner != "berta" || !slices.Equal(made.Collections, []string{"radio"}) {
		t.Fatalf("%+v %v", made, err)
	}
	robot := open(made.Text)
	job := wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Collection: "radio"}
	if _, err := robot.Jobs().Create(ctx, job); err != nil {
		t.Error(err)
	}
	if _, err := anna.Grants().End(ctx, grant.ID, "autumn"); err != nil {
		t.Fatal(err)
	}
	if _, err := robot.Jobs().Create(ctx, job); status(err) != http.StatusForbidden {
		t.Errorf("a program whose owner's grant has ended: %v", err)
	}
	if _, err := berta.Jobs().Create(ctx, job); status(err) != http.StatusForbidden || !strings.Contains(err.Error(), "curator for collection radio") {
		t.Errorf("a person whose grant has ended: %v", err)
	}
	all, err := anna.Grants().List(ctx, "berta", true)
	if err != nil || len(all) != 2 || all[1].State != "ended" || all[1].EndedWhy != "autumn" {
		t.Errorf("%+v %v", all, err)
	}
	if open, err := anna.Grants().List(ctx, "", false); err != nil || len(open) != 2 {
		t.Errorf("%+v %v", open, err)
	}
	who := map[string]bool{}
	for e, err := range anna.Trail().All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		who[e.Actor+" "+e.ActorName] = true
	}
	for _, want := range []string{"person:" + string(own.Owner) + " Anna Berg", catalog.Local(self) + " local:north-1"} {
		if !who[want] {
			t.Errorf("the trail has no %q: %v", want, who)
		}
	}
	if _, err := anna.People().Disable(ctx, "berta", "left"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*client.Client{"she": berta, "her program": robot} {
		if _, err := c.Status(ctx); status(err) != http.StatusUnauthorized {
			t.Errorf("%s may do something still: %v", name, err)
		}
	}
}

func TestTokensOfOneself(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx := t.Context()
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"}))
	make := func(c *client.Client, in wire.AccessTokenRequest) (wire.AccessToken, *client.Client, error) {
		in.Name = "t"
		made, err := c.Tokens().Create(ctx, in)
		return made, open(made.Text), err
	}
	web := []string{"web"}
	for name, in := range map[string]wire.AccessTokenRequest{
		"a higher role":   {Role: wire.RoleAdmin},
		"another's":       {Role: wire.RoleReader, Owner: "anna"},
		"another place":   {Role: wire.RoleOperator, Places: []string{"north"}},
		"another program": {Role: wire.RoleCurator, Owner: "anna", Program: true},
	} {
		if _, _, err := make(berta, in); status(err) != http.StatusForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := make(open(localText), wire.AccessTokenRequest{Role: wire.RoleAdmin}); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "owner") {
		t.Errorf("the local token makes a token of nobody: %v", err)
	}
	if _, _, err := make(open(localText), wire.AccessTokenRequest{Role: wire.RoleAdmin, Owner: "anna"}); status(err) != http.StatusForbidden {
		t.Errorf("the local token makes a token that acts as a person: %v", err)
	}
	if made, _, err := make(open(localText), wire.AccessTokenRequest{Role: wire.RoleAdmin, Owner: "anna", Program: true}); err != nil || made.OwnerName != "anna" {
		t.Errorf("the local token makes a program of a person's: %+v %v", made, err)
	}
	// A weak token makes no strong one, and a program none that acts as its owner.
	_, weak, err := make(anna, wire.AccessTokenRequest{Role: wire.RoleReader})
	if err != nil {
		t.Fatal(err)
	}
	_, narrow, err := make(anna, wire.AccessTokenRequest{Role: wire.RoleCurator, Collections: web})
	if err != nil {
		t.Fatal(err)
	}
	_, robot, err := make(anna, wire.AccessTokenRequest{Role: wire.RoleAdmin, Program: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		with *client.Client
		in   wire.AccessTokenRequest
	}{
		"a reader's":            {weak, wire.AccessTokenRequest{Role: wire.RoleCurator}},
		"one of a collection":   {narrow, wire.AccessTokenRequest{Role: wire.RoleCurator}},
		"one of another":        {narrow, wire.AccessTokenRequest{Role: wire.RoleCurator, Collections: []string{"radio"}}},
		"a program's":           {robot, wire.AccessTokenRequest{Role: wire.RoleAdmin}},
		"a program's, as owner": {robot, wire.AccessTokenRequest{Role: wire.RoleReader, Owner: "anna"}},
	} {
		if made, _, err := make(tt.with, tt.in); status(err) != http.StatusForbidden {
			t.Errorf("%s: %+v %v", name, made, err)
		}
	}
	if _, err := weak.Grants().Give(ctx, wire.GrantRequest{Person: "berta", Role: wire.RoleReader}); status(err) != http.StatusForbidden {
		t.Errorf("a reader's token of an administrator gives grants: %v", err)
	}
	for name, c := range map[string]*client.Client{"she": anna, "her program": robot} {
		if _, err := c.Grants().Give(ctx, wire.GrantRequest{Person: "anna", Role: wire.RoleAdmin}); status(err) != http.StatusForbidden {
			t.Errorf("%s gives herself a grant: %v", name, err)
		}
	}
	own, err := berta.Tokens().List(ctx)
	if err != nil || slices.ContainsFunc(own, func(x wire.AccessToken) bool { return x.Owner != "berta" }) || len(own) != 2 {
		t.Errorf("berta sees %+v %v", own, err)
	}
	made, _, err := make(berta, wire.AccessTokenRequest{Role: wire.RoleCurator})
	if err != nil {
		t.Fatal(err)
	}
	if err := weak.Tokens().Revoke(ctx, own[0].ID); status(err) != http.StatusForbidden {
		t.Errorf("another's token: %v", err)
	}
	if err := berta.Tokens().Revoke(ctx, made.ID); err != nil {
		t.Error(err)
	}
}

func TestWhatOneChangesOfOneself(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx := t.Context()
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleReader}))
	if p, err := berta.People().Set(ctx, "berta", wire.PersonChange{Language: new("sv"), Zone: new("Europe/Stockholm")}); err != nil || p.Language != "sv" {
		t.Errorf("%+v %v", p, err)
	}
	for name, change := range map[string]wire.PersonChange{"name": {Name: new("anna")}, "mail": {Mail: new("anna@example.org")}, "place": {Institution: new("x")}} {
		if _, err := berta.People().Set(ctx, "berta", change); status(err) != http.StatusForbidden {
			t.Errorf("her own %s: %v", name, err)
		}
	}
	if _, err := berta.People().Set(ctx, "anna", wire.PersonChange{Language: new("sv")}); status(err) != http.StatusForbidden {
		t.Errorf("another's language: %v", err)
	}
	if _, err := anna.People().Set(ctx, "berta", wire.PersonChange{Mail: new("ANNA@example.org")}); status(err) != http.StatusConflict {
		t.Errorf("another's address: %v", err)
	}
	if _, err := anna.People().Set(ctx, "berta", wire.PersonChange{Zone: new("Europe/Stockhlm")}); status(err) != http.StatusNotFound {
		t.Errorf("a zone that is none: %v", err)
	}
	seen, err := berta.People().Show(ctx, "anna")
	if err != nil || seen.Mail != "" || seen.Name != "anna" || len(seen.Grants) != 1 {
		t.Errorf("what a reader sees of another: %+v %v", seen, err)
	}
	if seen, err = anna.People().Show(ctx, "berta@example.org"); err != nil || seen.Zone != "Europe/Stockholm" {
		t.Errorf("%+v %v", seen, err)
	}
	if all, err := berta.People().List(ctx); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
}

// A client of the last release asks as it always did: below level 3 it gets what it got, and from level 3 on it is told
// what is new.
func TestAClientOfTheLastRelease(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 2)
	ctx := t.Context()
	old := open(localText)
	made, err := old.Tokens().Create(ctx, wire.AccessTokenRequest{Name: "robot", Role: wire.RoleCurator})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(made.Text).Tokens().List(ctx); err != nil {
		t.Error(err)
	}
	if _, err := open(made.Text).Tokens().Create(ctx, wire.AccessTokenRequest{Name: "x", Role: wire.RoleReader}); status(err) != http.StatusForbidden {
		t.Errorf("a curator makes tokens at level 2: %v", err)
	}
	if _, err := old.Tokens().Create(ctx, wire.AccessTokenRequest{Name: "x", Role: wire.RoleReader, Owner: "anna"}); status(err) != http.StatusNotImplemented {
		t.Errorf("an owner at level 2: %v", err)
	}
	if _, err := old.People().Invite(ctx, wire.PersonRequest{Name: "x", Mail: "x@example.org"}); status(err) != http.StatusNotImplemented || !strings.Contains(err.Error(), fmt.Sprint("cluster level ", catalog.Level)) {
		t.Errorf("people at level 2: %v", err)
	}
	three := 3
	b.must(catalog.UpdateMember, catalog.MemberChange{ID: self, Level: &three})
	if _, err := old.RaiseLevel(ctx, 3); err != nil {
		t.Fatal(err)
	}
	robot := open(made.Text)
	if _, err := robot.Jobs().Create(ctx, wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
		t.Errorf("a token from before: %v", err)
	}
	if st, err := robot.Status(ctx); err != nil || st.Ownerless != 1 {
		t.Errorf("%d %v", st.Ownerless, err)
	}
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleCurator}))
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"}))
	if _, err := berta.Tokens().Take(ctx, made.ID, ""); status(err) != http.StatusForbidden {
		t.Errorf("taken by who may less: %v", err)
	}
	if taken, err := anna.Tokens().Take(ctx, made.ID, ""); err != nil || taken.OwnerName != "anna" || taken.Kind != "program" {
		t.Errorf("%+v %v", taken, err)
	}
	if st, err := robot.Status(ctx); err != nil || st.Ownerless != 0 {
		t.Errorf("%d %v", st.Ownerless, err)
	}
}

// Who follows the events of a crawl is cut off when disabled, and when the grant ends.
func TestAnOpenStreamEndsWithTheGrant(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *backend){
		"disabled": func(b *backend) {
			b.as(catalog.Local(self), catalog.DisablePerson, catalog.PersonRef{ID: "anna"})
		},
		"ended": func(b *backend) {
			b.as(catalog.Local(self), catalog.EndGrant, catalog.Ending{Person: "anna", ID: 1})
		},
	} {
		b, open := clusterOf(t, catalog.Level)
		_, job := b.furnish()
		anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleReader}))
		b.quiet = true
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, anna.Base()+"/api/v1/jobs/"+job+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+b.tokens[anna])
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		ended := make(chan error, 1)
		go func() {
			text, err := io.ReadAll(answer.Body)
			if err == nil && strings.Contains(string(text), "event: end") {
				err = errors.New("the crawl is said to have ended")
			}
			ended <- err
		}()
		end(b)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the stream goes on", name)
		}
		_ = answer.Body.Close()
	}
}

func TestUsesOfTokensAreTold(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	text := b.person("anna", catalog.Giving{Role: catalog.RoleReader})
	token, err := ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(text).Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := open("holdfast-" + token.ID + "-wrong").Status(t.Context()); status(err) != http.StatusUnauthorized {
		t.Fatal(err)
	}
	if _, err := open(localText).Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.used, []string{token.ID}) {
		t.Errorf("%v", b.used)
	}
	day := catalog.At(time.Now()) / catalog.Day * catalog.Day
	b.must(catalog.NoteUses, catalog.TokenUses{Day: day, Tokens: []string{token.ID}})
	all, err := open(localText).Tokens().List(t.Context())
	i := slices.IndexFunc(all, func(x wire.AccessToken) bool { return x.ID == token.ID })
	if err != nil || i < 0 || all[i].Used != day.Std().Format(time.DateOnly) {
		t.Errorf("%+v %v", all, err)
	}
}
