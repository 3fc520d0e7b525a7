package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// Level says which commands and meanings the cluster uses, and which it could use.
type Level struct {
	Level     int           `json:"level" doc:"of the cluster: it gates new commands and changed meanings"`
	Supported int           `json:"supported" doc:"the highest level that every member supports"`
	Newest    int           `json:"newest" doc:"the highest level that the answering node's program supports"`
	Members   []MemberLevel `json:"members"`
}

// MemberLevel is what one member supports. A member tells it once after each start of its program.
type MemberLevel struct {
	ID      catalog.NodeID `json:"id"`
	Name    string         `json:"name"`
	Level   int            `json:"level" doc:"the highest that its program supports"`
	Version string         `json:"version,omitempty" doc:"of its program, as last heard"`
	State   string         `json:"state" enum:"alive,suspected,failed,left,unknown"`
}

// LevelRequest asks for a higher level.
type LevelRequest struct {
	Level int `json:"level" minimum:"1" maximum:"1000000"`
}

func (s *server) levelRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/cluster/level", id: "level-show", tag: "status",
		summary: "Show the cluster's level and what each member supports"},
		func(ctx context.Context, _ *struct{}) (Level, error) { return s.level(ctx) })
	type raise struct{ Body LevelRequest }
	handle(s, api, route{act: catalog.ChangeLevel, method: http.MethodPut, path: "/api/v1/cluster/level", id: "level-raise", tag: "status",
		summary: "Raise the cluster's level; it cannot be lowered"},
		func(ctx context.Context, in *raise) (Level, error) {
			if err := s.Catalog.Linear(ctx); err != nil {
				return Level{}, err
			}
			now, err := s.level(ctx)
			if err != nil || now.Level == in.Body.Level {
				return now, err
			}
			epoch, err := epochOf(s.Catalog.View)
			if err != nil {
				return Level{}, err
			}
			if err := mayRaise(now, epoch, in.Body.Level); err != nil {
				return Level{}, err
			}
			if err := s.propose(ctx, catalog.RaiseLevel, catalog.LevelChange{Level: in.Body.Level}, nil); err != nil {
				return Level{}, err
			}
			return s.level(ctx)
		})
}

// level reads the cluster's level and its members' from the agreed state.
func (s *server) level(ctx context.Context) (Level, error) {
	presence := s.Self.Status(ctx).Presence
	out := Level{Newest: catalog.Level, Members: []MemberLevel{}}
	err := s.Catalog.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err != nil {
			return err
		}
		out.Level = cluster.Level
		nodes, err := nodesOf(v, presence)
		for _, n := range nodes {
			out.Members = append(out.Members, MemberLevel{ID: n.ID, Name: n.Name, Level: n.Level, Version: n.Presence.Version, State: n.Presence.State})
		}
		return err
	})
	if err != nil {
		return Level{}, fmt.Errorf("read the level: %w", err)
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

// mayRaise refuses what the catalog would refuse, and names every member that stands in the way with what to do about it.
func mayRaise(now Level, epoch uint64, to int) error {
	if to < now.Level {
		return problem(http.StatusConflict, Code(catalog.Conflict),
			fmt.Sprintf("the cluster is at level %d, and a level is never lowered", now.Level))
	}
	if now.Level < 2 && to == 2 && epoch > 1 {
		return problem(http.StatusConflict, Code(catalog.Conflict), "the cluster was recovered at level 1, so that nobody has "+
			"compared copies with the catalog, and at level 2 nobody would be asked to: raise it to level 3, when all members "+
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
	return problem(http.StatusConflict, Code(catalog.Conflict), fmt.Sprintf("level %d is not possible yet: %s; "+
		"install a newer program there and start it, or remove the node", to, strings.Join(behind, ", ")))
}
