package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// find returns the domain, or a refusal if there is none or it is being removed.
func find(s *agree.State, name Name) (*Domain, error) {
	d, there, err := agree.Get[Domain](s, keyDomain(name))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no domain %q", agree.Clip(string(name), 253))
	}
	if d.Removing {
		return nil, agree.Refuse(agree.Conflict, "domain %s is being removed", name)
	}
	return &d, nil
}

func put(s *agree.State, d *Domain) error { return s.Set(keyDomain(d.Name), d) }

// changed stores a domain that was changed.
func changed(s *agree.State, d *Domain) error {
	d.Version++
	return put(s, d)
}

func hasCollection(s *agree.State, name cluster.CollectionName) error {
	if there, err := cluster.In(s).HasCollection(name); err != nil || !there {
		return agree.OrNotFound(err, "no collection %q", agree.Clip(string(name), 64))
	}
	return nil
}

// count notes how many domains more a collection has.
func count(s *agree.State, of cluster.CollectionName, more int64) error {
	n, _, err := agree.Get[int64](s, keyCount(of))
	if err != nil || more == 0 {
		return err
	}
	if n += more; n <= 0 {
		s.Delete(keyCount(of))
		return nil
	}
	return s.Set(keyCount(of), n)
}

// NoneOf refuses while the collection has domains.
func NoneOf(s *agree.State, of cluster.CollectionName) error {
	n, err := NewView(s).Count(of)
	if err != nil || n == 0 {
		return err
	}
	return agree.Refuse(agree.Conflict, "collection %s has %d domains", of, n)
}

func create(s *agree.State, b *Creation) (any, error) {
	if err := b.Name.Check(); err != nil {
		return nil, err
	}
	if err := hasCollection(s, b.Collection); err != nil {
		return nil, err
	}
	if err := checkSaid(b.Owner, b.Comments); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyDomain(b.Name)); err != nil || there {
		return nil, agree.OrConflict(err, "there is a domain %s already", b.Name)
	}
	d := &Domain{Name: b.Name, Collection: b.Collection, Index: s.Index, Created: s.At, Owner: b.Owner,
		Comments: b.Comments}
	if err := setFields(s, d, b.Fields); err != nil {
		return nil, err
	}
	if err := count(s, d.Collection, 1); err != nil {
		return nil, err
	}
	if err := put(s, d); err != nil {
		return nil, err
	}
	return d, s.Event(Create, string(d.Name), "collection=%s", d.Collection)
}

func set(s *agree.State, b *Change) (any, error) {
	d, err := find(s, b.Name)
	if err != nil {
		return nil, err
	}
	if b.Version != d.Version {
		return nil, agree.Refuse(agree.Conflict, "domain %s was changed meanwhile: it has version %d", d.Name,
			d.Version)
	}
	what := ""
	if b.Collection != nil && *b.Collection != d.Collection {
		if err := move(s, d, *b.Collection); err != nil {
			return nil, err
		}
		what += " collection=" + string(d.Collection)
	}
	if b.Default != nil && *b.Default != d.DefaultName() {
		if err := setDefault(s, d, *b.Default); err != nil {
			return nil, err
		}
		what += " default=" + d.DefaultName()
	}
	if b.Owner != nil && *b.Owner != d.Owner {
		d.Owner = *b.Owner
		what += " owner"
	}
	if b.Comments != nil && *b.Comments != d.Comments {
		d.Comments = *b.Comments
		what += " comments"
	}
	if b.Fields != nil {
		if err := setFields(s, d, *b.Fields); err != nil {
			return nil, err
		}
		what += " fields"
	}
	if err := checkSaid(d.Owner, d.Comments); err != nil || what == "" {
		return d, err
	}
	if err := changed(s, d); err != nil {
		return nil, err
	}
	return d, s.Event(Set, string(d.Name), "changed%s", what)
}

