package web

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"holdfast/api/wire"
)

// approvalsPage is what the page of acts that wait for a second person shows.
type approvalsPage struct {
	Proposals listed[wire.Approval] `json:"proposals"`
	Rule      *wire.ApprovalRule    `json:"rule"` // which acts wait; nil: not known
}

func (p *approvalsPage) lines() (items any, next string, read bool) { return p.Proposals.lines() }

func showApprovals(ctx context.Context, v *visit) (any, error) {
	p := &approvalsPage{}
	waiting := v.query.Get("state") != "all"
	v.ask(ctx, "web.approvals", soon, func(ctx context.Context) error {
		all, err := v.api.Approvals().List(ctx, waiting)
		if !waiting {
			slices.Reverse(all) // the newest first
		}
		return p.Proposals.set(wire.Page[wire.Approval]{Items: all}, err)
	})
	v.ask(ctx, "web.approval-rule", soon, func(ctx context.Context) error {
		rule, err := v.api.Approvals().Rule(ctx)
		if err == nil {
			p.Rule = &rule
		}
		return err
	})
	v.wait()
	v.offer("approval-rule", "edit")
	return p, nil
}

func showApproval(ctx context.Context, v *visit) (any, error) {
	v.about = v.given["id"]
	id, err := v.id("id")
	if err != nil {
		return nil, err
	}
	var out *wire.Approval
	var missing error
	v.ask(ctx, "web.approval", soon, func(ctx context.Context) error {
		a, err := v.api.Approvals().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			out = &a
		}
		return err
	})
	v.wait()
	return out, missing
}

// ApprovalActs are what the reader may do about a proposal that waits: who proposed it takes it back, and nobody else
// does; who did not decides about it.
func (v *view) ApprovalActs(a wire.Approval) (out []offered) {
	switch {
	case v.Who == nil || a.Person == "" || v.Who.Person == "":
		return nil
	case a.Person == v.Who.Person && (a.State == "waiting" || a.State == "stale"):
		return v.May("approvals", a.ID, "withdraw")
	case a.Person != v.Who.Person && a.State == "waiting":
		return append(v.May("approvals", a.ID, "grant"), v.May("approvals", a.ID, "deny")...)
	}
	return nil
}

// Own reports whether the reader proposed it.
func (v *view) Own(a wire.Approval) bool {
	return v.Who != nil && v.Who.Person != "" && v.Who.Person == a.Person
}

// ApprovalState marks how far a proposal is.
func (l ofCopies) ApprovalState(s string) mark {
	switch s {
	case "waiting":
		return mark{"look", l.in.Text("web.approval-waiting")}
	case "stale":
		return mark{"quiet", l.in.Text("web.approval-stale")}
	case "expired":
		return mark{"quiet", l.in.Text("web.approval-expired")}
	case "granted":
		return mark{"good", l.in.Text("web.approval-granted")}
	case "denied":
		return mark{"bad", l.in.Text("web.approval-denied")}
	case "withdrawn":
		return mark{"quiet", l.in.Text("web.approval-withdrawn")}
	}
	return mark{"quiet", s}
}

// waitingActs are the acts that can be made to wait for a second person, with the messages that name them.
func waitingActs() []option {
	return []option{{"file-remove", "web.waits-file-remove"}, {"file-lost", "web.waits-file-lost"},
		{"file-checksum", "web.waits-file-checksum"}, {"copy-replace", "web.waits-copy-replace"},
		{"copy-state", "web.waits-copy-state"}, {"node-lost", "web.waits-node-lost"},
		{"replica-remove", "web.waits-replica-remove"}, {"replica-narrow", "web.waits-replica-narrow"},
		{"quarantine-delete", "web.waits-quarantine-delete"}}
}

// Waits names an act that waits for a second person.
func (l ofCopies) Waits(class string) string {
	for _, o := range waitingActs() {
		if o.Value == class {
			return l.in.Text(o.Label)
		}
	}
	if class == "rule-change" {
		return l.in.Text("web.waits-rule-change")
	}
	return class
}

