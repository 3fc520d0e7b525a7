package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// ledgerCursor is the pattern of the cursors of a list of ledgers.
const ledgerCursor = `^(|l-(0|[1-9][0-9]{0,18}))$`

// LedgerMaking is how the ledger stands that a node makes.
type LedgerMaking = wire.LedgerMaking

// Ledgers makes ledgers of replicas.
type Ledgers interface {
	// Make has a node of the replica make a ledger now, and returns how that stands.
	Make(ctx context.Context, replica catalog.ReplicaName, actor string) (LedgerMaking, error)
	// Making tells how it stands on each node of the replica, those that do not answer too.
	Making(ctx context.Context, replica catalog.ReplicaName) ([]LedgerMaking, error)
}

// ledgers are the operations about ledgers.
type ledgers struct {
	*server
	make Ledgers
}

// LedgerListing is the input of a list of ledgers.
type LedgerListing struct {
	ByName
	Paging
}

func (s ledgers) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/replicas/{name}/ledgers",
		id: "ledger-list", tag: "ledgers",
		summary: "List the last ledgers of a replica, newest first"},
		func(_ context.Context, in *LedgerListing) (wire.Page[wire.Ledger], error) { return s.list(in) })
	type one struct {
		ByName
		Serial uint64 `path:"serial" minimum:"1" maximum:"9223372036854775807"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet,
		path: "/api/v1/replicas/{name}/ledgers/{serial}", id: "ledger-show", tag: "ledgers",
		summary: "Show one of the last ledgers of a replica"},
		func(_ context.Context, in *one) (out wire.Ledger, err error) {
			err = s.Catalog.View(func(v catalog.View) error {
				l, err := v.Ledger(catalog.ReplicaName(in.Name), in.Serial)
				if err != nil {
					return fmt.Errorf("ledger %d of replica %s: %w", in.Serial, in.Name, err)
				}
				out, err = ledgerOf(v, l)
				return err
			})
			return out, err
		})
	named := func(_ context.Context, in *ByName) ([]catalog.ReplicaName, error) {
		return []catalog.ReplicaName{catalog.ReplicaName(in.Name)}, nil
	}
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, named),
		method: http.MethodPost, path: "/api/v1/replicas/{name}/ledgers", id: "ledger-make", tag: "ledgers",
		summary: "Have a node of the replica make a ledger now; ledger-making tells when it is done",
		status:  http.StatusAccepted},
		func(ctx context.Context, in *ByName) (wire.LedgerMaking, error) {
			if err := s.known(in.Name); err != nil {
				return wire.LedgerMaking{}, err
			}
			return s.make.Make(ctx, catalog.ReplicaName(in.Name), callerOf(ctx).Actor)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet,
		path: "/api/v1/replicas/{name}/ledger-making",
		id:   "ledger-making", tag: "ledgers",
		summary: "Show how far each node of a replica is with the ledger that is made now, or was made last"},
		func(ctx context.Context, in *ByName) (wire.Page[wire.LedgerMaking], error) {
			if err := s.known(in.Name); err != nil {
				return wire.Page[wire.LedgerMaking]{}, err
			}
			return whole(s.make.Making(ctx, catalog.ReplicaName(in.Name)))
		})
}

// known refuses a replica that there is not.
func (s ledgers) known(name string) error {
	return s.Catalog.View(func(v catalog.View) error {
		if _, err := v.Replica(catalog.ReplicaName(name)); err != nil {
			return fmt.Errorf("replica %s: %w", name, err)
		}
		return nil
	})
}

func (s ledgers) list(in *LedgerListing) (wire.Page[wire.Ledger], error) {
	page := wire.Page[wire.Ledger]{Items: []wire.Ledger{}}
	before, there, err := openNumberCursor(in.After, "l")
	if err != nil || there && before <= 1 {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		if _, err := v.Replica(catalog.ReplicaName(in.Name)); err != nil {
			return fmt.Errorf("replica %s: %w", in.Name, err)
		}
		all, err := v.Ledgers(catalog.ReplicaName(in.Name), before, in.Limit+1)
		if err != nil {
			return err
		}
		if len(all) > in.Limit {
			all = all[:in.Limit]
			page.Next = makeNumberCursor("l", all[in.Limit-1].Serial)
		}
		for _, l := range all {
			one, err := ledgerOf(v, l)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, one)
		}
		return nil
	})
	return page, err
}

func ledgerOf(v catalog.View, l agreed.Ledger) (wire.Ledger, error) {
	out := wire.Ledger{Replica: string(l.Replica), Serial: l.Serial, Name: string(l.Name), SHA256: l.SHA256.String(),
		Time: l.Time.Std(), Recorded: l.Recorded.Std(), Node: string(l.Node), By: l.By, Files: l.Files, Bytes: l.Bytes,
		Missing: l.Missing, First: l.First, Last: l.Last, Signed: []wire.LedgerSigner{},
		Unsigned: []wire.LedgerUnsigning{}}
	members, err := v.Members()
	names := map[catalog.NodeID]string{}
	for _, m := range members {
		names[m.ID] = m.Name
	}
	for _, id := range l.Signed {
		out.Signed = append(out.Signed, wire.LedgerSigner{Node: string(id), Name: names[id]})
	}
	for _, r := range l.Unsigned {
		out.Unsigned = append(out.Unsigned, wire.LedgerUnsigning{
			LedgerSigner: wire.LedgerSigner{Node: string(r.Node), Name: names[r.Node]}, Reason: r.Reason})
	}
	return out, err
}

// oldAfter is how old the newest ledger of a replica may be.
const oldAfter = 3 * 24 * time.Hour

// ledgersOld says which replicas with bytes have an old ledger, or none although they are old enough to have one.
func ledgersOld(v catalog.View, now time.Time) (out []alert.Alert, err error) {
	c, err := v.Cluster()
	if errors.Is(err, catalog.ErrNotFound) || err == nil && c.Level < agreed.LevelOfLedgers {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	replicas, err := v.Replicas()
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		newest, err := v.NewestLedger(r.Name)
		if err != nil {
			return nil, err
		}
		since := newest.Recorded
		if newest.Serial == 0 {
			totals, err := v.Totals(r.Name)
			if err != nil {
				return nil, err
			}
			if totals.Good == 0 {
				continue
			}
			since = r.Created
		}
		age := now.Sub(since.Std())
		switch {
		case r.Kind != catalog.Bitarchive || age <= oldAfter:
		case newest.Serial == 0:
			out = append(out, alert.New(alert.LedgerNone, string(r.Name)))
		default:
			out = append(out, alert.New(alert.LedgerOld, string(r.Name), "days", alert.Number(age/(24*time.Hour))))
		}
	}
	return out, nil
}