// move puts a domain into another collection.
func move(s *agree.State, d *Domain, to cluster.CollectionName) error {
	if err := hasCollection(s, to); err != nil {
		return err
	}
	if d.Alias != nil {
		return agree.Refuse(agree.Conflict, "domain %s is an alias of %s: end that before it gets another collection",
			d.Name, d.Alias.Of)
	}
	first, err := NewView(s).AliasesOf(d.Name, "", 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		return agree.Refuse(agree.Conflict, "domain %s has the alias %s: end that before it gets another collection",
			d.Name, first[0])
	}
	if err := count(s, d.Collection, -1); err != nil {
		return err
	}
	d.Collection = to
	return count(s, to, 1)
}

// setDefault makes a configuration the domain's default.
func setDefault(s *agree.State, d *Domain, name string) error {
	if name == DefaultConfiguration {
		d.Default = ""
		return nil
	}
	if there, err := agree.Has(s, keyConfig(d.Name, name)); err != nil || !there {
		return agree.OrNotFound(err, "domain %s has no configuration %q", d.Name, agree.Clip(name, 64))
	}
	d.Default = name
	return nil
}

// setFields gives a domain the values of its extended fields.
func setFields(s *agree.State, d *Domain, values []FieldValue) error {
	if err := CheckFields(s, OfDomains, values); err != nil {
		return err
	}
	UseFields(s, OfDomains, string(d.Name), d.Fields, values)
	d.Fields = values
	return nil
}

// setAlias makes, renews or ends an alias. No domain is an alias of one that is an alias itself, so that there is no
// circle.
func setAlias(s *agree.State, b *Aliasing) (any, error) {
	d, err := find(s, b.Name)
	if err != nil {
		return nil, err
	}
	if b.Of == "" {
		if d.Alias == nil {
			return d, nil
		}
		of := d.Alias.Of
		dropAlias(s, d)
		if err := changed(s, d); err != nil {
			return nil, err
		}
		return d, s.Event(SetAlias, string(d.Name), "no alias of %s any more", of)
	}
	if err := mayAlias(s, d, b); err != nil {
		return nil, err
	}
	dropAlias(s, d)
	d.Alias = &Alias{Of: b.Of, Since: s.At, Until: b.Until}
	s.Mark(keyAlias(b.Of, d.Name))
	s.Mark(keyExpiry(b.Until, d.Name))
	if err := changed(s, d); err != nil {
		return nil, err
	}
	return d, s.Event(SetAlias, string(d.Name), "alias of %s until %d", b.Of, b.Until)
}

func mayAlias(s *agree.State, d *Domain, b *Aliasing) error {
	if b.Of == d.Name {
		return agree.Refuse(agree.Invalid, "a domain is no alias of itself")
	}
	if b.Until <= s.At {
		return agree.Refuse(agree.Invalid, "an alias cannot expire in the past")
	}
	if b.Until > lastTime {
		return agree.Refuse(agree.Invalid, "an alias cannot expire after the year 9999")
	}
	of, err := find(s, b.Of)
	if err != nil {
		return err
	}
	if of.Collection != d.Collection {
		return agree.Refuse(agree.Conflict, "domain %s is of collection %s, and %s of %s: snapshots of %s would have "+
			"neither", d.Name, d.Collection, of.Name, of.Collection, d.Collection)
	}
	if of.Alias != nil {
		return agree.Refuse(agree.Conflict, "domain %s is an alias of %s itself", of.Name, of.Alias.Of)
	}
	if first, err := NewView(s).AliasesOf(d.Name, "", 1); err != nil || len(first) > 0 {
		if err != nil {
			return err
		}
		return agree.Refuse(agree.Conflict, "domain %s cannot be an alias: %s is an alias of it", d.Name, first[0])
	}
	return nil
}

// lastTime is the last millisecond of the year 9999.
const lastTime agree.Time = 253402300799999

func dropAlias(s *agree.State, d *Domain) {
	if d.Alias != nil {
		s.Delete(keyAlias(d.Alias.Of, d.Name))
		s.Delete(keyExpiry(d.Alias.Until, d.Name))
		d.Alias = nil
	}
}
