package web

import (
	"context"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest"
)

// extended adds a field for each extended field of "domain" or "harvest".
func extended(ctx context.Context, v *visit, f *form, of string, values map[string]string) error {
	fields, err := v.api.Fields().List(ctx, of)
	if err != nil {
		return err
	}
	for _, one := range fields {
		d := field{Name: "x." + one.Name, Plain: one.Name, Value: values[one.Name], Need: one.Mandatory,
			Text: one.Comments, Wire: "fields." + one.Name}
		switch one.Type {
		case "boolean":
			d.Kind, d.Options = choose, []option{{"", "web.not-said"}, {"true", "web.yes"}, {"false", "web.no"}}
		case "date":
			d.Help = "web.date-help"
		}
		f.add(d)
	}
	return nil
}

// extendedOf returns the values of extended fields that were typed; with all, also those that were emptied.
func extendedOf(f *form, all bool) map[string]string {
	out := map[string]string{}
	for _, one := range f.Fields {
		if name, is := strings.CutPrefix(one.Name, "x."); is && (one.text() != "" || all && one.Present != "") {
			out[name] = one.text()
		}
	}
	return out
}

// namedOptions are options of names, the first of which is empty.
func namedOptions(first string, all []string) []option {
	out := []option{{"", first}}
	for _, name := range all {
		out = append(out, option{Value: name})
	}
	return out
}

// maxChoices is how many names a form offers to choose from.
const maxChoices = 1000

func collectionsOf(ctx context.Context, v *visit) ([]string, error) {
	all, err := v.api.Collections().List(ctx)
	return namesOf(all, func(c wire.Collection) string { return c.Name }), err
}

func schedulesOf(ctx context.Context, v *visit) ([]string, error) {
	page, err := v.api.Schedules().Page(ctx, "", client.Place{Limit: maxChoices})
	return namesOf(page.Items, func(s wire.Schedule) string { return s.Name }), err
}

func channelsOf(ctx context.Context, v *visit) ([]wire.Channel, error) {
	page, err := v.api.Channels().Page(ctx, "", client.Place{Limit: maxChoices})
	return page.Items, err
}

func namesOf[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = name(one)
	}
	return out
}

func channelName(c wire.Channel) string { return c.Name }

// askHarvest is the form of a new harvest.
func askHarvest(ctx context.Context, v *visit) (*form, error) {
	collections, err := collectionsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	kind := v.query.Get("kind")
	f := &form{Help: "web.harvest-new-help"}
	f.add(field{Name: "name", Label: "web.name", Need: true, Most: 200},
		field{Name: "kind", Label: "web.kind", Kind: choose, Need: true, Value: kind, Help: "web.kind-help",
			Options: []option{{"selective", "web.harvest-selective"}, {"event", "web.harvest-event"},
				{"snapshot", "web.harvest-snapshot"}}},
		field{Name: "collection", Label: "web.collection", Kind: choose,
			Options: namedOptions("web.first-collection", collections)})
	return harvestFields(ctx, v, f, wire.Harvest{}) // what does not fit the kind is refused, not left out
}

// harvestFields adds what can be said of a harvest at any time.
func harvestFields(ctx context.Context, v *visit, f *form, h wire.Harvest) (*form, error) {
	channels, err := channelsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	schedules, err := schedulesOf(ctx, v)
	if err != nil {
		return nil, err
	}
	f.add(field{Name: "schedule", Label: "web.schedule", Kind: choose, Value: h.Schedule, Help: "web.schedule-help",
		Options: namedOptions("web.no-schedule", schedules)},
		field{Name: "channel", Label: "web.channel", Kind: choose, Value: h.Channel,
			Options: namedOptions("web.default-channel", namesOf(channels, channelName))},
		field{Name: "start", Label: "web.not-before", Kind: when, Value: localOf(h.Start, v.zone)})
	if h.Kind == "snapshot" || h.Kind == "" {
		f.add(field{Name: "objects", Label: "web.most-objects", Kind: number, Value: numberOf(h.Objects),
			Help: "web.snapshot-only"},
			field{Name: "bytes", Label: "web.most-bytes", Kind: number, Value: numberOf(h.Bytes),
				Help: "web.snapshot-only"},
			field{Name: "maxTime", Label: "web.most-time", Value: lengthOf(h.MaxTime), Help: "web.duration-help"},
			field{Name: "continues", Label: "web.continues", Kind: number, Value: unless0(h.Continues),
				Help: "web.continues-help"})
	}
	f.add(field{Name: "audience", Label: "web.audience", Value: h.Audience, Most: 2000},
		field{Name: "comments", Label: "web.comments", Kind: area, Value: h.Comments, Most: 4000})
	return f, extended(ctx, v, f, "harvest", h.Fields)
}

