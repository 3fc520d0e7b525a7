package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	subject "holdfast/catalog/people"
)

// invitationTime is how long an invitation is good for.
const invitationTime = 7 * 24 * time.Hour

func (s people) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/users", id: "user-list",
		tag:     "people",
		summary: "List the people"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.Person], error) { return whole(s.list(ctx)) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/users/{name}",
		id: "user-show", keys: keysOfPerson, tag: "people",
		summary: "Show a person, by id, e-mail address or name, with all grants"},
		func(ctx context.Context, in *ByName) (wire.Person, error) { return s.show(ctx, in.Name) })
	type invite struct{ Body wire.PersonRequest }
	handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/users",
		id: "user-invite", once: true, tag: "people",
		summary: "Invite a person; the text of the invitation is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *invite) (wire.Invitation, error) { return s.invite(ctx, in.Body) })
	type again struct {
		ByName
		Body wire.AgainRequest
	}
	handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost,
		path: "/api/v1/users/{name}/invitation", id: "user-invite-again", once: true, tag: "people",
		summary: "Make another invitation for a person who has no valid token", status: http.StatusCreated},
		func(ctx context.Context, in *again) (wire.Invitation, error) {
			return s.inviteAgain(ctx, in.Name, in.Body)
		})
	type accept struct{ Body wire.AcceptRequest }
	handle(s.server, api, route{method: http.MethodPost, path: "/api/v1/invitations/accept", id: "user-accept",
		tag:     "people",
		summary: "Accept an invitation; the answer is your own access token", status: http.StatusCreated,
		adjust: func(op *huma.Operation) {
			op.MaxBodyBytes = 4 << 10
			op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		}},
		func(ctx context.Context, in *accept) (wire.AccessToken, error) {
			return s.accept(ctx, in.Body)
		})
	type change struct {
		ByName
		Body wire.PersonChange
	}
	handle(s.server, api, route{act: catalog.KeepOwn, method: http.MethodPatch, path: "/api/v1/users/{name}",
		id: "user-set", once: true, keys: keysOfPerson, tag: "people",
		summary: "Change a person; you can change your own language and time zone, an administrator everything"},
		func(ctx context.Context, in *change) (wire.Person, error) {
			return s.change(ctx, in.Name, in.Body)
		})
	type why struct {
		ByName
		Body wire.ReasonRequest
	}
	for id, kind := range map[string]catalog.Kind{"disable": catalog.DisablePerson, "enable": catalog.EnablePerson} {
		handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/users/{name}/" +
			id, id: "user-" + id, tag: "people", once: true,
			summary: map[string]string{"enable": "Enable a disabled person again",
				"disable": "Disable a person: their tokens, and those of their programs, are refused"}[id]},
			func(ctx context.Context, in *why) (wire.Person, error) {
				p, err := s.findPerson(in.Name)
				if err == nil {
					err = s.decide(ctx, kind, catalog.PersonRef{ID: p.ID, Reason: in.Body.Reason}, nil)
				}
				return s.after(ctx, p.ID, err)
			})
	}
	type unlink struct {
		ByName
		ID   string `path:"id" minLength:"1" maxLength:"64" pattern:"^[0-9a-f]+$"`
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost,
		path: "/api/v1/users/{name}/identities/{id}/unlink", id: "user-unlink", tag: "people", once: true,
		summary: "Unlink the account of an institution from a person: it no longer signs them in"},
		func(ctx context.Context, in *unlink) (wire.Person, error) {
			p, err := s.findPerson(in.Name)
			if err == nil {
				err = s.decide(ctx, subject.UnlinkIdentity, subject.Unlinking{Person: p.ID, Identity: in.ID,
					Reason: in.Body.Reason}, nil)
			}
			return s.after(ctx, p.ID, err)
		})
	s.grantRoutes(api)
}

// list returns everybody, as the caller may see them.
func (s people) list(ctx context.Context) (out []wire.Person, err error) {
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
func personOf(ctx context.Context, p catalog.Person) wire.Person {
	out := wire.Person{ID: string(p.ID), Name: p.Name, Institution: p.Institution, State: wire.PersonState(p.State),
		Invited: std(p.Invited), Since: std(p.Since)}
	if who := callerOf(ctx); who.Person == p.ID || keepsPeople(ctx) {
		out.Mail, out.Language, out.Zone, out.Reason = p.Mail, p.Language, p.Zone, p.Reason
	}
	return out
}

// findPerson finds a person by id, e-mail address or name.
func (s *server) findPerson(text string) (found catalog.Person, err error) {
	err = s.Catalog.View(func(v catalog.View) (err error) {
		found, err = catalog.PeopleIn(v).Find(text)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("person %s: %w", text, ErrNotFound)
	}
	return found, err
}

func (s people) show(ctx context.Context, text string) (wire.Person, error) {
	p, err := s.findPerson(text)
	if err != nil {
		return wire.Person{}, err
	}
	out := personOf(ctx, p)
	if out.Grants, err = s.grants(p.ID, true); err != nil {
		return out, err
	}
	if who := callerOf(ctx); who.Person == p.ID || keepsPeople(ctx) {
		out.Identities, err = s.identities(p.ID)
	}
	return out, err
}

// identities returns the accounts with which a person signs in.
func (s people) identities(id catalog.PersonID) (out []wire.Identity, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.PeopleIn(v).Identities(id)
		for _, i := range all {
			out = append(out, wire.Identity{ID: i.ID, Issuer: i.Issuer, Subject: i.Subject, Since: std(i.Since)})
		}
		return err
	})
	return out, err
}

