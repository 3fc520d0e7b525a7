package web

import (
	"context"
	"strconv"

	"holdfast/api/wire"
)

func askInvite(context.Context, *visit) (*form, error) {
	f := &form{Help: "web.invite-help"}
	return f.add(field{Name: "name", Label: "web.name", Need: true, Most: 100, Help: "web.person-name-help"},
		field{Name: "mail", Label: "web.mail", Need: true, Most: 254},
		field{Name: "institution", Label: "web.institution", Most: 64},
		field{Name: "language", Label: "web.language", Kind: choose, Options: []option{{"", "web.as-browser"},
			{Value: "en"}, {Value: "da"}, {Value: "it"}, {Value: "fr"}, {Value: "de"}}},
		field{Name: "zone", Label: "web.time-zone", Most: 64, Help: "web.zone-help"},
		field{Name: "lifetime", Label: "web.lifetime", Help: "web.lifetime-help", Most: 20}), nil
}

func invite(ctx context.Context, v *visit, f *form) (outcome, error) {
	made, err := v.api.People().Invite(ctx, wire.PersonRequest{Name: f.text("name"), Mail: f.text("mail"),
		Institution: f.text("institution"), Language: f.text("language"), Zone: f.text("zone"),
		Lifetime: f.text("lifetime")})
	return invited(made), err
}

// invited leads to the person, where the link of the invitation is shown to whoever invited her.
func invited(made wire.Invitation) outcome {
	text := made.URL
	if text == "" {
		text = made.Text
	}
	return outcome{Next: way("people", made.Person.ID), Text: text,
		Notes: []said{{"web.did-invite", []any{"person", made.Person.Name, "when", made.Expires}}}}
}

func askOfPerson(ctx context.Context, v *visit) (wire.Person, error) {
	p, err := v.api.People().Show(ctx, v.given["id"])
	v.about = p.Name
	return p, err
}

func askInviteAgain(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfPerson(ctx, v)
	f := &form{Help: "web.invite-again-help"}
	return f.add(field{Name: "lifetime", Label: "web.lifetime", Help: "web.lifetime-help", Most: 20}), err
}

func inviteAgain(ctx context.Context, v *visit, f *form) (outcome, error) {
	made, err := v.api.People().InviteAgain(ctx, v.given["id"], wire.AgainRequest{Lifetime: f.text("lifetime")})
	return invited(made), err
}

func askDisable(ctx context.Context, v *visit) (*form, error) {
	p, err := askOfPerson(ctx, v)
	open := 0
	for _, g := range p.Grants {
		if g.State == "open" {
			open++
		}
	}
	f := &form{Help: "web.disable-help", Confirm: p.Name, Grave: true,
		Effects: []said{{"web.effect-grants", []any{"count", open}}}}
	return f.add(reason(true)), err
}

func disable(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.People().Disable(ctx, v.given["id"], f.text("reason"))
	return outcome{Next: way("people", v.given["id"])}, err
}

func askEnable(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfPerson(ctx, v)
	return (&form{}).add(reason(true)), err
}

func enable(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.People().Enable(ctx, v.given["id"], f.text("reason"))
	return outcome{Next: way("people", v.given["id"])}, err
}

func askGrant(ctx context.Context, v *visit) (*form, error) {
	if _, err := askOfPerson(ctx, v); err != nil {
		return nil, err
	}
	collections, err := collectionsOf(ctx, v)
	f := &form{Help: "web.grant-help"}
	return f.add(field{Name: "role", Label: "web.role", Kind: choose, Need: true, Value: string(wire.RoleReader),
		Options: []option{{"reader", "web.role-reader"}, {"curator", "web.role-curator"},
			{"operator", "web.role-operator"}, {"admin", "web.role-admin"}}},
		field{Name: "collection", Label: "web.only-collection", Kind: choose, Help: "web.only-collection-help",
			Options: namedOptions("web.whole-archive", collections)},
		field{Name: "place", Label: "web.only-place", Most: 64, Help: "web.only-place-help"},
		field{Name: "until", Label: "web.until", Kind: when}, reason(false)), err
}

func grant(ctx context.Context, v *visit, f *form) (outcome, error) {
	until, err := f.moment("until", v.zone)
	if err != nil {
		return outcome{}, err
	}
	_, err = v.api.Grants().Give(ctx, wire.GrantRequest{Person: v.given["id"], Role: wire.Role(f.text("role")),
		Collection: f.text("collection"), Place: f.text("place"), Until: until, Reason: f.text("reason")})
	return outcome{Next: way("people", v.given["id"])}, err
}

