package web

import (
	"context"
	"encoding/json"
	"strconv"

	"holdfast/api/wire"
	"holdfast/harvest/schedule"
)

func comment(value string) field {
	return field{Name: "comment", Label: "web.comments", Value: value, Most: 500}
}

func named(value string) field {
	return field{Name: "name", Label: "web.name", Need: true, Most: 64, Value: value, Help: "web.name-help"}
}

// after is the hidden field of the version that a change is made of.
func after(version int) field {
	return field{Name: "version", Kind: hidden, Value: strconv.Itoa(version), Wire: "after"}
}

func (f *form) after() int {
	n, err := strconv.Atoi(f.text("version"))
	if err != nil {
		return 0
	}
	return n
}

func askNewTemplate(context.Context, *visit) (*form, error) {
	f := &form{Help: "web.template-new-help"}
	return f.add(named(""), field{Name: "contact", Label: "web.contact", Most: 2048, Help: "web.contact-help"},
		field{Name: "settings", Label: "web.settings", Kind: code, Help: "web.settings-help"}, comment("")), nil
}

func makeTemplate(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.TemplateRequest{Name: f.text("name"), Contact: f.text("contact"), Comment: f.text("comment")}
	var err error
	if in.Settings, err = jsonOf(f, "settings"); err != nil {
		return outcome{}, err
	}
	t, err := v.api.Templates().Create(ctx, in)
	return outcome{Next: way("templates", t.Name)}, err
}

// jsonOf returns what was typed as JSON, nil if nothing was.
func jsonOf(f *form, name string) (json.RawMessage, error) {
	text := f.text(name)
	if text == "" {
		return nil, nil
	}
	var out json.RawMessage
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, &formError{name, "web.want-json", err.Error()}
	}
	return out, nil
}

func askEditTemplate(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	t, err := v.api.Templates().Show(ctx, v.given["name"], 0)
	f := &form{Help: "web.template-edit-help", Send: "web.save"}
	return f.add(after(t.Version), field{Name: "settings", Label: "web.settings", Kind: code, Need: true,
		Value: indented(t.Settings), Help: "web.settings-edit-help"},
		field{Name: "active", Label: "web.is-active", Kind: check, Value: tick(t.Active)}, comment(t.Comment)), err
}

func tick(on bool) string {
	if on {
		return "yes"
	}
	return ""
}

func editTemplate(ctx context.Context, v *visit, f *form) (outcome, error) {
	active, comment := f.ticked("active"), f.text("comment")
	in := wire.TemplateChange{Active: &active, Comment: &comment, After: f.after()}
	var err error
	if !f.field("settings").same() { // a change of the comment alone makes no version
		if in.Settings, err = jsonOf(f, "settings"); err != nil {
			return outcome{}, err
		}
	}
	t, err := v.api.Templates().Set(ctx, v.given["name"], in)
	note := said{"web.did-version", []any{"version", t.Version}}
	return outcome{Next: way("templates", v.given["name"]), Notes: []said{note}}, err
}

// copies are the acts of copying and deleting, which are the same for all that archivists define.
type copies[T any] interface {
	Copy(ctx context.Context, name string, in wire.Copying) (T, error)
	Delete(ctx context.Context, name string) error
}

func askCopyDefined(_ context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	f := &form{}
	return f.add(field{Name: "name", Label: "web.name-of-copy", Need: true, Most: 64, Help: "web.name-help"}), nil
}

func copyDefined[T any](ctx context.Context, v *visit, f *form, of copies[T], path string) (outcome, error) {
	_, err := of.Copy(ctx, v.given["name"], wire.Copying{Name: f.text("name")})
	return outcome{Next: way(path, f.text("name"))}, err
}

func copyTemplate(ctx context.Context, v *visit, f *form) (outcome, error) {
	return copyDefined(ctx, v, f, v.api.Templates(), "templates")
}

func copySchedule(ctx context.Context, v *visit, f *form) (outcome, error) {
	return copyDefined(ctx, v, f, v.api.Schedules(), "schedules")
}

func copyTraps(ctx context.Context, v *visit, f *form) (outcome, error) {
	return copyDefined(ctx, v, f, v.api.TrapLists(), "traps")
}

