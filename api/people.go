package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// Person is somebody who works with the archive. Address, language and zone are shown to herself and to administrators.
type Person struct {
	ID          catalog.PersonID    `json:"id"`
	Name        string              `json:"name"`
	Mail        string              `json:"mail,omitempty"`
	Institution string              `json:"institution,omitempty" doc:"a place"`
	Language    string              `json:"language,omitempty"`
	Zone        string              `json:"zone,omitempty" doc:"time zone"`
	State       catalog.PersonState `json:"state" enum:"invited,active,disabled"`
	Invited     time.Time           `json:"invited"`
	Since       time.Time           `json:"since" doc:"of the state"`
	Reason      string              `json:"reason,omitempty" doc:"of the state"`
	Grants      []Grant             `json:"grants,omitempty" doc:"given when one person is shown"`
}

// PersonRequest invites a person.
type PersonRequest struct {
	Name        string `json:"name" minLength:"1" maxLength:"100" pattern:"^[!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*$" patternDescription:"readable text without a colon, and no spaces around it"`
	Mail        string `json:"mail" minLength:"5" maxLength:"254" pattern:"^[!#$%(-.0-;=?A-Z\\[\\]^-~]+@[!#$%(-.0-;=?A-Z\\[\\]^-~]{3,}$" patternDescription:"name@host in ASCII"`
	Institution string `json:"institution,omitempty" maxLength:"64" pattern:"^([!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*)?$" patternDescription:"readable text" doc:"a place"`
	Language    string `json:"language,omitempty" maxLength:"35" pattern:"^[A-Za-z0-9-]*$" doc:"such as da or en-GB"`
	Zone        string `json:"zone,omitempty" maxLength:"64" pattern:"^[-A-Za-z0-9_+/]*$" doc:"time zone, such as Europe/Copenhagen"`
	Lifetime    string `json:"lifetime,omitempty" pattern:"^[1-9][0-9]{0,5}(ms|s|m|h)([0-9]{1,4}(ms|s|m|h)){0,2}$" doc:"of the invitation; 168h if not given"`
}

// AgainRequest asks for a further invitation of a person.
type AgainRequest struct {
	Lifetime string `json:"lifetime,omitempty" pattern:"^[1-9][0-9]{0,5}(ms|s|m|h)([0-9]{1,4}(ms|s|m|h)){0,2}$" doc:"of the invitation; 168h if not given"`
}

// Invitation is what a person accepts to become active. Its text is shown once.
type Invitation struct {
	Person  Person    `json:"person"`
	Expires time.Time `json:"expires"`
	Text    string    `json:"text" doc:"the invitation itself, for the person alone"`
}

// AcceptRequest accepts an invitation.
type AcceptRequest struct {
	Invitation string `json:"invitation" minLength:"1" maxLength:"300" doc:"its text"`
}

// PersonChange changes what is given of a person. Oneself changes language and zone, an administrator all.
type PersonChange struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100" pattern:"^[!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*$" patternDescription:"readable text without a colon, and no spaces around it"`
	Mail        *string `json:"mail,omitempty" minLength:"5" maxLength:"254" pattern:"^[!#$%(-.0-;=?A-Z\\[\\]^-~]+@[!#$%(-.0-;=?A-Z\\[\\]^-~]{3,}$" patternDescription:"name@host in ASCII"`
	Institution *string `json:"institution,omitempty" maxLength:"64" pattern:"^([!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+( [!-9;-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\ue000-\ufefe\uff00-\ufffc]+)*)?$" patternDescription:"readable text"`
	Language    *string `json:"language,omitempty" maxLength:"35" pattern:"^[A-Za-z0-9-]*$"`
	Zone        *string `json:"zone,omitempty" maxLength:"64" pattern:"^[-A-Za-z0-9_+/]*$"`
}

// invitationTime is how long an invitation is good for.
const invitationTime = 7 * 24 * time.Hour

