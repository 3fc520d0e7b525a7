package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s cluster) levelRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/cluster/level",
		id: "level-show", tag: "status",
		summary: "Show the cluster's level and what each member supports"},
		func(ctx context.Context, _ *struct{}) (wire.Level, error) { return s.level(ctx) })
	type raise struct{ Body wire.LevelRequest }
	handle(s.server, api, route{act: catalog.ChangeLevel, method: http.MethodPut, path: "/api/v1/cluster/level",
		id: "level-raise", tag: "status",
		summary: "Raise the cluster's level; it cannot be lowered"},
		func(ctx context.Context, in *raise) (wire.Level, error) {
			if err := s.Catalog.Linear(ctx); err != nil {
				return wire.Level{}, err
			}
			now, err := s.level(ctx)
			if err != nil || now.Level == in.Body.Level {
				return now, err
			}
			epoch, err := epochOf(s.Catalog.View)
			if err != nil {
				return wire.Level{}, err
			}
			if err := mayRaise(now, epoch, in.Body.Level); err != nil {
				return wire.Level{}, err
			}
			if err := s.propose(ctx, catalog.RaiseLevel, catalog.LevelChange{Level: in.Body.Level}, nil); err != nil {
				return wire.Level{}, err
			}
			return s.level(ctx)
		})
}

// levelOf returns the level that the members have agreed to use.
func levelOf(view func(func(catalog.View) error) error) (level int, err error) {
	err = view(func(v catalog.View) error {
		cluster, err := v.Cluster()
		level = cluster.Level
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the level: %w", err)
	}
	return level, nil
}

// level reads the cluster's level and its members' from the agreed state.
func (s cluster) level(ctx context.Context) (wire.Level, error) {
	presence := s.self.Status(ctx).Presence
	out := wire.Level{Newest: catalog.Level, Members: []wire.MemberLevel{}}
	err := s.Catalog.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err != nil {
			return err
		}
		out.Level = cluster.Level
		nodes, err := nodesOf(v, presence)
		for _, n := range nodes {
			out.Members = append(out.Members, wire.MemberLevel{ID: n.ID, Name: n.Name, Level: n.Level,
				Version: n.Presence.Version, State: n.Presence.State})
		}
		return err
	})
	if err != nil {
		return wire.Level{}, fmt.Errorf("read the level: %w", err)
	}
	for i, m := range out.Members {
		if i == 0 || m.Level < out.Supported {
			out.Supported = m.Level
		}
	}
	return out, nil
}

// epochOf reads the cluster's epoch: above 1, it was recovered.
func epochOf(view func(func(catalog.View) error) error) (epoch uint64, err error) {
	err = view(func(v catalog.View) error {
		cluster, err := v.Cluster()
		epoch = cluster.Epoch
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the epoch: %w", err)
	}
	return epoch, nil
}

// mayRaise refuses what the catalog would refuse. It names every member that prevents the level, and what to do about
// it.
func mayRaise(now wire.Level, epoch uint64, to int) error {
	if to < now.Level {
		return problem(http.StatusConflict, wire.CodeConflict,
			fmt.Sprintf("the cluster is at level %d, and a level is never lowered", now.Level))
	}
	if now.Level < 2 && to == 2 && epoch > 1 {
		return problem(http.StatusConflict, wire.CodeConflict,
			"the cluster was recovered at level 1, so that nobody has "+
				"compared copies with the catalog, and at level 2 nobody would be asked to: raise it to level 3, when "+
				"all members "+
				"support that")
	}
	var behind []string
	for _, m := range now.Members {
		if m.Level < to {
			behind = append(behind, fmt.Sprintf("%s supports level %d", m.Name, m.Level))
		}
	}
	if len(behind) == 0 {
		return nil
	}
	slices.Sort(behind)
	return problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf("level %d is not possible yet: %s; "+
		"install a newer program there and start it, or remove the node", to, strings.Join(behind, ", ")))
}
