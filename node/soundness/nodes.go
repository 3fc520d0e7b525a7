package soundness

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// Nodes reaches the checks of all nodes, for the API.
type Nodes struct{ *Checks }

// members returns all members, this node too.
func (n Nodes) members() (members []catalog.Member, err error) {
	err = n.cfg.View(func(v catalog.View) error { members, err = v.Members(); return err })
	return members, err
}

// Begin has all nodes check their states as of one index: the one that the most nodes have, and of several such the
// latest. The reply names the nodes that do not answer or do not have that index.
func (n Nodes) Begin(ctx context.Context) (api.CatalogCheck, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := n.cfg.Linear(ctx); err != nil && ctx.Err() != nil {
		return api.CatalogCheck{}, err // without a quorum what there is can be checked
	}
	members, err := n.members()
	if err != nil {
		return api.CatalogCheck{}, err
	}
	pins := wire.AskAll(ctx, n.cfg.Ask, n.cfg.Self, members, PinCall, struct{}{},
		func(ctx context.Context) ([]uint64, error) { return n.Pin(ctx, n.cfg.Self, struct{}{}) })
	index, err := common(pins)
	if err != nil {
		return api.CatalogCheck{}, err
	}
	out := wire.Gather(pins, func(r wire.Reply[catalog.Member, []uint64]) (api.NodeCheck, error) {
		switch {
		case r.Err != nil:
			return api.NodeCheck{}, r.Err
		case r.To.ID == n.cfg.Self:
			return n.Checks.Begin(ctx, n.cfg.Self, Request{Index: index})
		}
		return wire.Ask[api.NodeCheck](ctx, n.cfg.Ask, r.To.ID, CheckCall, Request{Index: index})
	})
	check := api.CatalogCheck{Index: index, Nodes: make([]api.NodeCheck, len(out))}
	for i, r := range out {
		check.Nodes[i] = told(r.To.To, r.Answer, r.Err)
	}
	return check, nil
}

// told is what is known of a node's check.
func told(m catalog.Member, is api.NodeCheck, err error) api.NodeCheck {
	if err != nil {
		is = api.NodeCheck{State: Unreachable, Reason: wire.MessageOf(err), Problems: []string{}}
	}
	is.Node, is.Name = string(m.ID), m.Name
	return is
}

// common returns the index that the most nodes have, and of several such the latest.
func common(all []wire.Reply[catalog.Member, []uint64]) (uint64, error) {
	has := map[uint64]int{}
	var why error
	for _, r := range all {
		why = errors.Join(why, r.Err)
		for _, index := range r.Answer {
			has[index]++
		}
	}
	var best uint64
	for index, nodes := range has {
		if nodes > has[best] || nodes == has[best] && index > best {
			best = index
		}
	}
	if best == 0 {
		return 0, refusal("no node can check its catalog now: %s", wire.MessageOf(why))
	}
	return best, nil
}

// State asks all nodes how their checks stand.
func (n Nodes) State(ctx context.Context) (api.CatalogCheck, error) {
	return n.ask(ctx, StateCall, struct{}{}, func(ctx context.Context) (api.NodeCheck, error) {
		return n.Checks.State(ctx, n.cfg.Self, struct{}{})
	})
}

// Stop stops the checks of all nodes.
func (n Nodes) Stop(ctx context.Context) (api.CatalogCheck, error) {
	return n.ask(ctx, CheckCall, Request{Stop: true}, func(context.Context) (api.NodeCheck, error) {
		return n.halt(), nil
	})
}

func (n Nodes) ask(ctx context.Context, kind string, request any,
	own func(context.Context) (api.NodeCheck, error)) (api.CatalogCheck, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	members, err := n.members()
	if err != nil {
		return api.CatalogCheck{}, err
	}
	out := api.CatalogCheck{Nodes: []api.NodeCheck{}}
	for _, r := range wire.AskAll(ctx, n.cfg.Ask, n.cfg.Self, members, kind, request, own) {
		out.Nodes = append(out.Nodes, told(r.To, r.Answer, r.Err))
		out.Index = max(out.Index, r.Answer.Index)
	}
	slices.SortFunc(out.Nodes, func(a, b api.NodeCheck) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