func peopleRoutes(s *server, api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/users", id: "user-list", tag: "people",
		summary: "List the people"},
		func(ctx context.Context, _ *struct{}) (Page[Person], error) { return whole(people(s, ctx)) })
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/users/{name}", id: "user-show", tag: "people",
		summary: "Show a person, by id, e-mail address or name, with all grants"},
		func(ctx context.Context, in *ByName) (Person, error) { return person(s, ctx, in.Name) })
	type invite struct{ Body PersonRequest }
	handle(s, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/users", id: "user-invite", tag: "people",
		summary: "Invite a person; the text of the invitation is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *invite) (Invitation, error) { return invitePerson(s, ctx, in.Body) })
	type again struct {
		ByName
		Body AgainRequest
	}
	handle(s, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/users/{name}/invitation", id: "user-invite-again", tag: "people",
		summary: "Make another invitation, for a person who has no token any more", status: http.StatusCreated},
		func(ctx context.Context, in *again) (Invitation, error) { return inviteAgain(s, ctx, in.Name, in.Body) })
	type accept struct{ Body AcceptRequest }
	handle(s, api, route{method: http.MethodPost, path: "/api/v1/invitations/accept", id: "user-accept", tag: "people",
		summary: "Accept an invitation; the answer is one's own access token", status: http.StatusCreated,
		adjust: func(op *huma.Operation) {
			op.MaxBodyBytes = 4 << 10
			op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		}},
		func(ctx context.Context, in *accept) (AccessToken, error) { return acceptInvitation(s, ctx, in.Body) })
	type change struct {
		ByName
		Body PersonChange
	}
	handle(s, api, route{act: catalog.KeepOwn, method: http.MethodPatch, path: "/api/v1/users/{name}", id: "user-set", tag: "people",
		summary: "Change what is known of a person; of oneself, language and time zone"},
		func(ctx context.Context, in *change) (Person, error) { return changePerson(s, ctx, in.Name, in.Body) })
	type why struct {
		ByName
		Body ReasonRequest
	}
	for id, kind := range map[string]catalog.Kind{"disable": catalog.DisablePerson, "enable": catalog.EnablePerson} {
		handle(s, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/users/{name}/" + id, id: "user-" + id, tag: "people",
			summary: map[string]string{"disable": "Disable a person: she and her programs may do nothing", "enable": "Take it back that a person is disabled"}[id]},
			func(ctx context.Context, in *why) (Person, error) {
				p, err := findPerson(s, in.Name)
				if err == nil {
					err = s.propose(ctx, kind, catalog.PersonRef{ID: p.ID, Reason: in.Body.Reason}, nil)
				}
				return after(s, ctx, p.ID, err)
			})
	}
	grantRoutes(s, api)
}

// people returns everybody, as the caller may see them.
func people(s *server, ctx context.Context) (out []Person, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.PeopleIn(v).All()
		for _, p := range all {
			out = append(out, personOf(ctx, p))
		}
		return err
	})
	return out, err
}

// personOf is how the API shows a person to the caller.
func personOf(ctx context.Context, p catalog.Person) Person {
	out := Person{ID: p.ID, Name: p.Name, Institution: p.Institution, State: p.State, Invited: std(p.Invited), Since: std(p.Since)}
	if who := callerOf(ctx); who.Person == p.ID || keepsPeople(ctx) {
		out.Mail, out.Language, out.Zone, out.Reason = p.Mail, p.Language, p.Zone, p.Reason
	}
	return out
}

