package web

import (
	"context"
	"strconv"

	"holdfast/api/wire"
	"holdfast/client"
)

// removedPage is what the page of the removed files shows that can be restored.
type removedPage struct {
	listed[wire.File]
	Rule *wire.RemovalRule `json:"rule"` // nil: not known
}

// Days is for how many days a file that is removed now can be restored.
func (p *removedPage) Days() int { return p.Rule.Days }

func showRemoved(ctx context.Context, v *visit) (any, error) {
	v.offer("removal-rule", "edit")
	p := &removedPage{}
	v.ask(ctx, "web.removed-files", soon, func(ctx context.Context) error {
		q := client.FileQuery{Prefix: v.query.Get("prefix"), Collection: v.query.Get("collection"), State: "hidden"}
		return p.set(v.api.Files().Page(ctx, q, v.at()))
	})
	v.ask(ctx, "web.removal-rule", soon, func(ctx context.Context) error {
		rule, err := v.api.Files().RemovalRule(ctx)
		if err == nil {
			p.Rule = &rule
		}
		return err
	})
	v.wait()
	return p, nil
}

// askRestoreFile has the SHA-256 of the file that is shown: another one is not restored.
func askRestoreFile(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.file-restore-help"}
	switch {
	case file.Removed.IsZero():
		f.Faults = []formFault{{Message: "web.not-removed"}}
	case file.Until.IsZero():
		f.Faults = []formFault{{Message: "web.removed-for-good"}}
	default:
		f.Effects = []said{{"web.effect-file-size", []any{"size", size(file.Size)}},
			{"web.effect-restorable", []any{"when", file.Until}}}
	}
	return f.add(field{Name: "sha256", Kind: hidden, Value: file.SHA256}, reason(true)), nil
}

// restoreFile says what the file is after it was restored: it may be lost, or lack copies.
func restoreFile(ctx context.Context, v *visit, f *form) (outcome, error) {
	file, err := v.api.Files().Restore(ctx, v.given["name"], wire.FileRestoration{SHA256: f.text("sha256"),
		Reason: f.text("reason")})
	out := outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-restore-file"}}}
	switch {
	case !file.Lost.IsZero():
		out.Notes = append(out.Notes, said{Key: "web.did-restore-lost"})
	case !file.Complete:
		out.Notes = append(out.Notes, said{Key: "web.did-restore-incomplete"})
	}
	return out, err
}

func askRemovalRule(ctx context.Context, v *visit) (*form, error) {
	rule, err := v.api.Files().RemovalRule(ctx)
	f := &form{Help: "web.removal-rule-help", Send: "web.save"}
	return f.add(field{Name: "days", Label: "web.days", Kind: number, Need: true, Value: strconv.Itoa(rule.Days)},
		versioned(rule.Version), reason(true)), err
}

func setRemovalRule(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.RemovalRuleRequest{Reason: f.text("reason")}
	if n := f.number("days"); n != nil {
		in.Days = int(*n)
	}
	if n := f.version(); n != nil {
		in.Version = *n
	}
	rule, err := v.api.Files().SetRemovalRule(ctx, in)
	did := said{"web.did-removal-rule", []any{"count", rule.Days}}
	if rule.Days == 0 {
		did = said{Key: "web.removal-at-once"}
	}
	return outcome{Next: "/removed", Notes: []said{did}}, err
}
