package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s people) grantRoutes(api huma.API) {
	type list struct {
		Person string `query:"person" maxLength:"254" doc:"list only the grants of this person: id, e-mail address or name"`
		Ended  bool   `query:"ended" doc:"also list grants that have ended"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/grants", id: "grant-list",
		tag:     "people",
		summary: "List the grants"},
		func(_ context.Context, in *list) (wire.Page[wire.Grant], error) {
			var id catalog.PersonID
			if in.Person != "" {
				p, err := s.findPerson(in.Person)
				if err != nil {
					return wire.Page[wire.Grant]{}, err
				}
				id = p.ID
			}
			return whole(s.grants(id, in.Ended))
		})
	type give struct{ Body wire.GrantRequest }
	handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/grants",
		id: "grant-give", once: true, tag: "people",
		summary: "Give a person a role; you cannot give one to yourself", status: http.StatusCreated},
		func(ctx context.Context, in *give) (wire.Grant, error) { return s.giveGrant(ctx, in.Body) })
	type end struct {
		ByID
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: catalog.KeepPeople, method: http.MethodPost, path: "/api/v1/grants/{id}/end",
		id: "grant-end", once: true, tag: "people",
		summary: "End a grant; it stays in the list of ended grants"},
		func(ctx context.Context, in *end) (wire.Grant, error) { return s.endGrant(ctx, in.ID, in.Body.Reason) })
}

// grants returns the grants of a person, or of everybody, by person and number.
func (s people) grants(id catalog.PersonID, ended bool) (out []wire.Grant, err error) {
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
			shown, err := grantOf(v, g, catalog.At(s.now()))
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

func grantOf(v catalog.View, g catalog.Grant, now catalog.Time) (wire.Grant, error) {
	people := catalog.PeopleIn(v)
	p, err := people.Person(g.Person)
	if err != nil {
		return wire.Grant{}, err
	}
	out := wire.Grant{ID: g.ID, Person: string(g.Person), PersonName: p.Name, Role: wire.Role(g.Role),
		Collection: string(g.Scope.Collection), Place: g.Scope.Place, State: "open",
		By: g.By, Since: std(g.Since), Until: std(g.Until), Reason: g.Reason, Ended: std(g.Ended), EndedBy: g.EndedBy,
		EndedWhy: g.EndedWhy, Groups: g.Identity != ""}
	there, err := people.There(g.Scope)
	if err != nil {
		return wire.Grant{}, err
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

func (s people) giveGrant(ctx context.Context, in wire.GrantRequest) (wire.Grant, error) {
	p, err := s.findPerson(in.Person)
	if err != nil {
		return wire.Grant{}, err
	}
	if err := checkReader(catalog.Role(in.Role), in.Collection != "" || in.Place != ""); err != nil {
		return wire.Grant{}, err
	}
	asked := catalog.Giving{Person: p.ID, Role: catalog.Role(in.Role),
		Collection: catalog.CollectionName(in.Collection), Place: in.Place, Reason: in.Reason}
	if !in.Until.IsZero() {
		asked.Until = catalog.At(in.Until)
	}
	var made catalog.Grant
	if err := s.decide(ctx, catalog.GiveGrant, asked, &made); err != nil {
		return wire.Grant{}, err
	}
	return s.grantShown(made)
}

// checkReader refuses to limit a reader to a collection or place: whoever has any grant reads everything.
func checkReader(role catalog.Role, limited bool) error {
	if role == catalog.RoleReader && limited {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
			"a reader reads the whole archive: the role reader cannot be limited to a collection or place")
	}
	return nil
}

// grantShown is how the API shows a grant.
func (s people) grantShown(g catalog.Grant) (out wire.Grant, err error) {
	err = s.Catalog.View(func(v catalog.View) (err error) {
		out, err = grantOf(v, g, catalog.At(s.now()))
		return err
	})
	return out, err
}

func (s people) endGrant(ctx context.Context, id uint64, reason string) (wire.Grant, error) {
	all, err := s.grants("", true)
	if err != nil {
		return wire.Grant{}, err
	}
	for _, g := range all {
		if g.ID != id {
			continue
		}
		var ended catalog.Grant
		if err := s.decide(ctx, catalog.EndGrant,
			catalog.Ending{Person: catalog.PersonID(g.Person), ID: id, Reason: reason}, &ended); err != nil {
			return wire.Grant{}, err
		}
		return s.grantShown(ended)
	}
	return wire.Grant{}, fmt.Errorf("grant %d: %w", id, ErrNotFound)
}
