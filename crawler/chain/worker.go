package chain

import (
	"context"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
)

// Worker takes URIs through the chain, one at a time.
type Worker struct {
	Number int
	Place  *report.Worker // tells where it is
	Crew   *Crew
	Plan   *plan.Current
	Stages []Stage // in order; post-processing follows for whatever does not go back to the frontier
	Set    *Set

	subject scope.Subject // of the visit under way
}

// Visit takes one URI through the chain. An error means that the crawl cannot go on.
func (w *Worker) Visit(ctx context.Context, u *frontier.URI) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w.Crew.begin(w.Number, u.URL, cancel)
	w.Place.Begin(u.URL, u.Path, u.Via, u.Tries)
	v := w.newVisit(u)
	defer func() {
		w.Crew.end(w.Number)
		w.Place.End()
		cancel(nil)
		w.Set.Turn.Release(v)
	}()
	for i, s := range w.Stages {
		w.Place.Stage(i)
		to, err := s.Run(ctx, v)
		if err != nil {
			return err
		}
		if to == Again {
			return nil
		}
		if to == Over {
			break
		}
	}
	w.Place.Stage(len(w.Stages))
	return w.Set.Post.Run(ctx, v)
}

func (w *Worker) newVisit(u *frontier.URI) *Visit {
	w.subject = scope.Subject{URL: u.URL, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now()}
	return &Visit{URI: u, Worker: w.Number, Set: w.Plan.Base(), Subject: &w.subject}
}
