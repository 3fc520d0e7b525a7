package api

import "context"

// fakeChecks are checks of one node that have found nothing.
type fakeChecks struct{}

func (fakeChecks) Begin(context.Context) (CatalogCheck, error) {
	return CatalogCheck{Index: 1, Nodes: []NodeCheck{{Name: "north-1", State: "running", Problems: []string{}}}}, nil
}

func (f fakeChecks) State(ctx context.Context) (CatalogCheck, error) { return f.Begin(ctx) }
func (f fakeChecks) Stop(ctx context.Context) (CatalogCheck, error)  { return f.Begin(ctx) }
