package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s cluster) routes(api huma.API) {
	s.statusRoutes(api)
	s.levelRoutes(api)
	s.nodeRoutes(api)
	s.replicaRoutes(api)
	s.collectionRoutes(api)
	s.collectionRemoval(api)
	s.diskRoutes(api)
	s.indexRoutes(api)
	s.trailRoutes(api)
}

func (s cluster) statusRoutes(api huma.API) {
	handle(s.server, api, route{method: http.MethodGet, path: "/health", id: "health", tag: "status",
		summary: "Whether this node is up"},
		func(ctx context.Context, _ *struct{}) (wire.Health, error) {
			self := s.self.Status(ctx)
			return wire.Health{Ready: self.Ready, Quorum: self.Quorum}, nil
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/status", id: "status",
		tag:     "status",
		summary: "Show the state of the cluster, as this node sees it"},
		func(ctx context.Context, _ *struct{}) (wire.Status, error) {
			st, agreed, own, err := s.overview(ctx)
			if err != nil {
				return wire.Status{}, err
			}
			all := alert.Merge(agreed, own)
			st.Alerts, st.Problems = shownAlerts(all), alert.Texts(all)
			st.Healthy = len(all) == 0
			return st, s.recall(st.Alerts)
		})
	handle(s.server, api, route{act: catalog.LookAtNode, within: here[struct{}](s.server), method: http.MethodGet,
		path: "/api/v1/config", id: "config", tag: "status",
		summary: "This node's effective settings, without secrets"},
		func(context.Context, *struct{}) (any, error) {
			return s.self.Config(), nil
		})
}

// overview combines what is agreed with what this node knows of the others at the moment, and says what a person should
// know of that, and of the node.
func (s *server) overview(ctx context.Context) (st wire.Status, agreed, own []alert.Alert, err error) {
	self := s.self.Status(ctx)
	st = wire.Status{Node: self.NodeStatus, Jobs: map[wire.JobState]int{}, Problems: []string{}}
	if st.Node.Running == nil {
		st.Node.Running = []uint64{}
	}
	if st.Node.Disks == nil {
		st.Node.Disks = []wire.Disk{}
	}
	err = s.own.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if errors.Is(err, catalog.ErrNotFound) {
			agreed = alert.At(st.Node.Name, []alert.Alert{alert.New(alert.CatalogMissing, "")})
		} else if err != nil {
			return err
		}
		st.Cluster = wire.Cluster{
			ID: cluster.ID, Name: cluster.Name, Epoch: cluster.Epoch, Level: cluster.Level,
			Founded: std(cluster.Founded),
			Quorum:  self.Quorum, Leader: self.Leader,
		}
		if st.Nodes, err = nodesOf(v, self.Presence); err != nil {
			return err
		}
		if st.Replicas, err = replicasOf(v); err != nil {
			return err
		}
		lost, err := v.Lost("", wire.MaxPage)
		if err != nil {
			return err
		}
		st.Lost = len(lost)
		if cluster.Level >= catalog.LevelOfPeople {
			if st.Ownerless, err = catalog.PeopleIn(v).Ownerless(catalog.At(s.now())); err != nil {
				return err
			}
		}
		counts, err := v.Counts()
		if err != nil {
			return err
		}
		for state, n := range counts {
			st.Jobs[wire.JobState(state)] = n
		}
		decided, err := agreedAlerts(v, s.now())
		agreed = append(agreed, decided...)
		return err
	})
	if err != nil {
		return wire.Status{}, nil, nil, fmt.Errorf("read the state: %w", err)
	}
	for _, n := range st.Nodes {
		if n.ID == self.Leader {
			st.Cluster.LeaderName = n.Name
		}
	}
	agreed = s.seen.see(s.now(), append(clusterAlerts(st), agreed...))
	return st, agreed, alert.At(st.Node.Name, self.Alerts), nil
}
