package api

import (
	"context"
	"errors"
	"slices"

	"holdfast/catalog"
)

// What a request touches is found in the request and in the catalog, before it is carried out. An empty name means
// that it is not known: then only a caller who may act everywhere is admitted.

// finder finds what a request touches.
type finder func(ctx context.Context, in any) (catalog.Where, error)

// within makes a finder of a function over a route's own input.
func within[I any](find func(context.Context, *I) (catalog.Where, error)) finder {
	return func(ctx context.Context, in any) (catalog.Where, error) { return find(ctx, in.(*I)) }
}

// ofJob finds the collection of the job that a request is about.
func ofJob[I any](s *server, id func(*I) uint64) finder {
	return within(func(ctx context.Context, in *I) (catalog.Where, error) {
		job, _, err := s.job(id(in))
		if errors.Is(err, ErrNotFound) { // this node may be behind
			if err := s.Catalog.Linear(ctx); err != nil {
				return catalog.Where{}, err
			}
			job, _, err = s.job(id(in))
		}
		return inCollections(job.Collection), err
	})
}

func inCollections(names ...catalog.CollectionName) catalog.Where {
	return catalog.Where{Collections: names}
}

func atPlaces(places ...string) catalog.Where { return catalog.Where{Places: places} }

// collectionOr returns the collection, or the one where files and jobs go when none is given.
func (s *server) collectionOr(name catalog.CollectionName) (catalog.CollectionName, error) {
	if name != "" {
		return name, nil
	}
	err := s.Catalog.View(func(v catalog.View) (err error) {
		name, err = firstCollection(v)
		return err
	})
	return name, err
}

// ofUpload finds the collection that a file is put into, and the one that it is in already: the bytes may replace
// bytes that are lost.
func ofUpload(s *server) finder {
	return within(func(_ context.Context, in *upload) (catalog.Where, error) {
		name, err := s.collectionOr(catalog.CollectionName(in.Collection))
		if err != nil {
			return catalog.Where{}, err
		}
		in.Collection = string(name) // what is decided about is what is done
		f, err := s.file(in.Name)
		if errors.Is(err, ErrNotFound) {
			return inCollections(name), nil
		}
		return inCollections(name, f.Collection), err
	})
}

// ofNode finds the place of a node by its name or id; without one, the whole archive.
func ofNode[I any](s *server, name func(*I) string) finder {
	return within(func(ctx context.Context, in *I) (catalog.Where, error) {
		if name(in) == "" {
			return catalog.Where{}, nil
		}
		n, err := s.node(ctx, name(in))
		return atPlaces(n.Place), err
	})
}

// here finds the place of the node that answers.
func here[I any](s *server) finder {
	return within(func(context.Context, *I) (where catalog.Where, err error) {
		err = s.Catalog.View(func(v catalog.View) error {
			place, err := catalog.PeopleIn(v).PlaceOf(s.id)
			where = atPlaces(place)
			return err
		})
		return where, err
	})
}

// ofReplicas finds the places of replicas; without one, the whole archive.
func ofReplicas[I any](s *server, names func(context.Context, *I) ([]catalog.ReplicaName, error)) finder {
	return within(func(ctx context.Context, in *I) (where catalog.Where, err error) {
		wanted, err := names(ctx, in)
		if err != nil {
			return where, err
		}
		err = s.Catalog.View(func(v catalog.View) error {
			for _, name := range wanted {
				r, err := v.Replica(name)
				if err != nil && !errors.Is(err, catalog.ErrNotFound) {
					return err
				}
				where.Places = append(where.Places, r.Place)
			}
			return nil
		})
		slices.Sort(where.Places)
		where.Places = slices.Compact(where.Places)
		return where, err
	})
}

// replicasToVerify are the replicas whose copies of a file are to be read: those asked for, or all that have a copy or
// are to have one.
func replicasToVerify(s *server) func(context.Context, *verification) ([]catalog.ReplicaName, error) {
	return func(_ context.Context, in *verification) (out []catalog.ReplicaName, err error) {
		if len(in.Replicas) > 0 {
			return kindOf[catalog.ReplicaName](in.Replicas), nil
		}
		f, err := s.file(in.Name)
		for _, c := range f.Copies {
			out = append(out, c.Replica)
		}
		return out, err
	}
}
