package harvests

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// create makes a definition.
func create(s *agree.State, k Kind, b *Creation) (any, error) {
	last, err := mayBeMade(s, k, b.Name)
	if err != nil {
		return nil, err
	}
	if b.Off && !k.switched() {
		return nil, agree.Refuse(agree.Invalid, "a %s is not switched off", k.word())
	}
	if err := checkComment(b.Comment); err != nil {
		return nil, err
	}
	d := Definition{Name: b.Name, First: last + 1, Version: last, Off: b.Off, Comment: b.Comment, Created: s.At}
	if err := addText(s, k, &d, b.Text, b.Items, b.Secret); err != nil {
		return nil, err
	}
	if err := put(s, k, &d); err != nil {
		return nil, err
	}
	return &d, s.Event(command(k, "create"), d.Name, "version=%d bytes=%d off=%t", d.Version, len(b.Text), d.Off)
}

// set changes a definition. The same text again is no new version.
func set(s *agree.State, k Kind, b *Change) (any, error) {
	d, err := find(s, k, b.Name)
	if err != nil {
		return nil, err
	}
	if b.After != 0 && b.After != d.Version {
		return nil, agree.Refuse(agree.Conflict, "%s %s has version %d by now, not %d", k.word(), d.Name, d.Version,
			b.After)
	}
	if b.Off != nil && !k.switched() {
		return nil, agree.Refuse(agree.Invalid, "a %s is not switched off", k.word())
	}
	if b.Secret != nil && b.Text == nil {
		return nil, agree.Refuse(agree.Invalid, "a secret comes with the text that refers to it")
	}
	old := d
	agree.Assign(&d.Off, b.Off)
	if b.Comment != nil {
		if err := checkComment(*b.Comment); err != nil {
			return nil, err
		}
		d.Comment = *b.Comment
	}
	if b.Text != nil {
		same, err := sameText(s, k, &d, b)
		if err != nil {
			return nil, err
		}
		if !same {
			if err := addText(s, k, &d, *b.Text, b.Items, b.Secret); err != nil {
				return nil, err
			}
		}
	}
	if d == old {
		return &d, nil
	}
	if err := put(s, k, &d); err != nil {
		return nil, err
	}
	return &d, s.Event(command(k, "set"), d.Name, "version=%d off=%t comment=%s", d.Version, d.Off,
		agree.ClipReason(d.Comment))
}

// sameText reports whether the change brings the latest text again, and no secret.
func sameText(s *agree.State, k Kind, d *Definition, b *Change) (bool, error) {
	if b.Secret != nil {
		return false, nil
	}
	v, text, err := readText(s, k, d.Name, d.Version)
	return text == *b.Text && v.Secret == "", err
}

// copied makes a definition with a text of another, which it shares the secret with.
func copied(s *agree.State, k Kind, b *Copying) (any, error) {
	from, err := find(s, k, b.From)
	if err != nil {
		return nil, err
	}
	last, err := mayBeMade(s, k, b.Name)
	if err != nil {
		return nil, err
	}
	number := b.Version
	if number == 0 {
		number = from.Version
	}
	if number < from.First || number > from.Version {
		return nil, agree.Refuse(agree.NotFound, "%s %s has no version %d", k.word(), from.Name, number)
	}
	v, text, err := readText(s, k, from.Name, number)
	if err != nil {
		return nil, err
	}
	d := Definition{Name: b.Name, First: last + 1, Version: last + 1, Off: from.Off, Comment: from.Comment,
		Created: s.At}
	if v.Secret != "" {
		if err := jobs.ShareSecret(s, v.Secret, jobs.TemplateUser(d.Name, d.Version)); err != nil {
			return nil, err
		}
	}
	if err := putText(s, k, &d, text, v.Items, v.Secret); err != nil {
		return nil, err
	}
	if err := put(s, k, &d); err != nil {
		return nil, err
	}
	return &d, s.Event(command(k, "copy"), d.Name, "from=%s version=%d", from.Name, number)
}

// Remove deletes a definition with all its texts. Whether something uses it is the caller's to ask. If the name is
// given again, versions go on counting: none is given twice.
func Remove(s *agree.State, k Kind, b *Ref) error {
	d, err := find(s, k, b.Name)
	if err != nil {
		return err
	}
	for n := d.First; n <= d.Version; n++ {
		v, _, err := readText(s, k, d.Name, n)
		if err != nil {
			return err
		}
		s.Delete(k.keyText(d.Name, n))
		if v.Secret != "" {
			if err := jobs.FreeSecret(s, v.Secret, jobs.TemplateUser(d.Name, n)); err != nil {
				return err
			}
		}
	}
	s.Delete(k.key(d.Name))
	if err := s.Set(k.keyGone(d.Name), d.Version); err != nil {
		return err
	}
	return s.Event(command(k, "delete"), d.Name, "version=%d", d.Version)
}

func remove(s *agree.State, k Kind, b *Ref) (any, error) { return nil, Remove(s, k, b) }

// mayBeMade refuses a name that cannot be given, or is. It returns the last version that the name had before.
func mayBeMade(s *agree.State, k Kind, name string) (last int, err error) {
	if err := agree.CheckName(k.word(), name); err != nil {
		return 0, err
	}
	if k == Schedule && slices.Contains(Standard(), name) {
		return 0, agree.Refuse(agree.Conflict, "schedule %s comes with the system", name)
	}
	if there, err := agree.Has(s, k.key(name)); err != nil || there {
		return 0, agree.OrConflict(err, "there is a %s %s already", k.word(), name)
	}
	last, _, err = agree.Get[int](s, k.keyGone(name))
	return last, err
}

// find returns the definition, or a refusal when there is none that can be changed.
func find(s *agree.State, k Kind, name string) (Definition, error) {
	d, there, err := agree.Get[Definition](s, k.key(name))
	if err == nil && !there && k == Schedule && slices.Contains(Standard(), name) {
		return d, agree.Refuse(agree.Unsafe, "schedule %s comes with the system, and stays as it is", name)
	}
	if err != nil || !there {
		return d, agree.OrNotFound(err, "no %s %q", k.word(), agree.Clip(name, 64))
	}
	return d, nil
}

// put stores the definition as changed now.
func put(s *agree.State, k Kind, d *Definition) error {
	d.Changed, d.By = s.At, s.Actor
	return s.Set(k.key(d.Name), d)
}

// command is the name of an act on a kind, for the trail.
func command(k Kind, act string) agree.Kind { return agree.Kind(string(k) + "." + act) }
