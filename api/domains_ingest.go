package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	rights "holdfast/catalog/people"
)

// IngestRequest is a list of domains that is to be brought in.
type IngestRequest struct {
	Collection catalog.CollectionName
	Body       io.Reader // read once, to its end
	Actor      string
}

// Ingests brings lists of domains into the catalog.
type Ingests interface {
	// Begin returns when the list is on stable storage and the ingest is agreed.
	Begin(ctx context.Context, in IngestRequest) (kept.Ingest, error)
}

// ingests are the operations about lists of domains that are brought in.
type ingests struct {
	*server
	ingests Ingests
}

// uploaded is the input of a list that is to be brought in.
type uploaded struct {
	TextBody
	Collection string `query:"collection" maxLength:"64" doc:"collection of new domains; default: the cluster's first"`
}

func (s ingests) routes(api huma.API) {
	intoCollection := within(func(_ context.Context, in *uploaded) (catalog.Where, error) {
		name, err := s.collectionOr(catalog.CollectionName(in.Collection))
		in.Collection = string(name) // what is decided about is what is done
		return inCollections(name), err
	})
	handle(s.server, api, route{act: rights.KeepDomain, within: intoCollection, method: http.MethodPost,
		path: "/api/v1/domain-ingests", id: "domain-ingest", tag: "domains", stream: true,
		summary: "Upload a list of domains, one on a line, and bring them in; # begins a comment",
		status:  http.StatusCreated, adjust: takesText},
		func(ctx context.Context, in *uploaded) (wire.Ingest, error) { return s.begin(ctx, in) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domain-ingests",
		id: "domain-ingest-list", tag: "domains",
		summary: "List the lists of domains that were brought in, or are being brought in"},
		func(context.Context, *struct{}) (wire.Page[wire.Ingest], error) { return whole(s.list()) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domain-ingests/{name}",
		id: "domain-ingest-show", tag: "domains", summary: "Show how far a list of domains is brought in"},
		func(ctx context.Context, in *ByName) (wire.Ingest, error) { return s.show(ctx, in.Name) })
	type bad struct {
		ByName
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domain-ingests/{name}/bad",
		id: "domain-ingest-bad", tag: "domains",
		summary: "List the lines of a list that are not the name of a domain, with reasons"},
		func(_ context.Context, in *bad) (wire.Page[wire.BadLine], error) {
			return s.bad(in.Name, in.After, in.Limit)
		})
	type stop struct {
		ByName
		Body wire.ReasonRequest
	}
	ofIngest := within(func(ctx context.Context, in *stop) (catalog.Where, error) {
		i, err := s.ingest(ctx, in.Name)
		return inCollections(i.Collection), err
	})
	handle(s.server, api, route{act: rights.KeepDomain, within: ofIngest,
		method: http.MethodPost, path: "/api/v1/domain-ingests/{name}/stop", id: "domain-ingest-stop", tag: "domains",
		summary: "Stop bringing in a list of domains; what was brought in stays"},
		func(ctx context.Context, in *stop) (wire.Ingest, error) {
			err := s.decide(ctx, kept.StopIngest, kept.IngestStop{ID: in.Name, Reason: in.Body.Reason}, nil)
			if err != nil {
				return wire.Ingest{}, err
			}
			return s.show(ctx, in.Name)
		})
}

// ingest returns the ingest as it is agreed.
func (s ingests) ingest(ctx context.Context, id string) (i kept.Ingest, err error) {
	look := func(v catalog.View) (err error) { i, err = catalog.DomainsIn(v).Ingest(id); return err }
	err = s.Catalog.View(look)
	if errors.Is(err, catalog.ErrNotFound) { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return i, err
		}
		err = s.Catalog.View(look)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return i, fmt.Errorf("ingest %s: %w", id, ErrNotFound)
	}
	return i, err
}

func (s ingests) begin(ctx context.Context, in *uploaded) (wire.Ingest, error) {
	level, err := levelNow(s.own)
	if err != nil {
		return wire.Ingest{}, err
	}
	if level < kept.Level { // it would be refused when all was uploaded
		return wire.Ingest{}, &catalog.Refusal{Code: catalog.Unsupported,
			Message: fmt.Sprintf("domains are not known at level %d", level)}
	}
	i, err := s.ingests.Begin(ctx, IngestRequest{Collection: catalog.CollectionName(in.Collection), Body: in.body,
		Actor: callerOf(ctx).Actor})
	if err != nil {
		return wire.Ingest{}, err
	}
	return s.shown(i)
}

func (s ingests) show(ctx context.Context, id string) (wire.Ingest, error) {
	i, err := s.ingest(ctx, id)
	if err != nil {
		return wire.Ingest{}, err
	}
	return s.shown(i)
}

// shown is how the API shows an ingest.
func (s ingests) shown(i kept.Ingest) (out wire.Ingest, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		names, err := nodeNames(v)
		if err != nil {
			return err
		}
		by, err := catalog.PeopleIn(v).ActorName(i.By)
		out = ingestOf(&i, names, by)
		return err
	})
	return out, err
}

func ingestOf(i *kept.Ingest, names map[catalog.NodeID]string, by string) wire.Ingest {
	node := names[i.Node]
	if node == "" {
		node = string(i.Node)
	}
	return wire.Ingest{ID: i.ID, Collection: string(i.Collection), Node: node, By: by, Size: i.Size,
		SHA256: i.SHA256.String(), State: wire.IngestState(i.State), Reason: i.Reason, Began: std(i.Began),
		Ended: std(i.Ended), Lines: i.Line, Read: i.At, Made: i.Made, Known: i.Known, Bad: i.Bad}
}

// list returns all ingests, the newest first.
func (s ingests) list() (out []wire.Ingest, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		names, err := nodeNames(v)
		if err != nil {
			return err
		}
		all, err := catalog.DomainsIn(v).Ingests("", 0)
		if err != nil {
			return err
		}
		for n := len(all) - 1; n >= 0; n-- {
			by, err := catalog.PeopleIn(v).ActorName(all[n].By)
			if err != nil {
				return err
			}
			out = append(out, ingestOf(&all[n], names, by))
		}
		return nil
	})
	return out, err
}

// lineCursor is the pattern of the cursor of a list of bad lines.
const lineCursor = `^(|b-(0|[1-9][0-9]{0,18}))$`

// bad returns a page of bad lines.
func (s ingests) bad(id, cursor string, limit int) (wire.Page[wire.BadLine], error) {
	page := wire.Page[wire.BadLine]{Items: []wire.BadLine{}}
	after, _, err := openNumberCursor(cursor, "b")
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		view := catalog.DomainsIn(v)
		if _, err := view.Ingest(id); err != nil {
			return err
		}
		all, err := view.BadLines(id, int64(after), limit+1)
		if len(all) > limit {
			all = all[:limit]
			page.Next = makeNumberCursor("b", uint64(all[limit-1].Line))
		}
		for _, line := range all {
			page.Items = append(page.Items, wire.BadLine{Line: line.Line, Reason: line.Reason})
		}
		return err
	})
	return page, err
}
