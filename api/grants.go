package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// Grant gives a person a role: for the whole archive, in one collection, or at one place.
type Grant struct {
	ID         uint64                 `json:"id"`
	Person     catalog.PersonID       `json:"person"`
	PersonName string                 `json:"personName"`
	Role       catalog.Role           `json:"role" enum:"reader,curator,operator,admin"`
	Collection catalog.CollectionName `json:"collection,omitempty"`
	Place      string                 `json:"place,omitempty"`
	State      string                 `json:"state" enum:"open,expired,ended,void" doc:"void: its collection was removed"`
	By         string                 `json:"by" doc:"who gave it"`
	ByName     string                 `json:"byName"`
	Since      time.Time              `json:"since"`
	Until      time.Time              `json:"until,omitzero"`
	Reason     string                 `json:"reason,omitempty"`
	Ended      time.Time              `json:"ended,omitzero"`
	EndedBy    string                 `json:"endedBy,omitempty"`
	EndedWhy   string                 `json:"endedWhy,omitempty"`
}

// GrantRequest gives a person a role.
type GrantRequest struct {
	Person     string                 `json:"person" minLength:"1" maxLength:"254" doc:"id, e-mail address or name"`
	Role       catalog.Role           `json:"role" enum:"reader,curator,operator,admin"`
	Collection catalog.CollectionName `json:"collection,omitempty" maxLength:"64" doc:"of a curator: the only one"`
	Place      string                 `json:"place,omitempty" maxLength:"64" doc:"of an operator: the only one"`
	Until      time.Time              `json:"until,omitzero" doc:"it counts no more from then on"`
	Reason     string                 `json:"reason,omitempty" maxLength:"500"`
}

func grantRoutes(s *server, api huma.API) {
	type list struct {
		Person string `query:"person" maxLength:"254" doc:"only those of this person: id, e-mail address or name"`
		Ended  bool   `query:"ended" doc:"also those that count no more"`
	}
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/grants", id: "grant-list", tag: "people",
		summary: "List the grants"},
		func(_ context.Context, in *list) (Page[Grant], error) {
			var id catalog.PersonID
			if in.Person != "" {
				p, err := findPerson(s, in.Person)
				if err != nil {
					return Page[Grant]{}, err
				}
				id = p.ID
			}
			return whole(grants(s, id, in.Ended))
		})
	type give struct{ Body GrantRequest }
	handle(s, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/grants", id: "grant-give", tag: "people",
		summary: "Give a person a role; nobody gives one to themselves", status: http.StatusCreated},
		func(ctx context.Context, in *give) (Grant, error) { return giveGrant(s, ctx, in.Body) })
	type end struct {
		ByID
		Body ReasonRequest
	}
	handle(s, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/grants/{id}/end", id: "grant-end", tag: "people",
		summary: "End a grant; it stays in the list of those that ended"},
		func(ctx context.Context, in *end) (Grant, error) { return endGrant(s, ctx, in.ID, in.Body.Reason) })
}

// grants returns the grants of a person, or of everybody, by person and number.
func grants(s *server, id catalog.PersonID, ended bool) (out []Grant, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		people := catalog.PeopleIn(v)
		all, err := people.Grants()
		if err != nil {
			return err
		}
		for _, g := range all {
			if id != "" && g.Person != id {
				continue
			}
			shown, err := grantOf(v, g, catalog.At(s.Now()))
			if err != nil {
				return err
			}
			if ended || shown.State == "open" {
				out = append(out, shown)
			}
		}
		return nil
	})
	return out, err
}

func grantOf(v catalog.View, g catalog.Grant, now catalog.Time) (Grant, error) {
	people := catalog.PeopleIn(v)
	p, err := people.Person(g.Person)
	if err != nil {
		return Grant{}, err
	}
	out := Grant{ID: g.ID, Person: g.Person, PersonName: p.Name, Role: g.Role, Collection: g.Scope.Collection, Place: g.Scope.Place, State: "open",
		By: g.By, Since: std(g.Since), Until: std(g.Until), Reason: g.Reason, Ended: std(g.Ended), EndedBy: g.EndedBy, EndedWhy: g.EndedWhy}
	there, err := people.There(g.Scope)
	if err != nil {
		return Grant{}, err
	}
	switch {
	case g.Ended != 0:
		out.State = "ended"
	case !g.Open(now):
		out.State = "expired"
	case !there:
		out.State = "void"
	}
	out.ByName, err = people.ActorName(g.By)
	return out, err
}

func giveGrant(s *server, ctx context.Context, in GrantRequest) (Grant, error) {
	p, err := findPerson(s, in.Person)
	if err != nil {
		return Grant{}, err
	}
	asked := catalog.Giving{Person: p.ID, Role: in.Role, Collection: in.Collection, Place: in.Place, Reason: in.Reason}
	if !in.Until.IsZero() {
		asked.Until = catalog.At(in.Until)
	}
	var made catalog.Grant
	if err := s.propose(ctx, catalog.GiveGrant, asked, &made); err != nil {
		return Grant{}, err
	}
	return grantShown(s, ctx, made)
}

// grantShown shows a grant when what was decided about it is seen here.
func grantShown(s *server, ctx context.Context, g catalog.Grant) (out Grant, err error) {
	if err := s.Catalog.Linear(ctx); err != nil {
		return Grant{}, err
	}
	err = s.Catalog.View(func(v catalog.View) (err error) {
		out, err = grantOf(v, g, catalog.At(s.Now()))
		return err
	})
	return out, err
}

func endGrant(s *server, ctx context.Context, id uint64, reason string) (Grant, error) {
	all, err := grants(s, "", true)
	if err != nil {
		return Grant{}, err
	}
	for _, g := range all {
		if g.ID != id {
			continue
		}
		var ended catalog.Grant
		if err := s.propose(ctx, catalog.EndGrant, catalog.Ending{Person: g.Person, ID: id, Reason: reason}, &ended); err != nil {
			return Grant{}, err
		}
		return grantShown(s, ctx, ended)
	}
	return Grant{}, fmt.Errorf("grant %d: %w", id, ErrNotFound)
}
