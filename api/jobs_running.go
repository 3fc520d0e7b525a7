package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s jobs) runningRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/running",
		id: "job-running", tag: "jobs",
		summary: "List the jobs that run, with live figures of all nodes; nodes that do not answer are named"},
		func(ctx context.Context, _ *struct{}) (wire.RunningJobs, error) {
			return s.running(ctx)
		})
}

// running asks the nodes, and adds what the catalog knows of their jobs.
func (s jobs) running(ctx context.Context) (wire.RunningJobs, error) {
	out := wire.RunningJobs{At: time.Now().UTC(), Jobs: []wire.RunningJob{}, Silent: []wire.SilentNode{}}
	nodes := s.crawls.Running(ctx)
	err := s.Catalog.View(func(v catalog.View) error {
		for _, node := range nodes {
			if node.Err != nil {
				out.Silent = append(out.Silent,
					wire.SilentNode{Node: string(node.Node), Name: node.Name, Reason: node.Err.Error()})
				held, err := v.RunningOn(node.Node)
				if err != nil {
					return err
				}
				for _, job := range held {
					node.Jobs = append(node.Jobs, wire.RunningJob{ID: job.ID})
				}
			}
			for _, job := range node.Jobs {
				known, err := v.Job(job.ID)
				if err != nil && !errors.Is(err, catalog.ErrNotFound) {
					return err
				}
				job.Harvest, job.Collection = known.Harvest, string(known.Collection)
				job.Node, job.NodeName = string(node.Node), node.Name
				out.Jobs = append(out.Jobs, job)
			}
		}
		return nil
	})
	slices.SortFunc(out.Jobs, func(a, b wire.RunningJob) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Node, b.Node))
	})
	return out, err
}