// after shows a person, unless what was asked of her was refused.
func (s people) after(ctx context.Context, id catalog.PersonID, err error) (wire.Person, error) {
	if err != nil {
		return wire.Person{}, err
	}
	return s.show(ctx, string(id))
}

func (s people) invite(ctx context.Context, in wire.PersonRequest) (wire.Invitation, error) {
	if err := checkZone(in.Zone); err != nil {
		return wire.Invitation{}, err
	}
	p := catalog.Person{ID: catalog.PersonID(NewToken().ID), Name: in.Name, Mail: in.Mail, Institution: in.Institution,
		Language: in.Language, Zone: in.Zone}
	return s.makeInvitation(ctx, catalog.InvitePerson, p, in.Lifetime)
}

func (s people) inviteAgain(ctx context.Context, name string, in wire.AgainRequest) (wire.Invitation, error) {
	p, err := s.findPerson(name)
	if err != nil {
		return wire.Invitation{}, err
	}
	return s.makeInvitation(ctx, catalog.ReinvitePerson, catalog.Person{ID: p.ID}, in.Lifetime)
}

// makeInvitation makes an invitation for a person.
func (s people) makeInvitation(ctx context.Context, kind catalog.Kind, p catalog.Person,
	life string) (wire.Invitation, error) {
	valid, err := lifetime(life, invitationTime)
	if err != nil {
		return wire.Invitation{}, err
	}
	secret := NewToken()
	token := catalog.AccessToken{ID: secret.ID, Name: "invitation", SecretHash: secret.Hash(), Role: catalog.RoleReader,
		Expires: catalog.At(s.now().Add(valid))}
	if err = s.decide(ctx, kind, catalog.Invitation{Person: p, Token: token}, nil); err == nil {
		err = guardOf(ctx).shownOnce("invitation")
	}
	shown, err := s.after(ctx, p.ID, err)
	out := wire.Invitation{Person: shown, Expires: std(token.Expires), Text: secret.String()}
	if level, err := levelNow(s.own); err == nil && level >= subject.LevelOfSessions && s.sessions != nil {
		out.URL = s.sessions.Invitation(out.Text)
	}
	return out, err
}

// accept answers with a token of the person's own. Who has the invitation needs no other.
func (s people) accept(ctx context.Context, in wire.AcceptRequest) (wire.AccessToken, error) {
	denied := problem(http.StatusUnauthorized, wire.CodeUnauthorized,
		"the invitation is unknown, expired, used or taken back")
	invitation, err := ParseToken(in.Invitation)
	if err != nil {
		return wire.AccessToken{}, denied
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.AccessToken{}, err
	}
	var who catalog.Caller
	err = s.Catalog.View(func(v catalog.View) error {
		kept, err := v.AccessToken(invitation.ID)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		if !Proves(invitation, kept, s.now()) {
			return denied
		}
		who, err = catalog.PeopleIn(v).Caller(kept, catalog.At(s.now()))
		if errors.Is(err, catalog.ErrDisabled) || err == nil && !who.Invited {
			return denied
		}
		return err
	})
	if err != nil {
		return wire.AccessToken{}, err
	}
	secret := NewToken()
	token := catalog.AccessToken{ID: secret.ID, Name: "first", SecretHash: secret.Hash(), Role: catalog.RoleAdmin}
	ctx = context.WithValue(ctx, callerKey{}, caller{Caller: who})
	if err := s.decide(ctx, catalog.AcceptInvitation, catalog.Acceptance{Invitation: invitation.ID, Token: token},
		nil); err != nil {
		return wire.AccessToken{}, err
	}
	out, err := s.accessToken(token.ID)
	out.Text = secret.String()
	return out, err
}

func (s people) change(ctx context.Context, name string, in wire.PersonChange) (wire.Person, error) {
	p, err := s.findPerson(name)
	if err != nil {
		return wire.Person{}, err
	}
	change := catalog.PersonChange{ID: p.ID, Name: in.Name, Mail: in.Mail, Institution: in.Institution,
		Language: in.Language, Zone: in.Zone}
	if who := callerOf(ctx); who.Program || who.Person != p.ID || !change.Own() {
		if err := may(ctx, catalog.KeepPeople, catalog.Where{}); err != nil {
			return wire.Person{}, err
		}
	}
	if in.Zone != nil {
		if err := checkZone(*in.Zone); err != nil {
			return wire.Person{}, err
		}
	}
	return s.after(ctx, p.ID, s.decide(ctx, catalog.ChangePerson, change, nil))
}

// checkZone refuses a time zone that is not known, as far as this machine knows any.
func checkZone(zone string) error {
	if _, err := time.LoadLocation("Europe/London"); err != nil || zone == "" {
		return nil
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return problem(http.StatusNotFound, wire.CodeNotFound,
			"zone "+zone+": no such time zone; want one such as Europe/Copenhagen")
	}
	return nil
}
