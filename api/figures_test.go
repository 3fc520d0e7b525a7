package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// nodeFigures are the figures of the tests' nodes.
type nodeFigures struct{}

func (nodeFigures) Figures(_ context.Context, node catalog.NodeID, span string) (NodeFigures, error) {
	if node != self {
		return NodeFigures{}, fmt.Errorf("%w: %s", ErrUnavailable, node)
	}
	value := 1.5
	return NodeFigures{Name: "north-1", Span: span, From: time.Unix(0, 0).UTC(), Step: 10,
		Series: []FigureSeries{{Name: "cpu", Unit: "cores", Values: []*float64{nil, &value}}}}, nil
}

func TestFiguresOfANode(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(b.person("reader", catalog.Giving{Role: catalog.RoleReader}))
	for given, want := range map[string]string{"": "hour", "hour": "hour", "week": "week"} {
		got, err := c.Nodes().Figures(t.Context(), "north-1", given)
		if err != nil || got.Span != want || got.Step != 10 || got.Series[0].Values[0] != nil || *got.Series[0].Values[1] != 1.5 {
			t.Errorf("span %q: %+v %v", given, got, err)
		}
	}
	for name, want := range map[string]error{"north-1": wire.ErrInvalid, "nobody": wire.ErrNotFound} {
		span := "year"
		if name == "nobody" {
			span = "hour"
		}
		if _, err := c.Nodes().Figures(t.Context(), name, span); !errors.Is(err, want) {
			t.Errorf("%s, span %s: %v", name, span, err)
		}
	}
}
