package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	rights "holdfast/catalog/people"
	"holdfast/harvest/domain"
)

// domains are the operations about what archivists keep about sites.
type domains struct {
	*server
	crawls  Crawls
	secrets Secrets
}

// ByDomain is the input of an act on a domain.
type ByDomain struct {
	Name string `path:"name" minLength:"1" maxLength:"300" doc:"the domain, such as example.org"`
}

func (s domains) routes(api huma.API) {
	s.readRoutes(api)
	s.historyRoutes(api)
	s.changeRoutes(api)
	s.configurationRoutes(api)
	s.listRoutes(api)
	s.fieldRoutes(api)
	s.settingsRoutes(api)
	s.harvestSeedsRoutes(api)
}

// ofDomain finds the collection of the domain that a request is about.
func ofDomain[I any](s *server, name func(*I) string) finder {
	return within(func(ctx context.Context, in *I) (catalog.Where, error) {
		d, err := s.domain(ctx, name(in))
		return inCollections(d.Collection), err
	})
}

// domainName is the domain that a request names, in the catalog's spelling.
func domainName(text string) (kept.Name, error) {
	name := kept.Name(text)
	if name.Check() == nil {
		return name, nil
	}
	parsed, err := domain.Parse(text)
	if err != nil {
		return "", problem(http.StatusNotFound, wire.CodeNotFound, err.Error())
	}
	return kept.Name(parsed), nil
}

// domain returns a domain by its name as people write it. What cannot be a domain's name is not found, and why is said.
func (s *server) domain(ctx context.Context, text string) (kept.Domain, error) {
	name, err := domainName(text)
	if err != nil {
		return kept.Domain{}, err
	}
	var d kept.Domain
	look := func(v catalog.View) (err error) { d, err = catalog.DomainsIn(v).Domain(name); return err }
	err = s.Catalog.View(look)
	if errors.Is(err, catalog.ErrNotFound) { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return d, err
		}
		err = s.Catalog.View(look)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		if _, wrong := domain.Parse(text); wrong != nil {
			return d, problem(http.StatusNotFound, wire.CodeNotFound, wrong.Error())
		}
		return d, fmt.Errorf("domain %s: %w", name, ErrNotFound)
	}
	return d, err
}

