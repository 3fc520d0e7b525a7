package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
)

// definitions are what archivists define for harvests of any collection.
type definitions struct {
	*server
	crawls  Crawls
	secrets Secrets
}

func (s definitions) routes(api huma.API) {
	s.channelRoutes(api)
	templates := shelf[wire.Template]{s, defined.Template, "templates", "template", "template", s.templateOf}
	templates.routes(api, "templates")
	s.templateRoutes(api, templates)
	schedules := shelf[wire.Schedule]{s, defined.Schedule, "schedules", "schedule", "schedule", s.scheduleOf}
	schedules.routes(api, "schedules")
	s.scheduleRoutes(api, schedules)
	traps := shelf[wire.TrapList]{s, defined.Traps, "trap-lists", "trap", "list of crawler traps", s.trapsOf}
	traps.routes(api, "lists of crawler traps")
	s.trapRoutes(api, traps)
}

// named is one version of a definition, with its text if that is to be shown.
type named struct {
	catalog.Definition
	version defined.Version
	text    *string
}

// shelf has what things of one kind have in common.
type shelf[W any] struct {
	definitions
	kind  defined.Kind
	path  string // in the API, and the tag
	id    string // of operations
	words string
	show  func(catalog.View, *named) (W, error)
}

// byVersion is the input of a look at one version.
type byVersion struct {
	ByName
	Version int `query:"version" minimum:"0" maximum:"1000000" doc:"which version is shown; default: the latest"`
}

// route is an operation on one thing of the shelf, or on all when the verb says so.
func (s shelf[W]) route(act catalog.Act, method, tail, verb, summary string) route {
	return route{act: act, method: method, path: "/api/v1/" + s.path + tail, id: s.id + "-" + verb, tag: s.path,
		summary: summary}
}

func (s shelf[W]) routes(api huma.API, all string) {
	handle(s.server, api, s.route(catalog.Look, http.MethodGet, "", "list", "List the "+all),
		func(_ context.Context, in *Listing) (wire.Page[W], error) { return s.list(in) })
	handle(s.server, api, s.route(catalog.Look, http.MethodGet, "/{name}", "show", "Show a "+s.words),
		func(_ context.Context, in *byVersion) (W, error) { return s.shown(in.Name, in.Version) })
	handle(s.server, api, s.route(catalog.Look, http.MethodGet, "/{name}/versions", "versions",
		"List the versions of a "+s.words+", oldest first"),
		func(_ context.Context, in *ByName) (wire.Page[wire.Version], error) {
			return whole(s.versions(in.Name))
		})
	type copying struct {
		ByName
		Body wire.Copying
	}
	copies := s.route(catalog.Define, http.MethodPost, "/{name}/copy", "copy", "Copy a "+s.words)
	copies.status, copies.once = http.StatusCreated, true
	handle(s.server, api, copies, func(ctx context.Context, in *copying) (W, error) {
		return s.copy(ctx, in.Name, in.Body)
	})
	remove := s.route(catalog.Define, http.MethodDelete, "/{name}", "delete", "Delete a "+s.words+" that nothing uses")
	remove.status, remove.once = http.StatusNoContent, true
	register(s.server, api, remove, func(ctx context.Context, in *ByName) (*struct{}, error) {
		return nil, s.decide(ctx, s.command("delete"), defined.Ref{Name: in.Name}, nil)
	})
}

// command is the kind of command that does something to a thing of the shelf.
func (s shelf[W]) command(verb string) catalog.Kind { return catalog.Kind(string(s.kind) + "." + verb) }

func (s shelf[W]) list(in *Listing) (wire.Page[W], error) {
	return searched(s.server, in,
		func(v catalog.View) ([]catalog.Definition, error) { return catalog.HarvestsIn(v).Definitions(s.kind) },
		func(d *catalog.Definition) entry { return entry{name: d.Name, comment: d.Comment, changed: d.Changed} },
		func(v catalog.View, d *catalog.Definition) (W, error) { return s.show(v, &named{Definition: *d}) })
}

// shown shows a version, 0 being the latest.
func (s shelf[W]) shown(name string, version int) (out W, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		n, err := s.find(v, name, version)
		if err != nil {
			return err
		}
		out, err = s.show(v, &n)
		return err
	})
	return out, err
}

// find returns a version, 0 being the latest, with its text.
func (s shelf[W]) find(v catalog.View, name string, version int) (n named, err error) {
	in := catalog.HarvestsIn(v)
	if n.Definition, err = in.Definition(s.kind, name); err == nil {
		if version == 0 {
			version = n.Version
		}
		var text string
		n.version, text, err = in.Text(s.kind, name, version)
		n.text = &text
	}
	if errors.Is(err, catalog.ErrNotFound) {
		what := s.words + " " + name
		if version != 0 {
			what = fmt.Sprintf("version %d of %s", version, what)
		}
		err = fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return n, err
}

func (s shelf[W]) versions(name string) (out []wire.Version, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.HarvestsIn(v).Versions(s.kind, name)
		if errors.Is(err, catalog.ErrNotFound) {
			return fmt.Errorf("%s %s: %w", s.words, name, ErrNotFound)
		}
		for _, one := range all {
			by, err := catalog.PeopleIn(v).ActorName(one.By)
			if err != nil {
				return err
			}
			out = append(out, wire.Version{Version: one.Number, Made: std(one.Made), MadeBy: by})
		}
		return err
	})
	return out, err
}

// copy makes a copy. The catalog does not have the texts that come with the program: of these, the text is proposed.
func (s shelf[W]) copy(ctx context.Context, from string, in wire.Copying) (W, error) {
	var none W
	var n named
	if err := s.Catalog.Linear(ctx); err != nil {
		return none, err
	}
	err := s.Catalog.View(func(v catalog.View) (err error) { n, err = s.find(v, from, in.Version); return err })
	if err != nil {
		return none, err
	}
	if s.kind == defined.Template { // who may not have made it may not copy it
		if _, err := s.readTemplate(ctx, []byte(*n.text)); err != nil {
			return none, err
		}
		if err := s.mayBegin(ctx, in.Name, []byte(*n.text)); err != nil {
			return none, err
		}
	}
	if n.Version == 0 {
		return s.made(ctx, "create", in.Name, defined.Creation{Name: in.Name, Text: *n.text, Comment: n.Comment})
	}
	return s.made(ctx, "copy", in.Name, defined.Copying{From: from, Version: n.version.Number, Name: in.Name})
}

// made proposes a change of a definition and shows it then.
func (s shelf[W]) made(ctx context.Context, verb, name string, body any) (W, error) {
	if err := s.decide(ctx, s.command(verb), body, nil); err != nil {
		var none W
		return none, err
	}
	return s.shown(name, 0)
}

// definedOf is how the API shows what all definitions have.
func definedOf(v catalog.View, n *named) (wire.Defined, error) {
	out := wire.Defined{Name: n.Name, Version: n.Version, Comment: n.Comment, Created: std(n.Created),
		Changed: std(n.Changed), Shown: n.version.Number}
	var err error
	if n.By != "" {
		out.ChangedBy, err = catalog.PeopleIn(v).ActorName(n.By)
	}
	return out, err
}

// refused is a problem with what a request has at a place.
func refused(format string, args ...any) error {
	return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, fmt.Sprintf(format, args...))
}

// checkTextSize refuses a text that is longer than the catalog takes.
func checkTextSize(place, text string) error {
	if len(text) > defined.MaxText {
		return refused("%s: %d bytes: at most %d", place, len(text), defined.MaxText)
	}
	return nil
}
