package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s cluster) replicaRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas", id: "replica-list",
		tag:     "replicas",
		summary: "List the replicas and the state of their copies"},
		func(context.Context, *struct{}) (wire.Page[wire.Replica], error) {
			return whole(s.replicas())
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}",
		id: "replica-show", tag: "replicas",
		summary: "Show a replica"},
		func(_ context.Context, in *ByName) (wire.Replica, error) {
			return s.replica(in.Name)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}/checks",
		id: "replica-checks", tag: "replicas",
		summary: "Show how many copies of a replica are missing or changed, by the last checks of each kind"},
		func(ctx context.Context, in *ByName) (wire.ReplicaChecks, error) {
			return s.checks(ctx, in.Name)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replica-checks",
		id: "replica-checks-list", tag: "replicas",
		summary: "Show how many copies of each replica are missing or changed, by the last checks of each kind"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.ReplicaChecks], error) {
			return whole(s.allChecks(ctx))
		})
	type add struct{ Body wire.ReplicaRequest }
	handle(s.server, api, route{act: catalog.ChangeReplica, method: http.MethodPost, path: "/api/v1/replicas",
		id: "replica-add", tag: "replicas",
		summary: "Add a replica; nodes join it with join tokens, and then receive what it has to hold",
		status:  http.StatusCreated},
		func(ctx context.Context, in *add) (wire.Replica, error) {
			return s.addReplica(ctx, in.Body)
		})
	type removal struct {
		ByName
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: catalog.ChangeReplica, method: http.MethodPost,
		path: "/api/v1/replicas/{name}/remove", id: "replica-remove", tag: "replicas",
		summary: "Remove a replica that has no nodes and no verified copies", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			asked := catalog.ReplicaRemoval{Replica: catalog.ReplicaName(in.Name), Reason: in.Body.Reason}
			return nil, s.propose(ctx, catalog.RemoveReplica, asked, nil)
		})
	type shards struct {
		ByName
		After string `query:"after" doc:"the last shard of the previous page"`
		Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"4096"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}/shards",
		id: "shard-list", tag: "replicas",
		summary: "List a replica's shards: which node holds each, and where it moves"},
		func(_ context.Context, in *shards) (wire.Page[wire.Shard], error) {
			return s.shards(in.Name, in.After, in.Limit)
		})
}

func (s cluster) collectionRoutes(api huma.API) {
	list := func() ([]wire.Collection, error) {
		out := []wire.Collection{}
		err := s.Catalog.View(func(v catalog.View) error {
			collections, err := v.Collections()
			for _, c := range collections {
				out = append(out, wire.Collection{Name: string(c.Name), Created: std(c.Created)})
			}
			return err
		})
		return out, err
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/collections",
		id: "collection-list", tag: "replicas",
		summary: "List the collections"},
		func(context.Context, *struct{}) (wire.Page[wire.Collection], error) {
			return whole(list())
		})
	type add struct{ Body wire.CollectionRequest }
	handle(s.server, api, route{act: catalog.ChangeCollection, method: http.MethodPost, path: "/api/v1/collections",
		id: "collection-add", once: true, tag: "replicas",
		summary: "Add a collection; an existing one stays as it is", status: http.StatusCreated},
		func(ctx context.Context, in *add) (wire.Collection, error) {
			if err := s.decide(ctx, catalog.SetCollection,
				catalog.Collection{Name: catalog.CollectionName(in.Body.Name)}, nil); err != nil {
				return wire.Collection{}, err
			}
			collections, err := list()
			i := slices.IndexFunc(collections, func(c wire.Collection) bool { return c.Name == in.Body.Name })
			if err == nil && i < 0 {
				err = ErrUnavailable
			}
			if err != nil {
				return wire.Collection{}, err
			}
			return collections[i], nil
		})
}

func (s cluster) collectionRemoval(api huma.API) {
	type removal struct {
		ByName
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: catalog.ChangeCollection, method: http.MethodPost,
		path: "/api/v1/collections/{name}/remove", id: "collection-remove", once: true, tag: "replicas",
		summary: "Remove a collection that no file, job or replica belongs to", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			asked := catalog.CollectionRemoval{Collection: catalog.CollectionName(in.Name), Reason: in.Body.Reason}
			return nil, s.propose(ctx, catalog.RemoveCollection, asked, nil)
		})
}

// addReplica adds a replica. The same again is no error; another one of the name is not changed.
func (s cluster) addReplica(ctx context.Context, in wire.ReplicaRequest) (wire.Replica, error) {
	want := catalog.Replica{Name: catalog.ReplicaName(in.Name), Kind: catalog.ReplicaKind(in.Kind),
		Place:       cmp.Or(in.Place, in.Name),
		Collections: kindOf[catalog.CollectionName](slices.Sorted(slices.Values(in.Collections)))}
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.Replica{}, err
	}
	err := s.Catalog.View(func(v catalog.View) error {
		old, err := v.Replica(want.Name)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if err == nil && (old.Kind != want.Kind || old.Place != want.Place ||
			!slices.Equal(old.Collections, slices.Compact(want.Collections))) {
			err = problem(http.StatusConflict, wire.CodeConflict, "there is another replica "+in.Name+" already")
		}
		return err
	})
	if err != nil {
		return wire.Replica{}, err
	}
	if err := s.decide(ctx, catalog.SetReplica, want, nil); err != nil {
		return wire.Replica{}, err
	}
	return s.replica(in.Name)
}

func (s *server) replicas() ([]wire.Replica, error) {
	var replicas []wire.Replica
	err := s.Catalog.View(func(v catalog.View) (err error) {
		replicas, err = replicasOf(v)
		return err
	})
	return replicas, err
}

func (s *server) replica(name string) (wire.Replica, error) {
	replicas, err := s.replicas()
	if err != nil {
		return wire.Replica{}, err
	}
	for _, r := range replicas {
		if r.Name == name {
			return r, nil
		}
	}
	return wire.Replica{}, problem(http.StatusNotFound, wire.CodeNotFound, "no replica "+name)
}

// shards returns at most limit shards of the replica after the cursor, a shard's three digits.
func (s cluster) shards(replica, after string, limit int) (wire.Page[wire.Shard], error) {
	if _, err := s.replica(replica); err != nil {
		return wire.Page[wire.Shard]{}, err
	}
	first := 0
	if after != "" {
		last, err := catalog.ParseShard(after)
		if err != nil {
			return wire.Page[wire.Shard]{},
				problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "after: "+err.Error())
		}
		first = int(last) + 1
	}
	page := wire.Page[wire.Shard]{Items: []wire.Shard{}}
	err := s.Catalog.View(func(v catalog.View) error {
		layout, err := v.Layout(catalog.ReplicaName(replica))
		if err != nil {
			return err
		}
		for n := first; n < min(first+limit, catalog.Shards); n++ {
			place := layout[n]
			page.Items = append(page.Items,
				wire.Shard{Shard: catalog.Shard(n).String(), Holder: string(place.Holder), Next: string(place.Next)})
		}
		if first+limit < catalog.Shards {
			page.Next = catalog.Shard(first + limit - 1).String()
		}
		return nil
	})
	return page, err
}
