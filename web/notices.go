package web

import (
	"context"
	"slices"
	"strings"

	"holdfast/api/wire"
)

func showNotices(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "notice")
	out := &listed[wire.NoticeAddress]{}
	v.ask(ctx, "web.notices", soon, func(ctx context.Context) error {
		all, err := v.api.Notices().List(ctx)
		return out.set(wire.Page[wire.NoticeAddress]{Items: all}, err)
	})
	v.wait()
	return out, nil
}

// NoticeState marks how the notices to an address fare: well only if the last that ended was accepted.
func (l terms) NoticeState(a wire.NoticeAddress) mark {
	switch {
	case !a.Undelivered.IsZero():
		return mark{"bad", l.Text("web.notice-undelivered")}
	case a.Waiting > 0 && a.Reason != "":
		return mark{"look", l.Text("web.notice-refused")}
	case a.Waiting > 0:
		return mark{"work", l.Text("web.notice-waiting")}
	case a.Told > 0:
		return mark{"good", l.Text("web.notice-accepted")}
	}
	return mark{"quiet", l.Text("web.notice-untried")}
}

// NoticeWay names how notices reach an address.
func (l terms) NoticeWay(w wire.NoticeWay) string {
	switch w {
	case "mail":
		return l.Text("web.mail")
	case "webhook":
		return l.Text("web.notice-webhook")
	case "stderr":
		return l.Text("web.notice-stderr")
	}
	return string(w)
}

// NoticeWhen says when an address is told.
func (l terms) NoticeWhen(s string) string {
	switch s {
	case "at-once":
		return l.Text("web.notice-at-once")
	case "hourly":
		return l.Text("web.notice-hourly")
	case "daily":
		return l.Text("web.notice-daily")
	}
	return s
}

// Least names the least severity of which an address is told.
func (l terms) Least(s string) string {
	switch s {
	case "":
		return l.Text("web.notice-least-all")
	case "bad":
		return l.Text("web.alert-bad")
	case "look":
		return l.Text("web.alert-look")
	}
	return s
}

// noticeOptions are what an address can be made of, which the archive is asked for.
type noticeOptions struct{ collections, places []string }

func askNoticeOptions(ctx context.Context, v *visit) (out noticeOptions, err error) {
	if out.collections, err = collectionsOf(ctx, v); err != nil {
		return out, err
	}
	replicas, err := v.api.Replicas().List(ctx)
	for _, r := range replicas {
		if r.Place != "" && !slices.Contains(out.places, r.Place) {
			out.places = append(out.places, r.Place)
		}
	}
	return out, err
}

// noticeFields adds what can be said of an address at any time.
func noticeFields(f *form, a wire.NoticeAddress, o noticeOptions) *form {
	return f.add(field{Name: "kinds", Label: "web.notice-kinds", Kind: area, Value: strings.Join(a.Kinds, "\n"),
		Help: "web.notice-kinds-help", Most: 8000},
		field{Name: "least", Label: "web.severity", Kind: choose, Value: a.Least, Options: []option{
			{"", "web.notice-least-all"}, {"look", "web.alert-look"}, {"bad", "web.alert-bad"}}},
		field{Name: "collection", Label: "web.only-collection", Kind: choose, Value: a.Collection,
			Options: namedOptions("web.whole-archive", o.collections), Help: "web.notice-collection-help"},
		field{Name: "place", Label: "web.only-place", Kind: choose, Value: a.Place,
			Options: namedOptions("web.whole-archive", o.places), Help: "web.notice-place-help"},
		field{Name: "when", Label: "web.when", Kind: choose, Value: a.When, Need: true, Options: []option{
			{"at-once", "web.notice-at-once"}, {"hourly", "web.notice-hourly"}, {"daily", "web.notice-daily"}}},
		field{Name: "hour", Label: "web.notice-hour", Value: a.Hour, Most: 5, Help: "web.notice-hour-help"},
		field{Name: "zone", Label: "web.time-zone", Value: a.Zone, Most: 64, Help: "web.zone-help"},
		field{Name: "language", Label: "web.language", Kind: choose, Value: a.Language, Need: true,
			Options: optionsOf([]string{"en", "da", "it", "fr", "de"})},
		field{Name: "cleared", Label: "web.notice-cleared", Kind: check, Value: ticked(a.Cleared)})
}