func askDeleteDefined(_ context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	return &form{Help: "web.defined-delete-help", Confirm: v.given["name"], Grave: true}, nil
}

func deleteTemplate(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/templates"}, v.api.Templates().Delete(ctx, v.given["name"])
}

func deleteSchedule(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/schedules"}, v.api.Schedules().Delete(ctx, v.given["name"])
}

func deleteTraps(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/traps"}, v.api.TrapLists().Delete(ctx, v.given["name"])
}

func deleteChannel(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/channels"}, v.api.Channels().Delete(ctx, v.given["name"])
}

func askNewSchedule(_ context.Context, v *visit) (*form, error) {
	return scheduleFields((&form{Help: "web.schedule-new-help"}).add(named("")),
		schedule.Schedule{Zone: v.zone.String()}, ""), nil
}

// scheduleFields adds what a schedule says.
func scheduleFields(f *form, s schedule.Schedule, note string) *form {
	minute, campaigns := "", ""
	if s.Minute != nil {
		minute = strconv.Itoa(*s.Minute)
	}
	if len(s.Campaigns) > 0 {
		text, err := json.MarshalIndent(s.Campaigns, "", "  ")
		if err == nil {
			campaigns = string(text)
		}
	}
	return f.add(field{Name: "unit", Label: "web.unit", Kind: choose, Need: true, Value: string(s.Unit),
		Wire: "schedule.unit",
		Options: []option{{"once", "web.unit-once"}, {"minute", "web.unit-minute"}, {"hour", "web.unit-hour"},
			{"day", "web.unit-day"}, {"week", "web.unit-week"}, {"month", "web.unit-month"}}},
		field{Name: "every", Label: "web.every", Kind: number, Value: unless0(uint64(max(s.Every, 0))),
			Help: "web.every-help", Wire: "schedule.every"},
		field{Name: "at", Label: "web.at-time", Value: s.At, Most: 5, Help: "web.at-help", Wire: "schedule.at"},
		field{Name: "weekday", Label: "web.weekday", Kind: choose, Value: s.Weekday, Wire: "schedule.weekday",
			Options: []option{{"", "web.any-day"}, {"mon", "web.monday"}, {"tue", "web.tuesday"},
				{"wed", "web.wednesday"}, {"thu", "web.thursday"}, {"fri", "web.friday"},
				{"sat", "web.saturday"}, {"sun", "web.sunday"}}},
		field{Name: "day", Label: "web.day-of-month", Kind: number, Value: unless0(uint64(max(s.Day, 0))),
			Help: "web.day-help", Wire: "schedule.day"},
		field{Name: "minute", Label: "web.minute-of-hour", Kind: number, Value: minute, Wire: "schedule.minute"},
		field{Name: "from", Label: "web.counted-from", Value: s.From, Most: 16, Help: "web.from-help",
			Wire: "schedule.from"},
		field{Name: "until", Label: "web.last-date", Value: s.Until, Most: 16, Help: "web.from-help",
			Wire: "schedule.until"},
		field{Name: "times", Label: "web.how-often", Kind: number, Value: unless0(uint64(max(s.Times, 0))),
			Wire: "schedule.times"},
		field{Name: "zone", Label: "web.time-zone", Value: s.Zone, Most: 64, Help: "web.zone-help",
			Wire: "schedule.zone"},
		field{Name: "campaigns", Label: "web.campaigns", Kind: code, Value: campaigns, Help: "web.campaigns-help",
			Wire: "schedule.campaigns"}, comment(note))
}

func scheduleOf(f *form) (json.RawMessage, error) {
	s := schedule.Schedule{Frequency: schedule.Frequency{Unit: schedule.Unit(f.text("unit")), At: f.text("at"),
		Weekday: f.text("weekday")}, From: f.text("from"), Until: f.text("until"), Zone: f.text("zone")}
	for name, to := range map[string]*int{"every": &s.Every, "day": &s.Day} {
		if n := f.number(name); n != nil {
			*to = int(*n)
		}
	}
	if n := f.number("minute"); n != nil {
		minute := int(*n)
		s.Minute = &minute
	}
	if n := f.number("times"); n != nil {
		s.Times = *n
	}
	campaigns, err := jsonOf(f, "campaigns")
	if err != nil {
		return nil, err
	}
	if campaigns != nil {
		if err := json.Unmarshal(campaigns, &s.Campaigns); err != nil {
			return nil, &formError{"campaigns", "web.want-json", err.Error()}
		}
	}
	return json.Marshal(s)
}

