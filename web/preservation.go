package web

import (
	"context"
	"errors"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/words"
)

// preservationPage is how the copies of each replica are, by the checks that were made, and the audits that go on.
type preservationPage struct {
	Replicas []wire.ReplicaChecks `json:"replicas"`
	Read     bool                 `json:"read"`   // the replicas are known
	Audits   []wire.Audit         `json:"audits"` // that have not ended, of the newest
	Audited  bool                 `json:"audited"`
	Silent   []wire.SilentNode    `json:"silent"`  // nodes that did not say which audits they carry out
	Waiting  *int                 `json:"waiting"` // proposals that wait for a second person; nil: not known
}

func (p *preservationPage) lines() (items any, next string, read bool) { return p.Replicas, "", p.Read }

func showPreservation(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "audit")
	p := &preservationPage{}
	v.ask(ctx, "web.replicas", later, func(ctx context.Context) (err error) {
		p.Replicas, err = v.api.Replicas().AllChecks(ctx)
		p.Read = err == nil
		return err
	})
	v.ask(ctx, "web.part-audits", later, func(ctx context.Context) error {
		found, err := v.api.Audits().Page(ctx, "", "", client.Place{Limit: onePage})
		for _, a := range found.Items {
			if a.Ended.IsZero() {
				p.Audits = append(p.Audits, a)
			}
		}
		p.Audited, p.Silent = err == nil, found.Silent
		return err
	})
	v.ask(ctx, "web.approvals", soon, func(ctx context.Context) error {
		found, err := v.api.Approvals().List(ctx, true)
		if err == nil {
			n := len(found)
			p.Waiting = &n
		}
		return err
	})
	v.wait()
	return p, nil
}

// ofCopies are the words for what is known of copies, shards, ledgers and proposals. The templates call its methods.
type ofCopies struct{ in *words.Language }

// WaitingNow is Waiting, for the template.
func (p *preservationPage) WaitingNow() int { return *p.Waiting }

// replicaPage is what the page of one replica shows.
type replicaPage struct {
	Checks *wire.ReplicaChecks `json:"checks"` // nil: not known
	Shards *shardMap           `json:"shards"` // nil: not known
}

func showReplica(ctx context.Context, v *visit) (any, error) {
	name := v.given["name"]
	v.about = name
	p := &replicaPage{}
	var missing error
	v.ask(ctx, "web.replica", later, func(ctx context.Context) error {
		found, err := v.api.Replicas().Checks(ctx, name)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Checks = &found
		}
		return err
	})
	var shards *wire.Page[wire.Shard]
	v.ask(ctx, "web.shards", soon, func(ctx context.Context) error {
		found, err := v.api.Replicas().ShardsPage(ctx, name, client.Place{Limit: wire.Shards})
		if err == nil {
			shards = &found
		}
		return here(err)
	})
	if st := v.known(); shards != nil && missing == nil {
		p.Shards = mapOf(shards.Items, st)
	}
	v.offer("new", "audit")
	if p.Checks != nil && p.Checks.Kind == wire.Bitarchive {
		v.offer("replicas", name, "ledger")
	}
	v.offer("replicas", name, "remove")
	return p, missing
}

// copyFaults is how many copies of a replica have a fault.
type copyFaults struct {
	Replica, State string
	Count          int64
	Bad            bool
	AtLeast        bool // not all were looked at
}

// Fault counts the copies of a replica that are missing, corrupt, owed or disputed.
func (ofCopies) Fault(r wire.ReplicaChecks, state string) copyFaults {
	f := copyFaults{Replica: r.Name, State: state}
	switch state {
	case "missing":
		f.Count, f.Bad, f.AtLeast = r.Missing, true, r.Partly
	case "corrupt":
		f.Count, f.Bad, f.AtLeast = r.Changed, true, r.Partly
	case "owed":
		f.Count = r.Owed
	case "disputed":
		f.Count = r.Disputed
	}
	return f
}

// Check returns how the last checks of a kind were, nil if that is not told.
func (ofCopies) Check(all []wire.ReplicaCheck, kind string) *wire.ReplicaCheck {
	for i := range all {
		if all[i].Kind == kind {
			return &all[i]
		}
	}
	return nil
}

// CheckKind names a kind of checks.
func (l ofCopies) CheckKind(kind string) string {
	switch kind {
	case "checksum":
		return l.in.Text("web.check-checksum")
	case "presence":
		return l.in.Text("web.check-presence")
	case "challenge":
		return l.in.Text("web.check-challenge")
	}
	return kind
}

// Covered marks whether a kind of checks has covered all that it is for.
func (l ofCopies) Covered(of any) mark {
	c, _ := of.(wire.ReplicaCheck)
	if p, is := of.(*wire.ReplicaCheck); is {
		c = *p
	}
	switch {
	case c.Checked == 0:
		return mark{"look", l.in.Text("web.check-never")}
	case c.Never > 0 || c.Missed > 0:
		return mark{"look", l.in.Text("web.check-partly")}
	case c.Findings > 0:
		return mark{"look", l.in.Text("web.check-findings")}
	}
	return mark{"good", l.in.Text("web.check-whole")}
}

func askAudit(ctx context.Context, v *visit) (*form, error) {
	replicas, err := v.api.Replicas().List(ctx)
	f := &form{Help: "web.audit-run-help"}
	var bytes, files int64
	for _, r := range replicas {
		if files += r.Files; r.Kind == wire.Bitarchive {
			bytes += r.Bytes
		}
	}
	f.Effects = []said{{"web.effect-audit", []any{"count", files, "size", size(bytes)}}}
	return f.add(field{Name: "replica", Label: "web.replica", Kind: choose, Value: v.query.Get("replica"),
		Options: namedOptions("web.all-replicas",
			namesOf(replicas, func(r wire.Replica) string { return r.Name }))},
		field{Name: "kind", Label: "web.kind", Kind: choose, Value: "checksum", Help: "web.audit-kind-help",
			Options: []option{{"checksum", "web.check-checksum"}, {"presence", "web.check-presence"},
				{"challenge", "web.check-challenge"}}},
		field{Name: "shard", Label: "web.shard", Most: 3, Help: "web.audit-shard-help"},
		field{Name: "prefix", Label: "web.prefix", Most: 255},
		field{Name: "files", Label: "web.files", Kind: area, Help: "web.audit-files-help"}), err
}

func runAudit(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.AuditRequest{Replica: f.text("replica"), Shard: f.text("shard"), Prefix: f.text("prefix"),
		Files: f.lines("files")}
	if kind := f.text("kind"); kind != "checksum" { // the default, which every level knows
		in.Kind = kind
	}
	_, err := v.api.Audits().Start(ctx, in)
	return outcome{Next: "/audits", Notes: []said{{Key: "web.did-audit"}}}, err
}
