package web

import (
	"context"
	"errors"
	"slices"

	"holdfast/api/wire"
)

// joinPage is what the page of the join tokens shows. The text of a token is in none of it.
type joinPage struct {
	listed[wire.JoinToken]
	nodes map[string]string // names by id
}

// Named returns what a node is called, or its id when that is not known.
func (p *joinPage) Named(node string) string { return called(p.nodes[node], node) }

func showJoinTokens(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "join-token")
	p := &joinPage{nodes: map[string]string{}}
	v.ask(ctx, "web.join-tokens", soon, func(ctx context.Context) error {
		all, err := v.api.Invites().List(ctx)
		return p.set(wire.Page[wire.JoinToken]{Items: all}, err)
	})
	if st := v.known(); st != nil {
		for i := range st.Nodes {
			p.nodes[st.Nodes[i].ID] = st.Nodes[i].Name
		}
	}
	return p, nil
}

// JoinToken marks whether a join token can be used.
func (l ofCopies) JoinToken(s string) mark {
	switch s {
	case "open":
		return mark{"work", l.in.Text("web.token-open")}
	case "used":
		return mark{"quiet", l.in.Text("web.token-used")}
	case "expired":
		return mark{"quiet", l.in.Text("web.token-expired")}
	case "revoked":
		return mark{"quiet", l.in.Text("web.token-revoked")}
	}
	return mark{"look", s}
}

func askJoinToken(ctx context.Context, v *visit) (*form, error) {
	replicas, err := v.api.Replicas().List(ctx)
	one := field{Name: "replica", Label: "web.replica", Kind: choose, Need: true, Value: v.query.Get("replica")}
	for _, r := range replicas {
		one.Options = append(one.Options, option{Value: r.Name})
	}
	if one.Value == "" && len(replicas) > 0 {
		one.Value = replicas[0].Name
	}
	f := &form{Help: "web.join-help"}
	return f.add(one, field{Name: "lifetime", Label: "web.lifetime", Help: "web.join-lifetime-help", Most: 20}), err
}

// makeJoinToken shows the command with the token once, to who made it.
func makeJoinToken(ctx context.Context, v *visit, f *form) (outcome, error) {
	made, err := v.api.Invites().Create(ctx, wire.JoinTokenRequest{Replica: f.text("replica"),
		Lifetime: f.text("lifetime")})
	return outcome{Next: "/join-tokens", Text: "holdfast join --config cluster.toml --node NAME " + made.Text,
		Notes: []said{{"web.did-join-token", []any{"replica", made.Replica, "when", made.Expires}},
			{Key: "web.did-join-type"}}}, err
}

// joinToken finds a token that was not used yet.
func (v *visit) joinToken(ctx context.Context) (wire.JoinToken, error) {
	all, err := v.api.Invites().List(ctx)
	if err != nil {
		return wire.JoinToken{}, err
	}
	i := slices.IndexFunc(all, func(t wire.JoinToken) bool { return t.ID == v.given["id"] })
	if i < 0 {
		return wire.JoinToken{}, wire.ErrNotFound
	}
	return all[i], nil
}

func askRevokeJoin(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["id"]
	t, err := v.joinToken(ctx)
	f := &form{Help: "web.join-revoke-help", Effects: []said{{"web.effect-join-token", []any{"replica", t.Replica,
		"when", t.Expires}}}}
	if t.State == "used" {
		f.Faults = append(f.Faults, formFault{Message: "web.join-used"})
	}
	return f, err
}

func revokeJoin(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/join-tokens", Notes: []said{{Key: "web.did-join-revoke"}}},
		v.api.Invites().Revoke(ctx, v.given["id"])
}

// again takes what the archive asks to be confirmed into the form: it has said what an act would do, and carries it
// out when it is sent again.
func (f *form) again(err error) {
	var answered *wire.Error
	if errors.As(err, &answered) && answered.Code == wire.CodeUnconfirmed {
		f.field("shown").Value = answered.Confirm
		f.Faults = append(f.Faults, formFault{Message: "web.press-again"})
	}
}