// askApproval is the form of a decision about a proposal, with all that it will do. Only one that waits can be decided
// about: by others if it is to be granted or denied, by its proposer if it is to be withdrawn.
func askApproval(help string, own, grave, why bool) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		v.about = v.given["id"]
		id, err := v.id("id")
		if err != nil {
			return nil, err
		}
		a, err := v.api.Approvals().Show(ctx, id)
		if err != nil {
			return nil, err
		}
		f := &form{Help: help, Grave: grave, Effects: []said{
			{"web.effect-approval", []any{"subject", a.Subject, "person", a.PersonName, "when", a.Made}},
			{"web.effect-approval-files", []any{"count", a.Files, "size", size(a.Bytes)}}}}
		for _, effect := range a.Effects {
			f.Effects = append(f.Effects, said{"web.effect-approval-does", []any{"what", effect}})
		}
		if grave {
			f.Confirm = a.Subject
		}
		mine := v.person != "" && v.person == a.Person
		switch {
		case mine && !own:
			f.Faults = append(f.Faults, formFault{Message: "web.approval-own"})
		case own && !mine:
			f.Faults = append(f.Faults, formFault{Message: "web.approval-not-own"})
		}
		if a.State != "waiting" && !(own && a.State == "stale") {
			f.Faults = append(f.Faults, formFault{Message: "web.approval-over"})
		}
		return f.add(field{Name: "sum", Kind: hidden, Value: a.Sum}, reason(why)), nil
	}
}

// decide carries out a decision. What it became is what the archive says then.
func decide(how string) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		id, err := v.id("id")
		if err != nil {
			return outcome{}, err
		}
		in := wire.ApprovalDecision{Sum: f.text("sum"), Reason: f.text("reason")}
		var now wire.Approval
		switch how {
		case "grant":
			now, err = v.api.Approvals().Grant(ctx, id, in)
		case "deny":
			now, err = v.api.Approvals().Deny(ctx, id, in)
		default:
			now, err = v.api.Approvals().Withdraw(ctx, id, in)
		}
		out := outcome{Next: way("approvals", v.given["id"])}
		switch now.State {
		case "granted":
			out.Notes = []said{{Key: "web.did-grant"}}
		case "denied":
			out.Notes = []said{{Key: "web.did-deny"}}
		case "withdrawn":
			out.Notes = []said{{Key: "web.did-withdraw-approval"}}
		default:
			out.Notes = []said{{Key: "web.did-decide-unknown"}}
		}
		return out, err
	}
}

func askApprovalRule(ctx context.Context, v *visit) (*form, error) {
	rule, err := v.api.Approvals().Rule(ctx)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.approval-rule-help", Send: "web.save"}
	if len(rule.Acts) > 0 {
		f.Effects = []said{{Key: "web.effect-rule-waits"}}
	}
	for _, o := range waitingActs() {
		one := field{Name: "a." + o.Value, Label: o.Label, Kind: check, Wire: "acts"}
		if slices.Contains(rule.Acts, o.Value) {
			one.Value = "yes"
		}
		f.add(one)
	}
	other := field{Name: "otherPlace", Label: "web.other-place", Kind: check}
	if rule.OtherPlace {
		other.Value = "yes"
	}
	return f.add(other, field{Name: "limit", Label: "web.approval-limit", Value: rule.Limit, Most: 10,
		Help: "web.approval-limit-help"}, versioned(rule.Version), reason(true)), nil
}

func setApprovalRule(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.ApprovalRuleRequest{Acts: []string{}, OtherPlace: f.ticked("otherPlace"), Limit: f.text("limit"),
		Reason: f.text("reason")}
	for _, o := range waitingActs() {
		if f.ticked("a." + o.Value) {
			in.Acts = append(in.Acts, o.Value)
		}
	}
	in.Version, _ = strconv.ParseUint(f.text("version"), 10, 64)
	rule, err := v.api.Approvals().SetRule(ctx, in)
	return outcome{Next: "/approvals", Notes: []said{{"web.did-rule", []any{"count", len(rule.Acts)}}}}, err
}
