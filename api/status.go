package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
			return s.status(ctx)
		})
	handle(s.server, api, route{act: catalog.LookAtNode, within: here[struct{}](s.server), method: http.MethodGet,
		path: "/api/v1/config", id: "config", tag: "status",
		summary: "This node's effective settings, without secrets"},
		func(context.Context, *struct{}) (any, error) {
			return s.self.Config(), nil
		})
}

// status combines what is agreed with what this node knows of the others at the moment.
func (s cluster) status(ctx context.Context) (wire.Status, error) {
	self := s.self.Status(ctx)
	st := wire.Status{Node: self.NodeStatus, Jobs: map[wire.JobState]int{}, Problems: []string{}}
	if st.Node.Running == nil {
		st.Node.Running = []uint64{}
	}
	if st.Node.Disks == nil {
		st.Node.Disks = []wire.Disk{}
	}
	err := s.own.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if errors.Is(err, catalog.ErrNotFound) {
			st.Problems = append(st.Problems, "this node has not received the catalog yet")
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
		unserved, err := v.Unserved()
		if err != nil {
			return err
		}
		for _, u := range unserved {
			st.Problems = append(st.Problems, fmt.Sprintf("channel %s has %d jobs that wait, and no node that crawls "+
				"serves it: name it in channels in the cluster.toml of one", u.Channel, u.Jobs))
		}
		jobs, err := v.Newest(catalog.JobFailed, failedShown)
		if text := failedSince(jobs, catalog.At(s.now().Add(-24*time.Hour))); text != "" {
			st.Problems = append(st.Problems, text)
		}
		return err
	})
	if err != nil {
		return wire.Status{}, fmt.Errorf("read the state: %w", err)
	}
	for _, n := range st.Nodes {
		if n.ID == self.Leader {
			st.Cluster.LeaderName = n.Name
		}
	}
	st.Problems = append(st.Problems, problemsOf(st)...)
	st.Healthy = len(st.Problems) == 0
	return st, nil
}

// failedShown is how many failed jobs are looked at for those that failed recently.
const failedShown = 1000

// failedSince lists jobs that have failed recently and wait for somebody to decide about them.
func failedSince(jobs []catalog.Job, since catalog.Time) string {
	failed := slices.DeleteFunc(slices.Clone(jobs), func(j catalog.Job) bool {
		return j.State != catalog.JobFailed || j.Wish == catalog.WishStop || j.Ended < since
	})
	if len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf("%d jobs failed in the last day, the last of them job %d: %s; resubmit or reject them",
		len(failed), failed[0].ID, failed[0].Why())
}

// majorityAt returns the place with which the majority of voters would be lost although there are three places, or "".
func majorityAt(nodes []wire.Node) string {
	places, voters, all := map[string]bool{}, map[string]int{}, 0
	for _, n := range nodes {
		if !n.OutOnly {
			places[n.Place] = true
		}
		if n.Presence.Voter {
			voters[n.Place]++
			all++
		}
	}
	for place, count := range voters {
		if len(places) >= 3 && all > 1 && 2*count > all {
			return place
		}
	}
	return ""
}

// problemsOf lists everything that is wrong, worst first.
func problemsOf(st wire.Status) []string {
	var out []string
	if !st.Cluster.Quorum {
		out = append(out, "no quorum: nothing can be decided until most of the cluster's voters can reach each "+
			"other; reading and crawls under lease go on")
	}
	for _, n := range st.Nodes {
		if state := n.Presence.State; state != "alive" {
			out = append(out, fmt.Sprintf("node %s is %s", n.Name, state))
		}
	}
	if place := majorityAt(st.Nodes); place != "" {
		out = append(out, fmt.Sprintf("place %s has most of the voters: without it nothing can be decided, although "+
			"there are three places", place))
	}
	for _, r := range st.Replicas {
		if r.Disputed > 0 {
			out = append(out, fmt.Sprintf("replica %s: %d copies are disputed and wait for a verdict", r.Name,
				r.Disputed))
		}
		if !slices.ContainsFunc(st.Nodes, func(n wire.Node) bool { return n.Replica == r.Name }) {
			out = append(out, fmt.Sprintf("replica %s has no node: nothing keeps its copies", r.Name))
		} else if r.Files > 0 && r.Held < catalog.Shards {
			out = append(out, fmt.Sprintf("replica %s: %d shards have no holder", r.Name, catalog.Shards-r.Held))
		}
	}
	return append(out, st.Node.Problems...)
}