// ticked is the value of a box.
func ticked(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func askNewNotice(ctx context.Context, v *visit) (*form, error) {
	o, err := askNoticeOptions(ctx, v)
	f := &form{Help: "web.notice-new-help"}
	f.add(named(""), field{Name: "way", Label: "web.notice-way", Kind: choose, Need: true, Value: "mail",
		Options: []option{{"mail", "web.mail"}, {"webhook", "web.notice-webhook"}, {"stderr", "web.notice-stderr"}}},
		field{Name: "to", Label: "web.notice-to", Most: 2000, Help: "web.notice-to-help"},
		field{Name: "secret", Label: "web.notice-secret", Most: 200, Help: "web.notice-secret-help"},
		field{Name: "inside", Label: "web.notice-inside", Kind: check, Help: "web.notice-inside-help"})
	return noticeFields(f, wire.NoticeAddress{When: "at-once", Language: "en"}, o), err
}

func addNotice(ctx context.Context, v *visit, f *form) (outcome, error) {
	made, err := v.api.Notices().Add(ctx, wire.NoticeAddressRequest{Name: f.text("name"),
		Way: wire.NoticeWay(f.text("way")), To: f.text("to"), Secret: f.text("secret"), Inside: f.ticked("inside"),
		NoticeFilter: wire.NoticeFilter{Kinds: f.lines("kinds"), Least: f.text("least"),
			Collection: f.text("collection"), Place: f.text("place")},
		Language: f.text("language"), When: f.text("when"), Hour: f.text("hour"), Zone: f.text("zone"),
		Cleared: f.ticked("cleared")})
	return noticed(made, said{"web.did-notice", []any{"name", made.Name}}), err
}

// noticed leads to the addresses, where the secret of a webhook is shown to whoever made it.
func noticed(a wire.NoticeAddress, note said) outcome {
	out := outcome{Next: "/notices", Notes: []said{note}}
	if out.Text = a.Secret; a.Secret != "" {
		out.Notes = append(out.Notes, said{Key: "web.notice-secret-once"})
	}
	return out
}

func askOfNotice(ctx context.Context, v *visit) (wire.NoticeAddress, error) {
	v.about = v.given["name"]
	return v.api.Notices().Show(ctx, v.given["name"])
}

func askEditNotice(ctx context.Context, v *visit) (*form, error) {
	a, err := askOfNotice(ctx, v)
	if err != nil {
		return nil, err
	}
	o, err := askNoticeOptions(ctx, v)
	f := &form{Send: "web.save"}
	f.add(versioned(uint64(a.Version)))
	if a.Way == "webhook" {
		f.add(field{Name: "to", Label: "web.notice-url", Most: 2000, Help: "web.notice-url-help"},
			field{Name: "secret", Label: "web.notice-secret", Most: 200, Help: "web.notice-secret-help"},
			field{Name: "inside", Label: "web.notice-inside", Kind: check, Value: ticked(a.Inside),
				Help: "web.notice-inside-help"})
	} else {
		f.add(field{Name: "to", Label: "web.notice-to", Most: 2000, Value: a.To, Help: "web.notice-to-help"})
	}
	return noticeFields(f, a, o), err
}

// editNotice changes an address. Where a webhook leads is not shown, and stays unless something is typed.
func editNotice(ctx context.Context, v *visit, f *form) (outcome, error) {
	text := func(name string) *string { s := f.text(name); return &s }
	kinds, cleared := append([]string{}, f.lines("kinds")...), f.ticked("cleared")
	in := wire.NoticeAddressChange{Secret: f.text("secret"), Kinds: &kinds, Least: text("least"),
		Collection: text("collection"), Place: text("place"), Language: text("language"), When: text("when"),
		Hour: text("hour"), Zone: text("zone"), Cleared: &cleared}
	if version := f.version(); version != nil {
		in.Version = int(*version)
	}
	if to := f.field("to"); !to.same() {
		in.To = text("to")
	}
	if inside := f.field("inside"); inside != nil && !inside.same() {
		is := inside.Ticked()
		in.Inside = &is
	}
	a, err := v.api.Notices().Set(ctx, v.given["name"], in)
	return noticed(a, said{"web.did-notice-set", []any{"name", v.given["name"]}}), err
}

func askRemoveNotice(ctx context.Context, v *visit) (*form, error) {
	a, err := askOfNotice(ctx, v)
	return &form{Help: "web.notice-remove-help", Confirm: a.Name, Grave: true, Effects: []said{
		{"web.effect-notice-told", []any{"count", a.Told}},
		{"web.effect-notice-waiting", []any{"count", a.Waiting}}}}, err
}

func removeNotice(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/notices"}, v.api.Notices().Remove(ctx, v.given["name"])
}

func askTestNotice(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfNotice(ctx, v)
	return &form{Help: "web.notice-test-help"}, err
}

// testNotice sends a test, and says that it arrived only if the receiver has accepted it.
func testNotice(ctx context.Context, v *visit, _ *form) (outcome, error) {
	name := v.given["name"]
	test, err := v.api.Notices().Test(ctx, name)
	out := outcome{Next: "/notices", Notes: []said{{"web.notice-test-not", []any{"name", name}}}}
	switch {
	case test.Accepted:
		out.Notes = []said{{"web.notice-test-accepted", []any{"name", name, "node", test.Node}}}
	case test.Reason != "":
		out.Lines = []string{test.Reason}
	}
	return out, err
}
