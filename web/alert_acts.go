package web

import (
	"context"
	"time"

	"holdfast/alert"
	"holdfast/api/wire"
)

// alertActs are what people do about alerts.
func alertActs() []action {
	const section, curator = "web.section-system", wire.RoleCurator
	return []action{
		{path: "/alerts/acknowledge", title: "web.act-acknowledge", section: section, once: true, role: curator,
			ask: askAcknowledge, do: acknowledge},
		{path: "/alerts/withdraw", title: "web.act-withdraw", section: section, once: true, role: curator,
			ask: askWithdraw, do: withdraw},
	}
}

// AlertActs returns what the reader may do about an alert: say that she knows of it, or take that back.
func (v *view) AlertActs(a wire.Alert) []offered {
	needs := wire.RoleOperator
	if alert.Kind(a.Kind).Archivists() {
		needs = wire.RoleCurator
	}
	if v.Who == nil || !includes(v.Who.Role, needs) {
		return nil
	}
	path := "/alerts/acknowledge"
	if a.Acknowledged != nil {
		path = "/alerts/withdraw"
	}
	return v.offers(v.acts, []string{path + "?kind=" + escape(a.Kind) + "&node=" + escape(a.Node) + "&subject=" +
		escape(a.Subject)})
}

// knownFor is for how long an alert is acknowledged, if nothing else is typed.
const knownFor = 72 * time.Hour

// alertForm is a form about the alert that a link names.
func alertForm(v *visit, help string) *form {
	f := &form{Help: help}
	for _, name := range []string{"kind", "node", "subject"} {
		f.add(field{Name: name, Kind: hidden, Value: v.query.Get(name)})
	}
	if v.about = v.query.Get("subject"); v.about == "" {
		v.about = v.query.Get("kind")
	}
	return f
}

func alertOf(f *form) wire.AlertRef {
	return wire.AlertRef{Kind: f.text("kind"), Node: f.text("node"), Subject: f.text("subject")}
}

func askAcknowledge(_ context.Context, v *visit) (*form, error) {
	return alertForm(v, "web.acknowledge-help").add(
		field{Name: "note", Label: "web.note", Need: true, Most: 500, Help: "web.acknowledge-note-help"},
		field{Name: "until", Label: "web.until", Kind: when, Need: true,
			Value: localOf(v.now.Add(knownFor), v.zone), Help: "web.acknowledge-until-help"}), nil
}

func acknowledge(ctx context.Context, v *visit, f *form) (outcome, error) {
	until, err := f.moment("until", v.zone)
	if err != nil {
		return outcome{}, err
	}
	_, err = v.api.Acknowledge(ctx, wire.AcknowledgeRequest{AlertRef: alertOf(f), Note: f.text("note"), Until: until})
	return outcome{Next: "/alerts", Notes: []said{{Key: "web.did-acknowledge"}}}, err
}

func askWithdraw(_ context.Context, v *visit) (*form, error) {
	return alertForm(v, "web.withdraw-help"), nil
}

func withdraw(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/alerts", Notes: []said{{Key: "web.did-withdraw"}}}, v.api.Withdraw(ctx, alertOf(f))
}
