package client

import (
	"context"
	"iter"
	"strconv"

	"holdfast/api/wire"
)

// Ledgers are the ledgers of replicas.
type Ledgers struct{ c *Client }

// Ledgers returns what there is to do with ledgers.
func (c *Client) Ledgers() Ledgers { return Ledgers{c} }

// List yields the last ledgers of the replica, newest first.
func (l Ledgers) List(ctx context.Context, replica string) iter.Seq2[wire.Ledger, error] {
	return all[wire.Ledger](ctx, l.c, nil, "replicas", replica, "ledgers")
}

// Show shows one of the last ledgers of the replica.
func (l Ledgers) Show(ctx context.Context, replica string, serial uint64) (wire.Ledger, error) {
	return get[wire.Ledger](ctx, l.c, "replicas", replica, "ledgers", strconv.FormatUint(serial, 10))
}

// Make has a node of the replica make a ledger now. Making tells when it is done.
func (l Ledgers) Make(ctx context.Context, replica string) (wire.LedgerMaking, error) {
	return post[wire.LedgerMaking](ctx, l.c, nil, "replicas", replica, "ledgers")
}

// Making tells how the ledger stands on each node of the replica.
func (l Ledgers) Making(ctx context.Context, replica string) ([]wire.LedgerMaking, error) {
	page, err := get[wire.Page[wire.LedgerMaking]](ctx, l.c, "replicas", replica, "ledger-making")
	return page.Items, err
}
