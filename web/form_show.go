package web

import "strings"

// group are fields that stand together and can be folded away.
type group struct {
	Name   string // of the description of settings
	Expert bool
	Fields []*field
	Open   bool // something is typed there, or wrong
}

// Plain returns the fields that belong to no group.
func (f *form) Plain() (out []*field) {
	for _, one := range f.Fields {
		if one.Group == "" && one.Name != "confirm" {
			out = append(out, one)
		}
	}
	return out
}

// Groups returns the others: first those of each group that most people need, then those for experts.
func (f *form) Groups() (out []*group) {
	for _, expert := range []bool{false, true} {
		at := map[string]*group{}
		for _, one := range f.Fields {
			if one.Group == "" || one.Expert != expert {
				continue
			}
			g := at[one.Group]
			if g == nil {
				g = &group{Name: one.Group, Expert: expert}
				at[one.Group] = g
				out = append(out, g)
			}
			g.Fields = append(g.Fields, one)
			g.Open = g.Open || one.Wrong() || one.Value != ""
		}
	}
	return out
}

// Confirmed is what was typed to confirm the act.
func (f *form) Confirmed() string { return f.text("confirm") }

// Helped reports whether something is said below the field.
func (d *field) Helped() bool {
	return d.Help != "" || d.Text != "" || d.Origin != nil || d.Kind == when
}

// File reports whether the field can be given as a file.
func (d *field) File() bool { return d.Kind == code && d.Most == 0 && d.Group == "" }

// Rows is how high a text's field is.
func (d *field) Rows() int {
	if d.Group != "" {
		return min(3+strings.Count(d.Value, "\n"), 12)
	}
	return min(max(4, 1+strings.Count(d.Value, "\n")), 20)
}

// Describes names the texts that say more about the field.
func (d *field) Describes() string {
	var ids []string
	if d.Wrong() || d.Changed {
		ids = append(ids, "e-"+d.Name)
	}
	if d.Helped() {
		ids = append(ids, "h-"+d.Name)
	}
	return strings.Join(ids, " ")
}

// Shown returns the options, with what was typed if it is none of them.
func (d *field) Shown() []option {
	for _, o := range d.Options {
		if o.Value == d.Value {
			return d.Options
		}
	}
	return append([]option{{Value: d.Value}}, d.Options...)
}

// SettingGroup names a group of settings.
func (l terms) SettingGroup(name string) string {
	switch name {
	case "scope":
		return l.Text("web.group-scope")
	case "politeness":
		return l.Text("web.group-politeness")
	case "identity":
		return l.Text("web.group-identity")
	case "fetching":
		return l.Text("web.group-fetching")
	case "limits":
		return l.Text("web.group-limits")
	case "keeping":
		return l.Text("web.group-keeping")
	case "browser":
		return l.Text("web.group-browser")
	case "files":
		return l.Text("web.group-files")
	}
	return name
}
