package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
)

// table calls handlers by the node that they are of.
type table map[catalog.NodeID]Handler

var errAway = errors.New("away")

func (t table) Call(ctx context.Context, to catalog.NodeID, _ string, request []byte) ([]byte, error) {
	if t[to] == nil {
		return nil, errAway
	}
	return t[to](ctx, "self", request)
}

func TestGatherKeepsTheOrderAndEachReason(t *testing.T) {
	t.Parallel()
	upper := Answer("upper", func(_ context.Context, from catalog.NodeID, s string) (string, error) {
		return strings.ToUpper(s) + " for " + string(from), nil
	})
	nodes := table{"north": upper, "south": upper}
	got := Gather([]catalog.NodeID{"north", "gone", "south"}, func(to catalog.NodeID) (string, error) {
		return Ask[string](t.Context(), nodes, to, "upper", string(to))
	})
	var said []string
	for _, r := range got {
		said = append(said, string(r.To)+": "+r.Answer)
	}
	if want := []string{"north: NORTH for self", "gone: ", "south: SOUTH for self"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if !errors.Is(got[1].Err, errAway) || got[0].Err != nil || got[2].Err != nil {
		t.Errorf("%v", got)
	}
}

func TestARequestThatIsNoJSONIsRefused(t *testing.T) {
	t.Parallel()
	count := Answer("count", func(context.Context, catalog.NodeID, int) (int, error) { return 1, nil })
	if _, err := count(t.Context(), "north", []byte(`"x"`)); err == nil {
		t.Error("a text is taken for a number")
	}
}
