package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// askDomain is the form of a new domain.
func askDomain(ctx context.Context, v *visit) (*form, error) {
	collections, err := collectionsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.domain-new-help"}
	f.add(field{Name: "name", Label: "web.domain", Need: true, Most: 300, Value: v.query.Get("name"),
		Help: "web.domain-help"},
		field{Name: "collection", Label: "web.collection", Kind: choose,
			Options: namedOptions("web.first-collection", collections)},
		field{Name: "owner", Label: "web.owner", Most: 200},
		field{Name: "comments", Label: "web.comments", Kind: area, Most: 4000})
	return f, extended(ctx, v, f, "domain", nil)
}

func makeDomain(ctx context.Context, v *visit, f *form) (outcome, error) {
	d, err := v.api.Domains().Create(ctx, wire.DomainRequest{Name: f.text("name"), Collection: f.text("collection"),
		Owner: f.text("owner"), Comments: f.whole("comments"), Fields: extendedOf(f, false)})
	return outcome{Next: way("domains", d.Name), Notes: []said{{"web.did-domain", []any{"domain", d.Name}}}}, err
}

// askOfDomain reads the domain that an act is about.
func askOfDomain(ctx context.Context, v *visit) (wire.Domain, error) {
	v.about = v.given["name"]
	return v.api.Domains().Show(ctx, v.given["name"])
}

func domainNext(v *visit) string { return way("domains", v.given["name"]) }

func askEditDomain(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	if err != nil {
		return nil, err
	}
	f := &form{Send: "web.save"}
	f.add(versioned(d.Version), field{Name: "owner", Label: "web.owner", Value: d.Owner, Most: 200},
		field{Name: "default", Label: "web.default-configuration", Kind: choose, Value: d.Default,
			Options: optionsOf(namesOf(d.Configurations, func(c wire.Configuration) string { return c.Name }))},
		field{Name: "comments", Label: "web.comments", Kind: area, Value: d.Comments, Most: 4000})
	return f, extended(ctx, v, f, "domain", d.Fields)
}

func optionsOf(all []string) (out []option) {
	for _, name := range all {
		out = append(out, option{Value: name})
	}
	return out
}

func editDomain(ctx context.Context, v *visit, f *form) (outcome, error) {
	owner, comments := f.text("owner"), f.whole("comments")
	in := wire.DomainChange{Version: f.version(), Owner: &owner, Comments: &comments, Fields: extendedOf(f, true)}
	if name := f.text("default"); name != "" && name != f.field("default").Present {
		in.Default = &name
	}
	_, err := v.api.Domains().Set(ctx, v.given["name"], in)
	return outcome{Next: domainNext(v)}, err
}

func askAlias(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	f := &form{Help: "web.alias-help"}
	of := ""
	if d.Alias != nil {
		of = d.Alias.Of
		f.Effects = []said{{"web.effect-alias", []any{"domain", of, "when", d.Alias.Until}}}
	}
	return f.add(field{Name: "of", Label: "web.alias-of", Value: of, Most: 300, Help: "web.alias-of-help"}), err
}

func alias(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Domains().Alias(ctx, v.given["name"], f.text("of"))
	return outcome{Next: domainNext(v)}, err
}

func askRemoveDomain(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	f := &form{Help: "web.domain-remove-help", Confirm: d.Name, Grave: true,
		Effects: []said{{"web.effect-configurations-gone", []any{"count", len(d.Configurations)}},
			{"web.effect-lists-gone", []any{"count", len(d.Seeds)}}}}
	return f.add(reason(true)), err
}

func removeDomain(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/domains"}, v.api.Domains().Remove(ctx, v.given["name"], f.text("reason"))
}

// askConfiguration is the form of a configuration: a new one, which begins as the default one, or one that is there.
func askConfiguration(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	if err != nil {
		return nil, err
	}
	part, there := v.given["part"]
	var c wire.Configuration
	for _, one := range d.Configurations {
		if one.Name == part || !there && one.Default {
			c = one
		}
	}
	if there && c.Name == "" {
		return nil, wire.ErrNotFound
	}
	f := &form{Help: "web.configuration-new-help"}
	if there {
		f = &form{Help: "web.configuration-help", Send: "web.save"}
		v.about += "/" + part
		f.add(versioned(c.Version))
	} else {
		f.add(field{Name: "name", Label: "web.name", Need: true, Most: 64, Help: "web.name-help"})
		c.Settings, c.Comments = nil, ""
	}
	f.add(field{Name: "template", Label: "web.template", Need: true, Most: 64, Value: c.Template},
		field{Name: "seeds", Label: "web.seed-lists", Kind: area, Need: true, Most: 4000,
			Value: strings.Join(c.Seeds, "\n"), Help: "web.seed-lists-help"},
		field{Name: "objects", Label: "web.most-objects", Kind: number, Value: numberOf(c.Objects),
			Help: "web.limit-help"},
		field{Name: "bytes", Label: "web.most-bytes", Kind: number, Value: numberOf(c.Bytes), Help: "web.limit-help"},
		field{Name: "comments", Label: "web.comments", Kind: area, Value: c.Comments, Most: 4000})
	settings, given := harvest.DefaultSettings(), map[string]bool{}
	if t, err := v.api.Templates().Show(ctx, c.Template, 0); err == nil {
		if read, failed := harvest.ParseTemplate(t.Settings); failed == nil {
			settings, given = read, keysOf(t.Settings)
		}
	}
	settingFields(f, harvest.Patch(c.Settings), settings, c.Template, given)
	return f, nil
}

