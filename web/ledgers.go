package web

import (
	"context"
	"fmt"
	"slices"

	"holdfast/api/wire"
	"holdfast/client"
)

// ledgersPage is what the page of a replica's ledgers shows.
type ledgersPage struct {
	Replica string              `json:"replica"` // empty: there is none with bytes, or it is not known
	Ledgers listed[wire.Ledger] `json:"ledgers"`
	Making  []wire.LedgerMaking `json:"making"` // on each node of the replica
	Choices []string            `json:"-"`      // replicas that make ledgers
	nodes   map[string]string   // names by id
}

// Named returns what a node is called, or its id when that is not known.
func (p *ledgersPage) Named(node string) string { return called(p.nodes[node], node) }

func (p *ledgersPage) lines() (items any, next string, read bool) { return p.Ledgers.lines() }

// Silent are the nodes that did not say how their ledger stands.
func (p *ledgersPage) Silent() (out []wire.SilentNode) {
	for _, m := range p.Making {
		if m.State == "unreachable" {
			out = append(out, wire.SilentNode{Name: p.Named(m.Node), Reason: m.Detail})
		}
	}
	return out
}

// Going are the ledgers that are being made, and those that could not be.
func (p *ledgersPage) Going() (out []wire.LedgerMaking) {
	for _, m := range p.Making {
		if m.State == "running" || m.State == "failed" {
			out = append(out, m)
		}
	}
	return out
}

// showLedgers shows the ledgers of the replica that is asked for, else of the first one with bytes.
func showLedgers(ctx context.Context, v *visit) (any, error) {
	p := &ledgersPage{Replica: v.query.Get("replica")}
	if st := v.known(); st != nil {
		p.nodes = map[string]string{}
		for i := range st.Nodes {
			p.nodes[st.Nodes[i].ID] = st.Nodes[i].Name
		}
		for _, r := range st.Replicas {
			if r.Kind == wire.Bitarchive {
				p.Choices = append(p.Choices, r.Name)
			}
		}
		if p.Replica == "" && len(p.Choices) > 0 {
			p.Replica = p.Choices[0]
		}
	}
	if p.Replica == "" {
		return p, nil
	}
	if !slices.Contains(p.Choices, p.Replica) {
		p.Choices = append(p.Choices, p.Replica)
	}
	v.ask(ctx, "web.ledgers", soon, func(ctx context.Context) error {
		return p.Ledgers.set(v.api.Ledgers().Page(ctx, p.Replica, v.at()))
	})
	v.ask(ctx, "web.ledger-making", later, func(ctx context.Context) (err error) {
		p.Making, err = v.api.Ledgers().Making(ctx, p.Replica)
		return err
	})
	v.wait()
	v.offer("replicas", p.Replica, "ledger")
	return p, nil
}

// Commands are how a ledger is fetched and checked.
func (p *ledgersPage) Commands() []string {
	if len(p.Ledgers.Items) == 0 {
		return nil
	}
	l := p.Ledgers.Items[0]
	return []string{"holdfast ledger signers > signers.txt",
		fmt.Sprintf("holdfast ledger get %d --replica %s --out ledger", l.Serial, l.Replica),
		"holdfast ledger check --signers signers.txt ledger/" + l.Name + " DATA"}
}

// LedgerMaking marks how a ledger stands that a node makes.
func (l ofCopies) LedgerMaking(s string) mark {
	switch s {
	case "running":
		return mark{"work", l.in.Text("web.ledger-running")}
	case "failed":
		return mark{"bad", l.in.Text("web.ledger-failed")}
	}
	return mark{"quiet", s}
}

func askLedger(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	r, err := v.api.Replicas().Show(ctx, v.given["name"])
	return &form{Help: "web.ledger-help", Effects: []said{
		{"web.effect-ledger", []any{"count", r.Good, "size", size(r.Bytes)}}}}, err
}

func makeLedger(ctx context.Context, v *visit, _ *form) (outcome, error) {
	_, err := v.api.Ledgers().Make(ctx, v.given["name"])
	return outcome{Next: "/ledgers?replica=" + escape(v.given["name"]), Notes: []said{{Key: "web.did-ledger"}}}, err
}

// backupsPage is what the page of the backups of the catalog shows: of the node that answers, and of no other.
type backupsPage struct {
	Backups *wire.CatalogBackups `json:"backups"` // nil: not known
}

func (p *backupsPage) lines() (items any, next string, read bool) {
	if p.Backups == nil {
		return []wire.CatalogBackup{}, "", false
	}
	return p.Backups.Items, "", true
}

func showBackups(ctx context.Context, v *visit) (any, error) {
	p := &backupsPage{}
	v.ask(ctx, "web.backups", soon, func(ctx context.Context) error {
		found, err := client.CatalogOf(v.api).Backups(ctx)
		if err == nil {
			p.Backups = &found
		}
		return err
	})
	v.wait()
	return p, nil
}
