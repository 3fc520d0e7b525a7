package domains

import (
	"slices"

	"holdfast/catalog/agree"
)

// setField makes an extended field, or changes what is said of it. Its type stays.
func setField(s *agree.State, b *Field) (any, error) {
	if err := agree.CheckName("field", b.Name); err != nil {
		return nil, err
	}
	if b.Of != OfDomains && b.Of != OfHarvests {
		return nil, agree.Refuse(agree.Invalid, "a field of a %q: want domain or harvest", agree.Clip(string(b.Of), 40))
	}
	switch b.Type {
	case TextField, NumberField, DateField, BooleanField:
	default:
		return nil, agree.Refuse(agree.Invalid, "field of type %q: want text, number, date or boolean",
			agree.Clip(string(b.Type), 40))
	}
	if err := checkText("comments", b.Comments, maxComments); err != nil {
		return nil, err
	}
	old, there, err := agree.Get[Field](s, keyField(b.Of, b.Name))
	if err != nil {
		return nil, err
	}
	if there && old.Type != b.Type {
		return nil, agree.Refuse(agree.Conflict, "field %s is of type %s, which cannot change", b.Name, old.Type)
	}
	if !there {
		all, err := agree.Tails(s, prefixFieldsOf(b.Of), "", maxFields)
		if err != nil {
			return nil, err
		}
		if len(all) >= maxFields {
			return nil, agree.Refuse(agree.Invalid, "there are %d fields already", len(all))
		}
	}
	if err := s.Set(keyField(b.Of, b.Name), b); err != nil {
		return nil, err
	}
	return nil, s.Event(SetField, b.Name, "of=%s type=%s mandatory=%t", b.Of, b.Type, b.Mandatory)
}

// removeField removes a field of which nothing has a value.
func removeField(s *agree.State, b *FieldRef) (any, error) {
	if there, err := agree.Has(s, keyField(b.Of, b.Name)); err != nil || !there {
		return nil, agree.OrNotFound(err, "no field %q of a %s", agree.Clip(b.Name, 64), agree.Clip(string(b.Of), 40))
	}
	users, err := agree.Tails(s, prefixUses(b.Of, b.Name), "", 1)
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		return nil, agree.Refuse(agree.Conflict, "field %s is used: %s has a value of it", b.Name, users[0])
	}
	s.Delete(keyField(b.Of, b.Name))
	return nil, s.Event(RemoveField, b.Name, "of=%s reason=%s", b.Of, agree.ClipReason(b.Reason))
}

// UseFields notes that a thing has other values of extended fields now.
func UseFields(s *agree.State, of FieldOf, thing string, old, now []FieldValue) {
	for _, v := range old {
		if !slices.ContainsFunc(now, func(n FieldValue) bool { return n.Name == v.Name }) {
			s.Delete(keyUse(of, v.Name, thing))
		}
	}
	for _, v := range now {
		if !slices.ContainsFunc(old, func(o FieldValue) bool { return o.Name == v.Name }) {
			s.Mark(keyUse(of, v.Name, thing))
		}
	}
}

func setSettings(s *agree.State, b *SettingsChange) (any, error) {
	if err := checkText("settings", b.Text, maxSettings); err != nil {
		return nil, err
	}
	old, _, err := agree.Get[Settings](s, keySettings)
	if err != nil {
		return nil, err
	}
	if old.Version != b.Version {
		return nil, agree.Refuse(agree.Conflict, "the settings of domains were changed meanwhile: they have version %d",
			old.Version)
	}
	now := Settings{Version: old.Version + 1, Text: b.Text, Changed: s.At}
	if err := s.Set(keySettings, now); err != nil {
		return nil, err
	}
	return &now, s.Event(SetSettings, "domains", "version=%d", now.Version)
}
