package web

import (
	"context"

	"holdfast/api/wire"
)

func showFields(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "field")
	out := &listed[wire.Field]{}
	var of [2]listed[wire.Field]
	for i, kind := range []string{"domain", "harvest"} {
		v.ask(ctx, "web.fields", soon, func(ctx context.Context) error {
			all, err := v.api.Fields().List(ctx, kind)
			return of[i].set(wire.Page[wire.Field]{Items: all}, err)
		})
	}
	v.wait()
	out.Asked = of[0].Asked && of[1].Asked
	out.Items = append(of[0].Items, of[1].Items...)
	return out, nil
}

// FieldOf names what has an extended field.
func (l terms) FieldOf(of string) string {
	if of == "harvest" {
		return l.Text("web.harvest")
	}
	return l.Text("web.domain")
}

// FieldType names the type of an extended field.
func (l terms) FieldType(s string) string {
	switch s {
	case "text":
		return l.Text("web.type-text")
	case "number":
		return l.Text("web.type-number")
	case "date":
		return l.Text("web.type-date")
	case "boolean":
		return l.Text("web.type-boolean")
	}
	return s
}

func fieldRest(f *form, of wire.Field) *form {
	return f.add(field{Name: "mandatory", Label: "web.mandatory", Kind: check, Value: ticked(of.Mandatory),
		Help: "web.mandatory-help"},
		field{Name: "comments", Label: "web.comments", Kind: area, Value: of.Comments, Most: 4000,
			Help: "web.field-comments-help"})
}

func askNewField(context.Context, *visit) (*form, error) {
	f := &form{Help: "web.field-new-help"}
	f.add(named(""), field{Name: "of", Label: "web.field-of", Kind: choose, Need: true, Value: "domain",
		Options: []option{{"domain", "web.domain"}, {"harvest", "web.harvest"}}},
		field{Name: "type", Label: "web.kind", Kind: choose, Need: true, Value: "text", Help: "web.field-type-help",
			Options: []option{{"text", "web.type-text"}, {"number", "web.type-number"}, {"date", "web.type-date"},
				{"boolean", "web.type-boolean"}}})
	return fieldRest(f, wire.Field{}), nil
}

// makeField defines a field. One of the name that is there is not changed by it.
func makeField(ctx context.Context, v *visit, f *form) (outcome, error) {
	of, name := f.text("of"), f.text("name")
	all, err := v.api.Fields().List(ctx, of)
	if err != nil {
		return outcome{}, err
	}
	for _, one := range all {
		if one.Name == name {
			return outcome{}, &formError{"name", "web.field-there", ""}
		}
	}
	return setField(ctx, v, f, wire.Field{Of: of, Name: name, Type: f.text("type")})
}

func setField(ctx context.Context, v *visit, f *form, of wire.Field) (outcome, error) {
	of.Mandatory, of.Comments = f.ticked("mandatory"), f.whole("comments")
	_, err := v.api.Fields().Set(ctx, of)
	return outcome{Next: "/fields", Notes: []said{{"web.did-field", []any{"name", of.Name}}}}, err
}

// askOfField reads the field that an act is about.
func askOfField(ctx context.Context, v *visit) (of wire.Field, err error) {
	v.about = v.given["name"]
	if v.given["of"] != "domain" && v.given["of"] != "harvest" {
		return of, wire.ErrNotFound
	}
	all, err := v.api.Fields().List(ctx, v.given["of"])
	for _, one := range all {
		if one.Name == v.given["name"] {
			return one, nil
		}
	}
	if err == nil {
		err = wire.ErrNotFound
	}
	return of, err
}

func askEditField(ctx context.Context, v *visit) (*form, error) {
	of, err := askOfField(ctx, v)
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.field-edit-help", Send: "web.save"}
	return fieldRest(f, of), nil
}

func editField(ctx context.Context, v *visit, f *form) (outcome, error) {
	of, err := askOfField(ctx, v)
	if err != nil {
		return outcome{}, err
	}
	return setField(ctx, v, f, of)
}

func askRemoveField(ctx context.Context, v *visit) (*form, error) {
	of, err := askOfField(ctx, v)
	f := &form{Help: "web.field-remove-help", Confirm: of.Name, Grave: true}
	return f.add(reason(false)), err
}

func removeField(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/fields"}, v.api.Fields().Remove(ctx, v.given["of"], v.given["name"], f.text("reason"))
}