// findPerson finds a person by id, e-mail address or name.
func findPerson(s *server, text string) (found catalog.Person, err error) {
	err = s.Catalog.View(func(v catalog.View) (err error) {
		found, err = catalog.PeopleIn(v).Find(text)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("person %s: %w", text, ErrNotFound)
	}
	return found, err
}

func person(s *server, ctx context.Context, text string) (Person, error) {
	p, err := findPerson(s, text)
	if err != nil {
		return Person{}, err
	}
	out := personOf(ctx, p)
	out.Grants, err = grants(s, p.ID, true)
	return out, err
}

// after shows a person when what was asked of her has been decided.
func after(s *server, ctx context.Context, id catalog.PersonID, err error) (Person, error) {
	if err == nil {
		err = s.Catalog.Linear(ctx)
	}
	if err != nil {
		return Person{}, err
	}
	return person(s, ctx, string(id))
}

func invitePerson(s *server, ctx context.Context, in PersonRequest) (Invitation, error) {
	if err := checkZone(in.Zone); err != nil {
		return Invitation{}, err
	}
	p := catalog.Person{ID: catalog.PersonID(NewToken().ID), Name: in.Name, Mail: in.Mail, Institution: in.Institution, Language: in.Language, Zone: in.Zone}
	return propose(s, ctx, catalog.InvitePerson, p, in.Lifetime)
}

func inviteAgain(s *server, ctx context.Context, name string, in AgainRequest) (Invitation, error) {
	p, err := findPerson(s, name)
	if err != nil {
		return Invitation{}, err
	}
	return propose(s, ctx, catalog.ReinvitePerson, catalog.Person{ID: p.ID}, in.Lifetime)
}

// propose makes an invitation for a person.
func propose(s *server, ctx context.Context, kind catalog.Kind, p catalog.Person, life string) (Invitation, error) {
	valid, err := lifetime(life, invitationTime)
	if err != nil {
		return Invitation{}, err
	}
	secret := NewToken()
	token := catalog.AccessToken{ID: secret.ID, Name: "invitation", SecretHash: secret.Hash(), Role: catalog.RoleReader, Expires: catalog.At(s.Now().Add(valid))}
	err = s.propose(ctx, kind, catalog.Invitation{Person: p, Token: token}, nil)
	shown, err := after(s, ctx, p.ID, err)
	return Invitation{Person: shown, Expires: std(token.Expires), Text: secret.String()}, err
}

// acceptInvitation answers with a token of the person's own. Who has the invitation needs no other.
func acceptInvitation(s *server, ctx context.Context, in AcceptRequest) (AccessToken, error) {
	denied := problem(http.StatusUnauthorized, CodeUnauthorized, "the invitation is unknown, expired, used or taken back")
	invitation, err := ParseToken(in.Invitation)
	if err != nil {
		return AccessToken{}, denied
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return AccessToken{}, err
	}
	var who catalog.Caller
	err = s.Catalog.View(func(v catalog.View) error {
		kept, err := v.AccessToken(invitation.ID)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		if !Proves(invitation, kept, s.Now()) {
			return denied
		}
		who, err = catalog.PeopleIn(v).Caller(kept, catalog.At(s.Now()))
		if errors.Is(err, catalog.ErrDisabled) || err == nil && !who.Invited {
			return denied
		}
		return err
	})
	if err != nil {
		return AccessToken{}, err
	}
	secret := NewToken()
	token := catalog.AccessToken{ID: secret.ID, Name: "first", SecretHash: secret.Hash(), Role: catalog.RoleAdmin}
	ctx = context.WithValue(ctx, callerKey{}, caller{Caller: who})
	if err := s.propose(ctx, catalog.AcceptInvitation, catalog.Acceptance{Invitation: invitation.ID, Token: token}, nil); err != nil {
		return AccessToken{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return AccessToken{}, err
	}
	out, err := accessToken(s, token.ID)
	out.Text = secret.String()
	return out, err
}

func changePerson(s *server, ctx context.Context, name string, in PersonChange) (Person, error) {
	p, err := findPerson(s, name)
	if err != nil {
		return Person{}, err
	}
	change := catalog.PersonChange{ID: p.ID, Name: in.Name, Mail: in.Mail, Institution: in.Institution, Language: in.Language, Zone: in.Zone}
	if who := callerOf(ctx); who.Program || who.Person != p.ID || !change.Own() {
		if err := may(ctx, catalog.KeepPeople, catalog.Where{}); err != nil {
			return Person{}, err
		}
	}
	if in.Zone != nil {
		if err := checkZone(*in.Zone); err != nil {
			return Person{}, err
		}
	}
	return after(s, ctx, p.ID, s.propose(ctx, catalog.ChangePerson, change, nil))
}

// checkZone refuses a time zone that is not known, as far as this machine knows any.
func checkZone(zone string) error {
	if _, err := time.LoadLocation("Europe/London"); err != nil || zone == "" {
		return nil
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return problem(http.StatusNotFound, CodeNotFound, "zone "+zone+": no such time zone; want one such as Europe/Copenhagen")
	}
	return nil
}
