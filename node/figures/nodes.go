package figures

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// Call is the kind of call by which nodes ask each other for their figures. It is on the wire and keeps its meaning.
const Call = "figures"

// askLimit is how long another node may take to answer.
const askLimit = 5 * time.Second

// Request is the request of a Call.
type Request struct {
	Span string `json:"span"` // hour or week
}

// Nodes are the figures of all nodes, for the API.
type Nodes struct {
	Self catalog.NodeID
	Name func(catalog.NodeID) string // of a member
	Own  *Figures
	Ask  wire.Caller // asks other nodes in the name of who asks
}

// Figures returns the figures of a member.
func (n Nodes) Figures(ctx context.Context, node catalog.NodeID, span string) (api.NodeFigures, error) {
	if node == n.Self {
		return n.Serve(ctx, node, Request{span})
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := wire.Ask[api.NodeFigures](ctx, n.Ask, node, Call, Request{span})
	if refusal := (*catalog.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
		err = fmt.Errorf("%w: read the figures of %s: %w", api.ErrUnavailable, n.Name(node), err)
	}
	return out, err
}

// Serve answers another node with the figures of this one.
func (n Nodes) Serve(_ context.Context, _ catalog.NodeID, r Request) (api.NodeFigures, error) {
	span := Hour()
	switch r.Span {
	case "hour":
	case "week":
		span = Week()
	default:
		return api.NodeFigures{}, fmt.Errorf("figures of the span %q: want hour or week", r.Span)
	}
	from, all := n.Own.Show(span, time.Now())
	out := api.NodeFigures{Node: string(n.Self), Name: n.Name(n.Self), Span: r.Span, From: from,
		Step: int(span.Step / time.Second), Series: []api.FigureSeries{}}
	for _, s := range all {
		one := api.FigureSeries{Name: s.Name, Of: s.Of, Unit: s.Unit, Values: make([]*float64, len(s.Values))}
		for i, v := range s.Values {
			one.Values[i] = shown(v)
		}
		out.Series = append(out.Series, one)
	}
	return out, nil
}

// shown is a figure with six digits, nil if it is not known.
func shown(v float32) *float64 {
	wide := float64(v)
	if math.IsNaN(wide) || math.IsInf(wide, 0) {
		return nil
	}
	if short, err := strconv.ParseFloat(strconv.FormatFloat(wide, 'g', 6, 64), 64); err == nil {
		wide = short
	}
	return &wide
}
