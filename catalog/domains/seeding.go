package domains

import (
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// MaxSeedingBytes is how long a list may be to which seeds are added in bulk: each addition is a version, with its
// whole text. Longer lists are uploaded whole.
const MaxSeedingBytes = 3 * MaxPartBytes

// Occasion says what domains get whose seeds are given in bulk.
type Occasion struct {
	Collection cluster.CollectionName
	Template   string
	Objects    *int64
	Bytes      *int64
}

// Seeding gives a domain seeds: in a list, and in a configuration of the same name that has the list. What is not there
// is made. Version is the one that the list has, 0 for none.
type Seeding struct {
	Domain  Name   `json:"domain"`
	Name    string `json:"name"`
	Version uint64 `json:"version,omitempty"`
	Text    string `json:"text,omitempty"` // lines that are added to the list; none if it has them all
	Items   int    `json:"items,omitempty"`
}

// Check refuses an occasion that no configuration could be made for.
func (o *Occasion) Check() error {
	if err := agree.CheckName("template", o.Template); err != nil {
		return err
	}
	if err := checkLimit("objects", o.Objects); err != nil {
		return err
	}
	return checkLimit("bytes", o.Bytes)
}

// Seed gives a domain seeds. It reports whether the domain was made.
func (o *Occasion) Seed(s *agree.State, b *Seeding) (made bool, err error) {
	if err := agree.CheckName("seed list", b.Name); err != nil {
		return false, err
	}
	d, made, err := o.domain(s, b.Domain)
	if err != nil {
		return false, err
	}
	if err := b.extend(s, d); err != nil {
		return false, err
	}
	if err := o.configure(s, d, b.Name); err != nil {
		return false, err
	}
	return made, put(s, d)
}

// domain returns the domain, which is made if it is not there.
func (o *Occasion) domain(s *agree.State, name Name) (d *Domain, made bool, err error) {
	there, err := agree.Has(s, keyDomain(name))
	if err != nil {
		return nil, false, err
	}
	if !there {
		if err := name.Check(); err != nil {
			return nil, false, err
		}
		d := &Domain{Name: name, Collection: o.Collection, Index: s.Index, Created: s.At}
		return d, true, count(s, o.Collection, 1)
	}
	if d, err = find(s, name); err == nil && d.Collection != o.Collection {
		err = agree.Refuse(agree.Conflict, "domain %s is of collection %s, not of %s", d.Name, d.Collection,
			o.Collection)
	}
	return d, false, err
}

// extend adds lines to the domain's list.
func (b *Seeding) extend(s *agree.State, d *Domain) error {
	l, there, err := agree.Get[List](s, keyList(b.Domain, Seeds, b.Name))
	if err != nil {
		return err
	}
	if there = there && l.Removed == 0; !there {
		l.Parts, l.Items, l.Bytes, l.Comments = 0, 0, 0, ""
	}
	if there && l.Version != b.Version || !there && b.Version != 0 {
		return agree.Refuse(agree.Conflict, "list %s of %s was changed meanwhile: it has version %d", b.Name, b.Domain,
			l.Version)
	}
	if b.Text == "" && there {
		return nil
	}
	if b.Text == "" || len(b.Text) > MaxPartBytes || !strings.HasSuffix(b.Text, "\n") || b.Items < 1 ||
		b.Items > len(b.Text) {
		return agree.Refuse(agree.Invalid, "%d seeds in %d bytes: want lines of at most %d bytes", b.Items, len(b.Text),
			MaxPartBytes)
	}
	var text strings.Builder
	for n := 1; n <= l.Parts; n++ {
		part, err := NewView(s).Text(b.Domain, Seeds, b.Name, l.Version, n)
		if err != nil {
			return err
		}
		_, _ = text.WriteString(part)
	}
	if before := text.String(); before != "" && !strings.HasSuffix(before, "\n") {
		_, _ = text.WriteString("\n")
	}
	if text.Len()+len(b.Text) > MaxSeedingBytes {
		return agree.Refuse(agree.Invalid, "seed list %s of %s would have %d bytes: want at most %d", b.Name, b.Domain,
			text.Len()+len(b.Text), MaxSeedingBytes)
	}
	_, _ = text.WriteString(b.Text)
	parts := Divide(text.String())
	if !there {
		if d.Lists >= maxLists {
			return agree.Refuse(agree.Invalid, "domain %s has %d seed lists: no more", d.Name, d.Lists)
		}
		d.Lists++
	}
	if err := b.forgetUpload(s, l.Version+1); err != nil {
		return err
	}
	l = List{Domain: b.Domain, Kind: Seeds, Name: b.Name, Version: l.Version + 1, Parts: len(parts),
		Items: l.Items + b.Items, Sum: SumOf(parts), Comments: l.Comments, Changed: s.At}
	for i, part := range parts {
		l.Bytes += int64(len(part))
		s.Put(keyText(l.Domain, l.Kind, l.Name, l.Version, i+1), encodeText(part))
	}
	return s.Set(keyList(l.Domain, l.Kind, l.Name), l)
}

// forgetUpload deletes the parts of an upload that is under way: they lie where the next version does.
func (b *Seeding) forgetUpload(s *agree.State, version uint64) error {
	key := keyOpen(b.Domain, Seeds, b.Name)
	open, there, err := agree.Get[upload](s, key)
	if err != nil || !there {
		return err
	}
	for n := 1; n <= open.Parts; n++ {
		s.Delete(keyText(b.Domain, Seeds, b.Name, version, n))
	}
	s.Delete(key)
	return nil
}

// configure makes the configuration, unless it is there.
func (o *Occasion) configure(s *agree.State, d *Domain, name string) error {
	c, there, err := agree.Get[Configuration](s, keyConfig(d.Name, name))
	if err != nil {
		return err
	}
	if there {
		if !slices.Contains(c.Lists, name) {
			return agree.Refuse(agree.Conflict, "configuration %s of %s does not have the seed list %s", name, d.Name,
				name)
		}
		return nil
	}
	if d.Configurations >= maxConfigurations {
		return agree.Refuse(agree.Invalid, "domain %s has %d configurations: no more", d.Name, d.Configurations)
	}
	d.Configurations++
	c = Configuration{Domain: d.Name, Name: name, Template: o.Template, Lists: []string{name}, Objects: o.Objects,
		Bytes: o.Bytes, Version: 1, Index: s.Index, Changed: s.At}
	if name == DefaultConfiguration { // it was there, implied
		c.Index = d.Index
	}
	s.Mark(keyTemplate(&c))
	return s.Set(keyConfig(c.Domain, c.Name), c)
}