func askEndGrant(ctx context.Context, v *visit) (*form, error) {
	p, err := askOfPerson(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, g := range p.Grants {
		if strconv.FormatUint(g.ID, 10) == v.given["grant"] {
			f := &form{Help: "web.end-grant-help"}
			return f.add(field{Name: "role", Label: "web.role", Kind: choose, Value: string(g.Role), Options: []option{
				{string(g.Role), roleWord(g.Role)}}}, reason(true)), nil
		}
	}
	return nil, wire.ErrNotFound
}

// roleWord is the message that names a role.
func roleWord(r wire.Role) string {
	switch r {
	case wire.RoleAdmin:
		return "web.role-admin"
	case wire.RoleOperator:
		return "web.role-operator"
	case wire.RoleCurator:
		return "web.role-curator"
	}
	return "web.role-reader"
}

func endGrant(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("grant")
	if err != nil {
		return outcome{}, err
	}
	_, err = v.api.Grants().End(ctx, id, f.text("reason"))
	return outcome{Next: way("people", v.given["id"])}, err
}

func askUnlink(ctx context.Context, v *visit) (*form, error) {
	p, err := askOfPerson(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, i := range p.Identities {
		if i.ID == v.given["identity"] {
			f := &form{Help: "web.unlink-help"}
			return f.add(field{Name: "subject", Label: "web.account", Kind: choose, Value: i.Subject,
				Options: namedOptions("", []string{i.Subject})[1:]}, reason(true)), nil
		}
	}
	return nil, wire.ErrNotFound
}

func unlink(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.People().Unlink(ctx, v.given["id"], v.given["identity"], f.text("reason"))
	return outcome{Next: way("people", v.given["id"])}, err
}

func askOfAudit(help string) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		a, err := v.api.Audits().Show(ctx, v.given["id"])
		f := &form{Help: help, Effects: []said{{"web.effect-audit-read", []any{"count", a.Files, "all", a.Total}}}}
		return f.add(reason(false)), err
	}
}

func wishAudit(wish wire.Wish) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		_, err := v.api.Audits().Wish(ctx, v.given["id"], wish, f.text("reason"))
		return outcome{Next: "/audits"}, err
	}
}

func askVerify(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	f := &form{Help: "web.verify-help", Effects: []said{{"web.effect-verify", []any{"count", len(file.Copies), "size",
		size(file.Size)}}}}
	return f.add(field{Name: "replica", Label: "web.replica", Kind: choose, Value: v.query.Get("replica"),
		Options: namedOptions("web.all-replicas",
			namesOf(file.Copies, func(c wire.Copy) string { return c.Replica }))}), err
}

// verify reads copies of a file again, and says for each what was found: right is only what was read and found so.
func verify(ctx context.Context, v *visit, f *form) (outcome, error) {
	var replicas []string
	if one := f.text("replica"); one != "" {
		replicas = []string{one}
	}
	all, err := v.api.Files().Verify(ctx, v.given["name"], replicas...)
	out := outcome{Next: way("files", v.given["name"])}
	for _, one := range all {
		about := []any{"replica", one.Replica}
		out.Notes = append(out.Notes, said{verified(one.State), about})
		switch one.Outbox {
		case "":
		case "ok":
			out.Notes = append(out.Notes, said{"web.verified-outbox-ok", about})
		default:
			out.Notes = append(out.Notes, said{"web.verified-outbox-bad", about})
		}
		if one.Detail != "" {
			out.Lines = append(out.Lines, one.Replica+": "+one.Detail)
		}
	}
	if len(all) == 0 {
		out.Notes = []said{{Key: "web.verified-none"}}
	}
	return out, err
}

// verified is the message of what re-reading a copy found.
func verified(state string) string {
	switch state {
	case "ok":
		return "web.verified-ok"
	case "corrupt":
		return "web.verified-corrupt"
	case "missing":
		return "web.verified-missing"
	case "away":
		return "web.verified-away"
	case "unreadable":
		return "web.verified-unreadable"
	}
	return "web.verified-unreachable"
}

func askOfNode(ctx context.Context, v *visit) (wire.Node, error) {
	v.about = v.given["name"]
	return v.api.Nodes().Show(ctx, v.given["name"])
}

func askDrain(ctx context.Context, v *visit) (*form, error) {
	n, err := askOfNode(ctx, v)
	f := &form{Help: "web.drain-help", Confirm: n.Name, Grave: true,
		Effects: []said{{"web.effect-drain", []any{"count", n.Shards, "replica", n.Replica}}}}
	return f.add(stage()), err
}

func drain(on bool) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		step := "undrain"
		if on {
			step = "drain"
		}
		return stageOr(f, outcome{Next: "/nodes"}, func() error {
			_, err := v.api.Nodes().Change(ctx, v.given["name"], wire.NodeChange{Draining: &on})
			return err
		}, func() (wire.LayoutChange, error) {
			return v.api.Nodes().Stage(ctx, v.given["name"], wire.NodeStaging{Step: step})
		})
	}
}

func askUndrain(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfNode(ctx, v)
	return &form{}, err
}

func askWeight(ctx context.Context, v *visit) (*form, error) {
	n, err := askOfNode(ctx, v)
	f := &form{Help: "web.weight-help", Send: "web.save",
		Effects: []said{{"web.effect-weight", []any{"count", n.Shards, "replica", n.Replica}}}}
	return f.add(field{Name: "weight", Label: "web.weight", Kind: number, Need: true,
		Value: strconv.Itoa(n.Weight)}, stage()), err
}

func weight(ctx context.Context, v *visit, f *form) (outcome, error) {
	var in wire.NodeChange
	to := 0
	if n := f.number("weight"); n != nil {
		to = int(*n)
		in.Weight = &to
	}
	return stageOr(f, outcome{Next: "/nodes"}, func() error {
		_, err := v.api.Nodes().Change(ctx, v.given["name"], in)
		return err
	}, func() (wire.LayoutChange, error) {
		return v.api.Nodes().Stage(ctx, v.given["name"], wire.NodeStaging{Step: "weight", Weight: to})
	})
}