// domainCursor is the pattern of the cursor of a list of domains.
const domainCursor = `^(|d-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

// aliasCursor is the pattern of the cursor of a list of aliases: when the last one expires, and its name.
const aliasCursor = `^(|a-(0|[1-9][0-9]{0,15})-[a-z0-9_.-]{1,253})$`

func (s domains) readRoutes(api huma.API) {
	type list struct {
		Paging
		Prefix string `query:"prefix" maxLength:"300" doc:"list only names that begin with this"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domains",
		id: "domain-list", tag: "domains", summary: "List the domains whose names begin with the prefix, in order"},
		func(_ context.Context, in *list) (wire.Page[wire.Domain], error) {
			return s.list(in.Prefix, in.After, in.Limit)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domains/{name}",
		id: "domain-show", keys: keysOfDomain,
		tag: "domains", summary: "Show a domain with its configurations and lists"},
		func(ctx context.Context, in *ByDomain) (wire.Domain, error) { return s.show(ctx, in.Name) })
	type aliases struct {
		Paging
		Expired bool `query:"expired" doc:"list only those that have expired"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domain-aliases",
		id: "domain-alias-list", tag: "domains",
		summary: "List the domains that are aliases of others, the first to expire first"},
		func(_ context.Context, in *aliases) (wire.Page[wire.Domain], error) {
			return s.aliases(in.Expired, in.After, in.Limit)
		})
}

func (s domains) changeRoutes(api huma.API) {
	type create struct{ Body wire.DomainRequest }
	intoCollection := within(func(_ context.Context, in *create) (catalog.Where, error) {
		name, err := s.collectionOr(catalog.CollectionName(in.Body.Collection))
		in.Body.Collection = string(name) // what is decided about is what is done
		return inCollections(name), err
	})
	handle(s.server, api, route{act: rights.KeepDomain, within: intoCollection, method: http.MethodPost,
		path: "/api/v1/domains", id: "domain-create", once: true, tag: "domains", summary: "Make a domain",
		status: http.StatusCreated},
		func(ctx context.Context, in *create) (wire.Domain, error) { return s.create(ctx, in.Body) })
	type change struct {
		ByDomain
		Body wire.DomainChange
	}
	both := within(func(ctx context.Context, in *change) (catalog.Where, error) {
		d, err := s.domain(ctx, in.Name)
		where := inCollections(d.Collection)
		if in.Body.Collection != nil {
			where.Collections = append(where.Collections, catalog.CollectionName(*in.Body.Collection))
		}
		return where, err
	})
	handle(s.server, api, route{act: rights.KeepDomain, within: both, method: http.MethodPatch,
		path: "/api/v1/domains/{name}", id: "domain-set", once: true, keys: keysOfDomain, tag: "domains",
		summary: "Change a domain's collection, default configuration, owner, comments or extended fields"},
		func(ctx context.Context, in *change) (wire.Domain, error) {
			return s.after(ctx, in.Name, s.change(ctx, in.Name, in.Body))
		})
	type alias struct {
		ByDomain
		Body wire.AliasRequest
	}
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *alias) string { return in.Name }), method: http.MethodPut,
		path: "/api/v1/domains/{name}/alias", id: "domain-alias", once: true, tag: "domains",
		summary: "Make a domain an alias of another one, renew the alias, or end it"},
		func(ctx context.Context, in *alias) (wire.Domain, error) {
			return s.after(ctx, in.Name, s.alias(ctx, in.Name, in.Body.Of))
		})
	type removal struct {
		ByDomain
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *removal) string { return in.Name }), method: http.MethodPost,
		path: "/api/v1/domains/{name}/remove", id: "domain-remove", once: true, tag: "domains",
		summary: "Remove a domain that nothing uses, with its configurations and lists",
		status:  http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			return nil, s.remove(ctx, in.Name, in.Body.Reason)
		})
}

func (s domains) create(ctx context.Context, in wire.DomainRequest) (wire.Domain, error) {
	name, err := domain.Parse(in.Name)
	if err != nil {
		return wire.Domain{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	asked := kept.Creation{Name: kept.Name(name), Collection: catalog.CollectionName(in.Collection), Owner: in.Owner,
		Comments: in.Comments, Fields: fieldsWith(nil, in.Fields)}
	return s.after(ctx, name, s.decide(ctx, kept.Create, asked, nil))
}

// after shows a domain that was changed.
func (s domains) after(ctx context.Context, name string, err error) (wire.Domain, error) {
	if err != nil {
		return wire.Domain{}, err
	}
	return s.show(ctx, name)
}

// tries is how often a change that somebody else came before is made again.
const tries = 4

// again calls do until it is not refused because the state moved on, and before each further try waits until this node
// sees what the others have decided. A change that names the version that it is made of is tried once.
func (s *server) again(ctx context.Context, once bool, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		var refusal *catalog.Refusal
		if once || try == tries || !errors.As(err, &refusal) || refusal.Code != catalog.Conflict {
			return err
		}
		if err := s.Catalog.Linear(ctx); err != nil {
			return err
		}
	}
}

func (s domains) change(ctx context.Context, text string, in wire.DomainChange) error {
	return s.again(ctx, in.Version != nil, func() error {
		d, err := s.domain(ctx, text)
		if err != nil {
			return err
		}
		asked := kept.Change{Name: d.Name, Version: d.Version, Owner: in.Owner, Comments: in.Comments,
			Default: in.Default}
		if in.Version != nil {
			asked.Version = *in.Version
		}
		if in.Collection != nil {
			to := catalog.CollectionName(*in.Collection)
			asked.Collection = &to
		}
		if in.Fields != nil {
			fields := fieldsWith(d.Fields, in.Fields)
			asked.Fields = &fields
		}
		return s.decide(ctx, kept.Set, asked, nil)
	})
}

func (s domains) alias(ctx context.Context, text, to string) error {
	d, err := s.domain(ctx, text)
	if err != nil {
		return err
	}
	asked := kept.Aliasing{Name: d.Name}
	if to != "" {
		of, err := s.domain(ctx, to)
		if err != nil {
			return err
		}
		settings, err := s.domainSettings()
		if err != nil {
			return err
		}
		asked.Of = of.Name
		asked.Until = catalog.At(s.now()) + catalog.Time(settings.AliasExpiry.Std().Milliseconds())
	}
	return s.decide(ctx, kept.SetAlias, asked, nil)
}

func (s domains) remove(ctx context.Context, text, reason string) error {
	d, err := s.domain(ctx, text)
	for left := true; err == nil && left; {
		err = s.propose(ctx, kept.Remove, kept.Ref{Name: d.Name, Reason: reason}, &left)
	}
	if err == nil {
		err = s.Catalog.Linear(ctx)
	}
	return err
}
