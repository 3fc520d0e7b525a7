package api

import (
	"context"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

// previews are those of a node that expects one job.
type previews struct{}

func (previews) Preview(_ context.Context, number uint64) (p wire.HarvestPreview, err error) {
	if number != 1 {
		return p, catalog.ErrNotFound
	}
	p.Jobs, p.Configurations, p.Expected, p.LeftOut = 1, 2, 700, map[string]int64{"alias": 3}
	p.First = []wire.PreviewedJob{{Template: "default@3", Configurations: 2, Expected: 700, Bytes: harvest.AtMost(9)}}
	return p, nil
}

// TestPreviewIsShown asks what a harvest would do.
func TestPreviewIsShown(t *testing.T) {
	t.Parallel()
	_, c := harvesting(t)
	made(t, c, wire.HarvestRequest{Name: "all", Kind: "snapshot"})
	p, err := c.Preview(t.Context(), 1)
	if err != nil || p.Jobs != 1 || p.LeftOut["alias"] != 3 || p.First[0].Bytes != harvest.AtMost(9) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := c.Preview(t.Context(), 2); status(err) != 404 {
		t.Errorf("%v", err)
	}
}