func makeSchedule(ctx context.Context, v *visit, f *form) (outcome, error) {
	text, err := scheduleOf(f)
	if err != nil {
		return outcome{}, err
	}
	s, err := v.api.Schedules().Create(ctx, wire.ScheduleRequest{Name: f.text("name"), Schedule: text,
		Comment: f.text("comment")})
	return outcome{Next: way("schedules", s.Name)}, err
}

func askEditSchedule(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	given, err := v.api.Schedules().Show(ctx, v.given["name"], 0)
	if err != nil {
		return nil, err
	}
	s, err := schedule.Parse(given.Schedule)
	f := &form{Help: "web.schedule-edit-help", Send: "web.save"}
	return scheduleFields(f.add(after(given.Version)), s, given.Comment), err
}

func editSchedule(ctx context.Context, v *visit, f *form) (outcome, error) {
	text, err := scheduleOf(f)
	if err != nil {
		return outcome{}, err
	}
	comment := f.text("comment")
	s, err := v.api.Schedules().Set(ctx, v.given["name"], wire.ScheduleChange{Schedule: text, Comment: &comment,
		After: f.after()})
	note := said{"web.did-version", []any{"version", s.Version}}
	return outcome{Next: way("schedules", v.given["name"]), Notes: []said{note}}, err
}

func askNewTraps(context.Context, *visit) (*form, error) {
	f := &form{Help: "web.trap-list-help"}
	return f.add(named(""), field{Name: "traps", Label: "web.traps", Kind: code, Need: true, Help: "web.traps-lines"},
		comment("")), nil
}

func makeTraps(ctx context.Context, v *visit, f *form) (outcome, error) {
	t, err := v.api.TrapLists().Create(ctx, wire.TrapListRequest{Name: f.text("name"), Traps: f.lines("traps"),
		Comment: f.text("comment")})
	return outcome{Next: way("traps", t.Name)}, err
}

func askEditTraps(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	t, err := v.api.TrapLists().Show(ctx, v.given["name"], 0)
	text := ""
	for _, one := range t.Traps {
		text += one + "\n"
	}
	f := &form{Help: "web.trap-list-help", Send: "web.save"}
	return f.add(after(t.Version), field{Name: "traps", Label: "web.traps", Kind: code, Need: true, Value: text,
		Help: "web.traps-lines"}, field{Name: "active", Label: "web.is-active", Kind: check, Value: tick(t.Active)},
		comment(t.Comment)), err
}

func editTraps(ctx context.Context, v *visit, f *form) (outcome, error) {
	active, comment := f.ticked("active"), f.text("comment")
	in := wire.TrapListChange{Active: &active, Comment: &comment, After: f.after()}
	if !f.field("traps").same() {
		in.Traps = f.lines("traps")
	}
	t, err := v.api.TrapLists().Set(ctx, v.given["name"], in)
	note := said{"web.did-version", []any{"version", t.Version}}
	return outcome{Next: way("traps", v.given["name"]), Notes: []said{note}}, err
}

func askNewChannel(context.Context, *visit) (*form, error) {
	f := &form{Help: "web.channel-help"}
	return f.add(field{Name: "name", Label: "web.name", Need: true, Most: 64, Help: "web.channel-name-help"},
		field{Name: "snapshot", Label: "web.for-snapshots", Kind: check}, comment("")), nil
}

func makeChannel(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Channels().Create(ctx, wire.ChannelRequest{Name: f.text("name"), Snapshot: f.ticked("snapshot"),
		Comment: f.text("comment")})
	return outcome{Next: "/channels"}, err
}

func askEditChannel(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	c, err := v.api.Channels().Show(ctx, v.given["name"])
	return (&form{Send: "web.save"}).add(comment(c.Comment)), err
}

func editChannel(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Channels().Set(ctx, v.given["name"], wire.ChannelChange{Comment: f.text("comment")})
	return outcome{Next: "/channels"}, err
}