// localOf writes a time as it is typed, empty if it is zero.
func localOf(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(zone).Format(localTime)
}

func numberOf(l harvest.Limit) string {
	if n, given := l.Given(); given {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

func lengthOf(d harvest.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func unless0(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func makeHarvest(ctx context.Context, v *visit, f *form) (outcome, error) {
	start, err := f.moment("start", v.zone)
	if err != nil {
		return outcome{}, err
	}
	most, err := f.duration("maxTime")
	if err != nil {
		return outcome{}, err
	}
	in := wire.HarvestRequest{Name: f.text("name"), Kind: f.text("kind"), Collection: f.text("collection"),
		Channel: f.text("channel"), Schedule: f.text("schedule"), Start: start, Objects: f.number("objects"),
		Bytes: f.number("bytes"), MaxTime: most, Audience: f.text("audience"), Comments: f.whole("comments"),
		Fields: extendedOf(f, false)}
	if n := f.number("continues"); n != nil && *n > 0 {
		in.Continues = uint64(*n)
	}
	made, err := v.api.Harvests().Create(ctx, in)
	note := said{"web.did-harvest", []any{"name", made.Name}}
	return outcome{Next: way("harvests", made.Number), Notes: []said{note}}, err
}

// askOfHarvest reads the harvest that an act is about.
func askOfHarvest(ctx context.Context, v *visit) (h wire.Harvest, err error) {
	id, err := v.id("number")
	if err == nil {
		h, err = v.api.Harvests().Show(ctx, id)
		v.about = h.Name
	}
	return h, err
}

// versioned is the hidden field of the version that a form was made of.
func versioned(version uint64) field {
	return field{Name: "version", Kind: hidden, Value: strconv.FormatUint(version, 10)}
}

func askEditHarvest(ctx context.Context, v *visit) (*form, error) {
	h, err := askOfHarvest(ctx, v)
	if err != nil {
		return nil, err
	}
	f := &form{Send: "web.save"}
	f.add(versioned(h.Version), field{Name: "name", Label: "web.name", Value: h.Name, Need: true, Most: 200})
	return harvestFields(ctx, v, f, h)
}

func editHarvest(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	in := wire.HarvestChange{Version: f.version(), Fields: extendedOf(f, true)}
	name, channel, audience, comments := f.text("name"), f.text("channel"), f.text("audience"), f.whole("comments")
	in.Name, in.Channel, in.Audience, in.Comments = &name, &channel, &audience, &comments
	if schedule := f.text("schedule"); schedule != "" || f.field("schedule").Present != "" {
		in.Schedule = &schedule
	}
	start, err := f.moment("start", v.zone)
	if err != nil {
		return outcome{}, err
	}
	most, err := f.duration("maxTime")
	if err != nil {
		return outcome{}, err
	}
	if !start.IsZero() && f.text("start") != f.field("start").Present { // its seconds are not shown
		in.Start = &start
	}
	if most != 0 {
		in.MaxTime = &most
	}
	in.Objects, in.Bytes = f.number("objects"), f.number("bytes")
	if n := f.number("continues"); n != nil && *n > 0 {
		of := uint64(*n)
		in.Continues = &of
	}
	for _, name := range []string{"start", "objects", "bytes", "maxTime", "continues"} {
		if one := f.field(name); one != nil && one.text() == "" && one.Present != "" {
			in.Clear = append(in.Clear, name)
		}
	}
	_, err = v.api.Harvests().Set(ctx, id, in)
	return outcome{Next: way("harvests", id)}, err
}

func askCopyHarvest(ctx context.Context, v *visit) (*form, error) {
	h, err := askOfHarvest(ctx, v)
	f := &form{Effects: []said{{"web.effect-configurations", []any{"count", h.Configurations}}}}
	return f.add(field{Name: "name", Label: "web.name-of-copy", Need: true, Most: 200}), err
}

func copyHarvest(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	made, err := v.api.Harvests().Copy(ctx, id, f.text("name"))
	note := said{"web.did-harvest", []any{"name", made.Name}}
	return outcome{Next: way("harvests", made.Number), Notes: []said{note}}, err
}

func askActivate(ctx context.Context, v *visit) (*form, error) {
	h, err := askOfHarvest(ctx, v)
	f := &form{}
	if h.Kind != "snapshot" {
		f.Effects = []said{{"web.effect-configurations", []any{"count", h.Configurations}}}
	}
	return f, err
}

func activate(ctx context.Context, v *visit, _ *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	h, err := v.api.Harvests().Activate(ctx, id, wire.HarvestActivation{})
	out := outcome{Next: way("harvests", id), Notes: []said{{Key: "web.did-activate"}}}
	if !h.Next.IsZero() {
		out.Notes = []said{{"web.did-activate-on", []any{"when", h.Next}}}
	}
	return out, err
}

func askDeactivate(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfHarvest(ctx, v)
	f := &form{Help: "web.deactivate-help"}
	return f.add(reason(true)), err
}

func deactivate(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	_, err = v.api.Harvests().Deactivate(ctx, id, f.text("reason"))
	return outcome{Next: way("harvests", id)}, err
}

func askDeleteHarvest(ctx context.Context, v *visit) (*form, error) {
	h, err := askOfHarvest(ctx, v)
	f := &form{Help: "web.harvest-delete-help", Confirm: h.Name, Grave: true,
		Effects: []said{{"web.effect-configurations", []any{"count", h.Configurations}},
			{"web.effect-runs", []any{"count", int64(h.Runs)}}}}
	return f.add(reason(true)), err
}

func deleteHarvest(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	return outcome{Next: "/harvests"}, v.api.Harvests().Delete(ctx, id, f.text("reason"))
}

// askConfigurations is the form of configurations that a harvest is to have, or not any more. A link names one.
func askConfigurations(ctx context.Context, v *visit) (*form, error) {
	h, err := askOfHarvest(ctx, v)
	f := &form{Help: "web.configurations-help",
		Effects: []said{{"web.effect-configurations", []any{"count", h.Configurations}}}}
	return f.add(field{Name: "configurations", Label: "web.configurations", Kind: code, Need: true,
		Value: v.query.Get("name"), Help: "web.configurations-lines"}), err
}

func configurationsOf(f *form) ([]wire.HarvestConfiguration, error) {
	var out []wire.HarvestConfiguration
	for _, text := range f.lines("configurations") {
		domain, name, _ := strings.Cut(text, "/")
		out = append(out, wire.HarvestConfiguration{Domain: strings.TrimSpace(domain),
			Configuration: strings.TrimSpace(name)})
	}
	if len(out) > 100 {
		return nil, &formError{"configurations", "web.at-most-hundred", ""}
	}
	return out, nil
}

func addConfigurations(ctx context.Context, v *visit, f *form) (outcome, error) {
	return changeConfigurations(ctx, v, f, v.api.Harvests().Add)
}

func removeConfigurations(ctx context.Context, v *visit, f *form) (outcome, error) {
	return changeConfigurations(ctx, v, f, v.api.Harvests().Remove)
}

// changeConfigurations gives a harvest the configurations that were typed, or takes them away.
func changeConfigurations(ctx context.Context, v *visit, f *form,
	change func(context.Context, uint64, ...wire.HarvestConfiguration) (wire.Harvest, error)) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	some, err := configurationsOf(f)
	if err != nil {
		return outcome{}, err
	}
	h, err := change(ctx, id, some...)
	note := said{"web.did-configurations", []any{"count", h.Configurations}}
	return outcome{Next: way("harvests", id, "configurations"), Notes: []said{note}}, err
}