// keysOf returns which settings a template gives.
func keysOf(text json.RawMessage) map[string]bool {
	out, all := map[string]bool{}, map[string]json.RawMessage{}
	if json.Unmarshal(text, &all) != nil {
		return out
	}
	if inner, is := all["settings"]; is {
		return keysOf(inner)
	}
	for name := range all {
		out[name] = true
	}
	return out
}

func configure(ctx context.Context, v *visit, f *form) (outcome, error) {
	part, there := v.given["part"]
	laid, err := laidOf(f)
	if err != nil {
		return outcome{}, err
	}
	template, comments, seeds := f.text("template"), f.whole("comments"), f.lines("seeds")
	in := wire.ConfigurationChange{Template: &template, Seeds: &seeds, Comments: &comments,
		Objects: f.number("objects"), Bytes: f.number("bytes")}
	if relaid(f) { // else secrets, which are not shown, would have to be typed again
		in.Settings = wire.Overlay(laid)
	}
	if in.Version = f.version(); !there {
		part, in.Version = f.text("name"), new(uint64)
	}
	for name, given := range map[string]*int64{"objects": in.Objects, "bytes": in.Bytes} {
		if given == nil {
			in.NoLimit = append(in.NoLimit, name)
		}
	}
	_, err = v.api.Domains().Configure(ctx, v.given["name"], part, in)
	err = taken(err, there)
	return outcome{Next: domainNext(v), Notes: []said{{"web.did-configuration", []any{"name", part}}}}, err
}

func askPartGone(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfDomain(ctx, v)
	v.about += "/" + v.given["part"]
	f := &form{Confirm: v.given["part"], Grave: true, Help: "web.part-gone-help"}
	return f.add(reason(true)), err
}

func unconfigure(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Domains().Unconfigure(ctx, v.given["name"], v.given["part"], f.text("reason"))
	return outcome{Next: domainNext(v)}, err
}

func removeList(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Domains().RemoveSeeds(ctx, v.given["name"], v.given["part"], f.text("reason"))
	return outcome{Next: domainNext(v)}, err
}

// askList is the form of a seed list: a new one, or one that is there.
func askList(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	if err != nil {
		return nil, err
	}
	part, there := v.given["part"]
	f := &form{Help: "web.list-help", Send: "web.save"}
	text, comments, version := "", "", uint64(0)
	if !there {
		f.add(field{Name: "name", Label: "web.name", Need: true, Most: 64, Help: "web.name-help"})
	} else {
		v.about += "/" + part
		for _, one := range d.Seeds {
			if one.Name == part {
				comments, version = one.Comments, one.Version
			}
		}
		if text, err = v.api.Domains().Seeds(ctx, d.Name, part, 0); err != nil {
			return nil, err
		}
		f.add(versioned(version))
	}
	return f.add(field{Name: "urls", Label: "web.urls", Kind: code, Need: true, Value: text, Help: "web.one-on-a-line"},
		field{Name: "comments", Label: "web.comments", Most: 4000, Value: comments}), nil
}

// taken is a refusal because of a version: of something new, that there is one already.
func taken(err error, there bool) error {
	var answered *wire.Error
	if !there && errors.As(err, &answered) && answered.Code == wire.CodeConflict {
		return &formError{"name", "web.name-taken", answered.Detail}
	}
	return err
}

// putList makes what was typed the next version of a list.
func putList(ctx context.Context, v *visit, f *form) (outcome, error) {
	part, there := v.given["part"]
	version := uint64(0)
	if given := f.version(); given != nil {
		version = *given
	}
	if !there {
		part = f.text("name")
	}
	d, err := v.api.Domains().ReplaceSeeds(ctx, v.given["name"], part, f.text("comments"), version,
		strings.NewReader(f.whole("urls")))
	items := 0
	for _, one := range d.Seeds {
		if one.Name == part {
			items = one.Items
		}
	}
	return outcome{Next: way("domains", v.given["name"], "seeds", part),
		Notes: []said{{"web.did-list", []any{"count", items}}}}, taken(err, there)
}

// unchanged refuses what was typed into a form that was made of an earlier version, where the API takes none: two who
// save within the same moment are not told of each other.
func (f *form) unchanged() error {
	if version := f.field("version"); version != nil && version.Value != version.Present {
		return &wire.Error{Status: http.StatusConflict, Code: wire.CodeConflict,
			Detail: "version " + version.Present + " is the latest"}
	}
	return nil
}

func askTraps(ctx context.Context, v *visit) (*form, error) {
	d, err := askOfDomain(ctx, v)
	if err != nil {
		return nil, err
	}
	text := ""
	version := uint64(0)
	if d.Traps != nil {
		version = d.Traps.Version
		if text, err = v.api.Domains().Traps(ctx, d.Name); err != nil {
			return nil, err
		}
	}
	f := &form{Help: "web.traps-help", Send: "web.save"}
	return f.add(versioned(version), field{Name: "traps", Label: "web.traps", Kind: code, Value: text,
		Help: "web.traps-lines"}), nil
}

func putTraps(ctx context.Context, v *visit, f *form) (outcome, error) {
	if err := f.unchanged(); err != nil {
		return outcome{}, err
	}
	d, err := v.api.Domains().PutTraps(ctx, v.given["name"], strings.NewReader(f.whole("traps")))
	items := 0
	if d.Traps != nil {
		items = d.Traps.Items
	}
	return outcome{Next: domainNext(v), Notes: []said{{"web.did-list", []any{"count", items}}}}, err
}
