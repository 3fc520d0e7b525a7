package ledgers

import (
	"context"
	"fmt"
	"slices"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// Nodes reaches the nodes that make the ledgers of a replica, for the API.
type Nodes struct{ *Ledgers }

// Make has a node of the replica make a ledger: this one if it is of the replica, otherwise a holder that lives.
func (n Nodes) Make(ctx context.Context, name catalog.ReplicaName, by string) (api.LedgerMaking, error) {
	var holders []catalog.NodeID
	var kind catalog.ReplicaKind
	err := n.cfg.Agreement.View(func(v catalog.View) error {
		r, err := v.Replica(name)
		if err == nil {
			kind = r.Kind
			holders, err = holdersOf(v, name)
		}
		return err
	})
	switch {
	case err != nil:
		return api.LedgerMaking{}, err
	case kind != catalog.Bitarchive:
		return api.LedgerMaking{}, refusal("replica %s holds no bytes: nobody could sign a ledger of it", name)
	case len(holders) == 0:
		return api.LedgerMaking{}, refusal("replica %s holds no files yet", name)
	}
	alive := n.cfg.Alive()
	alive[n.cfg.Self] = true
	to := holders[max(0, slices.IndexFunc(holders, func(h catalog.NodeID) bool { return alive[h] }))]
	if slices.Contains(holders, n.cfg.Self) {
		to = n.cfg.Self
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if to == n.cfg.Self {
		return n.Begin(ctx, to, by, struct{}{})
	}
	return wire.Ask[api.LedgerMaking](ctx, n.cfg.Ask, to, MakeCall, struct{}{})
}

// Making asks the nodes of the replica. One that does not answer is told as such.
func (n Nodes) Making(ctx context.Context, name catalog.ReplicaName) ([]api.LedgerMaking, error) {
	var nodes []catalog.NodeID
	err := n.cfg.Agreement.View(func(v catalog.View) error {
		members, err := v.Members()
		for _, m := range members {
			if m.Replica == name {
				nodes = append(nodes, m.ID)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the member list: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit/3)
	defer cancel()
	replies := wire.Gather(nodes, func(to catalog.NodeID) (api.LedgerMaking, error) {
		if to == n.cfg.Self {
			return n.State(ctx, to, struct{}{})
		}
		return wire.Ask[api.LedgerMaking](ctx, n.cfg.Ask, to, StateCall, struct{}{})
	})
	out := make([]api.LedgerMaking, len(replies))
	for i, r := range replies {
		out[i] = r.Answer
		if r.Err != nil {
			out[i] = api.LedgerMaking{Node: string(r.To), Replica: string(name), State: "unreachable",
				Detail: wire.MessageOf(r.Err)}
		}
	}
	return out, nil
}
