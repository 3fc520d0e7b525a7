package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

func (s *server) replicaRoutes(api huma.API) {
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/replicas", id: "replica-list", tag: "replicas",
		summary: "List the replicas and how their copies stand"},
		func(context.Context, *struct{}) (*answer[Page[Replica]], error) {
			replicas, err := s.replicas()
			return &answer[Page[Replica]]{Page[Replica]{Items: replicas}}, err
		})
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/replicas/{name}", id: "replica-show", tag: "replicas",
		summary: "Show a replica"},
		func(_ context.Context, in *ByName) (*answer[Replica], error) {
			replica, err := s.replica(in.Name)
			return &answer[Replica]{replica}, err
		})
	type shards struct {
		ByName
		After string `query:"after" doc:"the last shard of the page before"`
		Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"4096"`
	}
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/replicas/{name}/shards", id: "shard-list", tag: "replicas",
		summary: "List a replica's shards with holder and next"},
		func(_ context.Context, in *shards) (*answer[Page[Shard]], error) {
			page, err := s.shards(in.Name, in.After, in.Limit)
			return &answer[Page[Shard]]{page}, err
		})
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
