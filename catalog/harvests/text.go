package harvests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// addText makes a text the definition's next version.
func addText(s *agree.State, k Kind, d *Definition, text string, items int, secret *jobs.Secret) error {
	switch {
	case text == "" || len(text) > MaxText:
		return agree.Refuse(agree.Invalid, "text of %d bytes: want 1 to %d", len(text), MaxText)
	case !utf8.ValidString(text):
		return agree.Refuse(agree.Invalid, "the text is not UTF-8")
	case items < 0 || items > MaxItems || items != 0 && k != Traps:
		return agree.Refuse(agree.Invalid, "%d items: want 0 to %d, and only in a list of traps", items, MaxItems)
	case secret != nil && k != Template:
		return agree.Refuse(agree.Invalid, "a %s has no secret", k.word())
	case d.Version-d.First+1 >= MaxVersions:
		return agree.Refuse(agree.Conflict, "%s %s has %d versions, and can have no more: copy it", k.word(), d.Name,
			MaxVersions)
	}
	id := ""
	if secret != nil {
		var err error
		if id, err = jobs.KeepSecret(s, secret, jobs.TemplateUser(d.Name, d.Version+1)); err != nil {
			return err
		}
	}
	d.Version++
	return putText(s, k, d, text, items, id)
}

// putText writes the text of the definition's version.
func putText(s *agree.State, k Kind, d *Definition, text string, items int, secret string) error {
	value, err := encodeText(&Version{Number: d.Version, Made: s.At, By: s.Actor, Items: items, Secret: secret}, text)
	if err != nil {
		return err
	}
	s.Put(k.keyText(d.Name, d.Version), value)
	return nil
}

// encodeText writes the format's version, what is known of the text, a line feed, and the text as it is.
func encodeText(v *Version, text string) ([]byte, error) {
	head, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 2+len(head)+len(text))
	out = append(append(out, agree.ValueVersion), head...)
	return append(append(out, '\n'), text...), nil
}

func decodeText(value []byte) (v Version, text string, err error) {
	head, rest, whole := bytes.Cut(value, []byte{'\n'})
	if !whole || len(head) < 2 || head[0] != agree.ValueVersion {
		return v, "", fmt.Errorf("a text of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	if err := json.Unmarshal(head[1:], &v); err != nil {
		return v, "", fmt.Errorf("a text: %w", err)
	}
	return v, string(rest), nil
}

// readText returns a version of a definition. One that is not there is damage.
func readText(r agree.Reader, k Kind, name string, version int) (v Version, text string, err error) {
	key := k.keyText(name, version)
	value, err := r.Get([]byte(key))
	if err == nil && value == nil {
		err = agree.ErrNotFound
	}
	if err == nil {
		v, text, err = decodeText(value)
	}
	if err != nil {
		return v, "", fmt.Errorf("catalog key %q: %w", key, err)
	}
	return v, text, nil
}
