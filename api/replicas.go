package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

func (s *server) replicaRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas", id: "replica-list", tag: "replicas",
		summary: "List the replicas and how their copies stand"},
		func(context.Context, *struct{}) (Page[Replica], error) {
			return whole(s.replicas())
		})
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}", id: "replica-show", tag: "replicas",
		summary: "Show a replica"},
		func(_ context.Context, in *ByName) (Replica, error) {
			return s.replica(in.Name)
		})
	type add struct{ Body ReplicaRequest }
	handle(s, api, route{act: catalog.ChangeReplica, method: http.MethodPost, path: "/api/v1/replicas", id: "replica-add", tag: "replicas",
		summary: "Add a replica; nodes join it with join tokens, and are then given what it is to hold", status: http.StatusCreated},
		func(ctx context.Context, in *add) (Replica, error) {
			return s.addReplica(ctx, in.Body)
		})
	type removal struct {
		ByName
		Body ReasonRequest
	}
	register(s, api, route{act: catalog.ChangeReplica, method: http.MethodPost, path: "/api/v1/replicas/{name}/remove", id: "replica-remove", tag: "replicas",
		summary: "Remove a replica that has no nodes and no verified copies", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			asked := catalog.ReplicaRemoval{Replica: catalog.ReplicaName(in.Name), Reason: in.Body.Reason}
			return nil, s.propose(ctx, catalog.RemoveReplica, asked, nil)
		})
	s.collectionRoutes(api)
	s.collectionRemoval(api)
	type shards struct {
		ByName
		After string `query:"after" doc:"the last shard of the page before"`
		Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"4096"`
	}
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}/shards", id: "shard-list", tag: "replicas",
		summary: "List a replica's shards with holder and next"},
		func(_ context.Context, in *shards) (Page[Shard], error) {
			return s.shards(in.Name, in.After, in.Limit)
		})
}

func (s *server) collectionRoutes(api huma.API) {
	list := func() ([]Collection, error) {
		out := []Collection{}
		err := s.Catalog.View(func(v catalog.View) error {
			collections, err := v.Collections()
			for _, c := range collections {
				out = append(out, Collection{Name: c.Name, Created: std(c.Created)})
			}
			return err
		})
		return out, err
	}
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/collections", id: "collection-list", tag: "replicas",
		summary: "List the collections"},
		func(context.Context, *struct{}) (Page[Collection], error) {
			return whole(list())
		})
	type add struct{ Body CollectionRequest }
	handle(s, api, route{act: catalog.ChangeCollection, method: http.MethodPost, path: "/api/v1/collections", id: "collection-add", tag: "replicas",
		summary: "Add a collection; one that is there stays as it is", status: http.StatusCreated},
		func(ctx context.Context, in *add) (Collection, error) {
			if err := s.propose(ctx, catalog.SetCollection, catalog.Collection{Name: in.Body.Name}, nil); err != nil {
				return Collection{}, err
			}
			if err := s.Catalog.Linear(ctx); err != nil {
				return Collection{}, err
			}
			collections, err := list()
			i := slices.IndexFunc(collections, func(c Collection) bool { return c.Name == in.Body.Name })
			if err == nil && i < 0 {
				err = ErrUnavailable
			}
			if err != nil {
				return Collection{}, err
			}
			return collections[i], nil
		})
}

func (s *server) collectionRemoval(api huma.API) {
	type removal struct {
		ByName
		Body ReasonRequest
	}
	register(s, api, route{act: catalog.ChangeCollection, method: http.MethodPost, path: "/api/v1/collections/{name}/remove", id: "collection-remove", tag: "replicas",
		summary: "Remove a collection that no file, job or replica belongs to", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			asked := catalog.CollectionRemoval{Collection: catalog.CollectionName(in.Name), Reason: in.Body.Reason}
			return nil, s.propose(ctx, catalog.RemoveCollection, asked, nil)
		})
}

// ReasonRequest says why something is done, for the audit trail.
type ReasonRequest struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

// addReplica adds a replica. The same again is no error; another one of the name is not changed.
func (s *server) addReplica(ctx context.Context, in ReplicaRequest) (Replica, error) {
	want := catalog.Replica{Name: in.Name, Kind: in.Kind, Place: cmp.Or(in.Place, string(in.Name)), Collections: slices.Sorted(slices.Values(in.Collections))}
	if err := s.Catalog.Linear(ctx); err != nil {
		return Replica{}, err
	}
	err := s.Catalog.View(func(v catalog.View) error {
		old, err := v.Replica(in.Name)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if err == nil && (old.Kind != want.Kind || old.Place != want.Place || !slices.Equal(old.Collections, slices.Compact(want.Collections))) {
			err = problem(http.StatusConflict, Code(catalog.Conflict), "there is another replica "+string(in.Name)+" already")
		}
		return err
	})
	if err != nil {
		return Replica{}, err
	}
	if err := s.propose(ctx, catalog.SetReplica, want, nil); err != nil {
		return Replica{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return Replica{}, err
	}
	return s.replica(string(in.Name))
}

func (s *server) replicas() ([]Replica, error) {
	var replicas []Replica
	err := s.Catalog.View(func(v catalog.View) (err error) {
		replicas, err = replicasOf(v)
		return err
	})
	return replicas, err
}

func (s *server) replica(name string) (Replica, error) {
	replicas, err := s.replicas()
	if err != nil {
		return Replica{}, err
	}
	for _, r := range replicas {
		if string(r.Name) == name {
			return r, nil
		}
	}
	return Replica{}, problem(http.StatusNotFound, CodeNotFound, "no replica "+name)
}

// shards returns at most limit shards of the replica after the cursor, a shard's three digits.
func (s *server) shards(replica, after string, limit int) (Page[Shard], error) {
	if _, err := s.replica(replica); err != nil {
		return Page[Shard]{}, err
	}
	first := 0
	if after != "" {
		last, err := catalog.ParseShard(after)
		if err != nil {
			return Page[Shard]{}, problem(http.StatusUnprocessableEntity, CodeInvalid, "after: "+err.Error())
		}
		first = int(last) + 1
	}
	page := Page[Shard]{Items: []Shard{}}
	err := s.Catalog.View(func(v catalog.View) error {
		layout, err := v.Layout(catalog.ReplicaName(replica))
		if err != nil {
			return err
		}
		for n := first; n < min(first+limit, catalog.Shards); n++ {
			place := layout[n]
			page.Items = append(page.Items, Shard{Shard: catalog.Shard(n).String(), Holder: place.Holder, Next: place.Next})
		}
		if first+limit < catalog.Shards {
			page.Next = catalog.Shard(first + limit - 1).String()
		}
		return nil
	})
	return page, err
}
