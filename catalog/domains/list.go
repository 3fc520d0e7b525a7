package domains

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"holdfast/catalog/agree"
)

// upload is a text whose parts are being added.
type upload struct {
	Upload string       `json:"upload"`
	Parts  int          `json:"parts"`
	Bytes  int64        `json:"bytes"`
	Sum    agree.Digest `json:"sum"`
}

// encodeText writes the version and the text as it is.
func encodeText(text string) []byte { return append([]byte{agree.ValueVersion}, text...) }

func decodeText(value []byte) (string, error) {
	if len(value) == 0 || value[0] != agree.ValueVersion {
		return "", fmt.Errorf("a list's text of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	return string(value[1:]), nil
}

// nextSum is the sum of all parts with one more.
func nextSum(sum agree.Digest, text string) agree.Digest {
	of := sha256.Sum256([]byte(text))
	return sha256.Sum256(append(sum[:], of[:]...))
}

// SumOf returns the sum that a list with these parts has.
func SumOf(parts []string) (sum agree.Digest) {
	for _, text := range parts {
		sum = nextSum(sum, text)
	}
	return sum
}

// Divide returns a text as parts, between whole characters; the empty text has none.
func Divide(text string) (parts []string) {
	for text != "" {
		piece := agree.Clip(text, MaxPartBytes)
		parts = append(parts, piece)
		text = text[len(piece):]
	}
	return parts
}

// addText adds the next part to a text that does not count yet. The same part again changes nothing.
func addText(s *agree.State, b *TextAddition) (any, error) {
	if _, err := find(s, b.Domain); err != nil {
		return nil, err
	}
	if err := b.Kind.check(b.List); err != nil {
		return nil, err
	}
	if err := agree.CheckName("upload", b.Upload); err != nil {
		return nil, err
	}
	if b.Text == "" || len(b.Text) > MaxPartBytes || b.Number < 1 || b.Number > MaxParts {
		return nil, agree.Refuse(agree.Invalid, "part %d of %d bytes: want 1 to %d bytes, and at most %d parts",
			b.Number, len(b.Text), MaxPartBytes, MaxParts)
	}
	l, _, err := agree.Get[List](s, keyList(b.Domain, b.Kind, b.List))
	if err != nil {
		return nil, err
	}
	open, _, err := agree.Get[upload](s, keyOpen(b.Domain, b.Kind, b.List))
	if err != nil {
		return nil, err
	}
	key := func(n int) string { return keyText(b.Domain, b.Kind, b.List, l.Version+1, n) }
	switch same := open.Upload == b.Upload; {
	case same && b.Number <= open.Parts:
		stored, err := s.Get([]byte(key(b.Number)))
		if err != nil {
			return nil, err
		}
		if !slices.Equal(stored, encodeText(b.Text)) {
			return nil, agree.Refuse(agree.Conflict, "upload %s has another part %d", b.Upload, b.Number)
		}
		return nil, nil
	case !same && b.Number == 1:
		for n := 1; n <= open.Parts; n++ {
			s.Delete(key(n))
		}
		open = upload{Upload: b.Upload}
	case !same || b.Number != open.Parts+1:
		return nil, agree.Refuse(agree.Conflict, "part %d of upload %s is not the next one", b.Number, b.Upload)
	}
	open.Parts, open.Bytes, open.Sum = open.Parts+1, open.Bytes+int64(len(b.Text)), nextSum(open.Sum, b.Text)
	s.Put(key(b.Number), encodeText(b.Text))
	return nil, s.Set(keyOpen(b.Domain, b.Kind, b.List), open)
}

// setList makes a text the next version of a list.
func setList(s *agree.State, b *Listing) (any, error) {
	d, err := find(s, b.Domain)
	if err != nil {
		return nil, err
	}
	if err := b.Kind.check(b.Name); err != nil {
		return nil, err
	}
	if err := checkText("comments", b.Comments, maxComments); err != nil {
		return nil, err
	}
	l, there, err := agree.Get[List](s, keyList(b.Domain, b.Kind, b.Name))
	if err != nil {
		return nil, err
	}
	if l.Removed != 0 {
		there = false
	}
	if there && l.Version != b.Version || !there && b.Version != 0 {
		return nil, agree.Refuse(agree.Conflict, "list %s of %s was changed meanwhile: it has version %d", b.Name,
			d.Name, l.Version)
	}
	if !there && b.Kind == Seeds {
		if d.Lists >= maxLists {
			return nil, agree.Refuse(agree.Invalid, "domain %s has %d seed lists: no more", d.Name, d.Lists)
		}
		d.Lists++
		if err := put(s, d); err != nil {
			return nil, err
		}
	}
	text, err := b.take(s, l.Version+1)
	if err != nil {
		return nil, err
	}
	if text.Sum != b.Sum || b.Items < 0 || int64(b.Items) > text.Bytes {
		return nil, agree.Refuse(agree.Conflict, "the text of list %s is not the one that was meant", b.Name)
	}
	l = List{Domain: b.Domain, Kind: b.Kind, Name: b.Name, Version: l.Version + 1, Parts: text.Parts, Items: b.Items,
		Bytes: text.Bytes, Sum: text.Sum, Comments: b.Comments, Changed: s.At}
	if err := s.Set(keyList(l.Domain, l.Kind, l.Name), l); err != nil {
		return nil, err
	}
	return &l, s.Event(SetList, string(l.Domain), "%s=%s version=%d items=%d", l.Kind, l.Name, l.Version, l.Items)
}

// take returns the text of the list's next version: the one in the command, or the one whose parts were added.
func (b *Listing) take(s *agree.State, version uint64) (upload, error) {
	open, there, err := agree.Get[upload](s, keyOpen(b.Domain, b.Kind, b.Name))
	if err != nil {
		return open, err
	}
	if b.Upload != "" {
		if open.Upload != b.Upload || open.Parts != b.Parts || b.Text != "" {
			return open, agree.Refuse(agree.Conflict, "the parts of upload %s are not there any more",
				agree.Clip(b.Upload, 64))
		}
		s.Delete(keyOpen(b.Domain, b.Kind, b.Name))
		return open, nil
	}
	if len(b.Text) > MaxPartBytes {
		return open, agree.Refuse(agree.Invalid, "text of %d bytes: at most %d in one command", len(b.Text),
			MaxPartBytes)
	}
	if there {
		for n := 1; n <= open.Parts; n++ {
			s.Delete(keyText(b.Domain, b.Kind, b.Name, version, n))
		}
		s.Delete(keyOpen(b.Domain, b.Kind, b.Name))
	}
	if b.Text == "" {
		return upload{}, nil
	}
	s.Put(keyText(b.Domain, b.Kind, b.Name, version, 1), encodeText(b.Text))
	return upload{Parts: 1, Bytes: int64(len(b.Text)), Sum: nextSum(agree.Digest{}, b.Text)}, nil
}

// removeList removes a seed list that no configuration uses. DefaultSeedList is implied again.
func removeList(s *agree.State, b *PartRef) (any, error) {
	d, err := find(s, b.Domain)
	if err != nil {
		return nil, err
	}
	l, there, err := agree.Get[List](s, keyList(b.Domain, Seeds, b.Name))
	if err != nil || !there || l.Removed != 0 {
		return nil, agree.OrNotFound(err, "domain %s has no seed list %q of its own", d.Name, agree.Clip(b.Name, 64))
	}
	configs, err := NewView(s).Configurations(d.Name, "", 0)
	if err != nil {
		return nil, err
	}
	for i := range configs {
		if l.Name != DefaultSeedList && slices.Contains(configs[i].Lists, l.Name) {
			return nil, agree.Refuse(agree.Conflict, "seed list %s is used by configuration %s", l.Name,
				configs[i].Name)
		}
	}
	l.Removed = s.At
	if err := s.Set(keyList(l.Domain, l.Kind, l.Name), l); err != nil {
		return nil, err
	}
	d.Lists--
	if err := put(s, d); err != nil {
		return nil, err
	}
	return nil, s.Event(RemoveList, string(d.Name), "seeds=%s reason=%s", l.Name, agree.ClipReason(b.Reason))
}
