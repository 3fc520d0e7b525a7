package domains

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

func setConfiguration(s *agree.State, b *Configuring) (any, error) {
	d, err := find(s, b.Domain)
	if err != nil {
		return nil, err
	}
	if err := b.check(s); err != nil {
		return nil, err
	}
	c, there, err := agree.Get[Configuration](s, keyConfig(b.Domain, b.Name))
	if err != nil {
		return nil, err
	}
	if c.Version != b.Version {
		return nil, agree.Refuse(agree.Conflict, "configuration %s of %s was changed meanwhile: it has version %d",
			b.Name, b.Domain, c.Version)
	}
	if !there {
		if d.Configurations >= maxConfigurations {
			return nil, agree.Refuse(agree.Invalid, "domain %s has %d configurations: no more", d.Name,
				d.Configurations)
		}
		d.Configurations++
		if err := put(s, d); err != nil {
			return nil, err
		}
		if c.Index = s.Index; b.Name == DefaultConfiguration { // it was there, implied
			c.Index = d.Index
		}
	} else {
		s.Delete(keyTemplate(&c))
	}
	if err := b.setSettings(s, &c); err != nil {
		return nil, err
	}
	c.Domain, c.Name, c.Template, c.Lists, c.Comments = b.Domain, b.Name, b.Template, b.Lists, b.Comments
	c.Objects, c.Bytes, c.Version, c.Changed = b.Objects, b.Bytes, c.Version+1, s.At
	s.Mark(keyTemplate(&c))
	if err := s.Set(keyConfig(c.Domain, c.Name), c); err != nil {
		return nil, err
	}
	return &c, s.Event(SetConfiguration, string(c.Domain), "configuration=%s version=%d template=%s", c.Name, c.Version,
		c.Template)
}

// check refuses what cannot be a configuration.
func (b *Configuring) check(s *agree.State) error {
	if err := agree.CheckName("configuration", b.Name); err != nil {
		return err
	}
	if err := agree.CheckName("template", b.Template); err != nil {
		return err
	}
	if err := checkLimit("objects", b.Objects); err != nil {
		return err
	}
	if err := checkLimit("bytes", b.Bytes); err != nil {
		return err
	}
	if err := checkText("comments", b.Comments, maxComments); err != nil {
		return err
	}
	if b.Settings != nil {
		if err := checkText("settings", *b.Settings, maxSettings); err != nil {
			return err
		}
	}
	if len(b.Lists) > maxListsOf {
		return agree.Refuse(agree.Invalid, "a configuration with %d seed lists: at most %d", len(b.Lists), maxListsOf)
	}
	for i, name := range b.Lists {
		if slices.Contains(b.Lists[:i], name) {
			return agree.Refuse(agree.Invalid, "seed list %s is named twice", agree.Clip(name, 64))
		}
		l, there, err := agree.Get[List](s, keyList(b.Domain, Seeds, name))
		if err != nil {
			return err
		}
		if (!there || l.Removed != 0) && name != DefaultSeedList {
			return agree.Refuse(agree.NotFound, "domain %s has no seed list %q", b.Domain, agree.Clip(name, 64))
		}
	}
	return nil
}

// setSettings gives a configuration its settings, and the secret that they refer to.
func (b *Configuring) setSettings(s *agree.State, c *Configuration) error {
	if b.Settings == nil {
		if b.Secret != nil {
			return agree.Refuse(agree.Invalid, "a secret comes with the settings that refer to it")
		}
		return nil
	}
	user := jobs.ConfigurationUser(string(b.Domain), b.Name)
	if c.Secret != "" {
		if err := jobs.FreeSecret(s, c.Secret, user); err != nil {
			return err
		}
	}
	c.Settings, c.Secret = *b.Settings, ""
	if b.Secret == nil {
		return nil
	}
	var err error
	c.Secret, err = jobs.KeepSecret(s, b.Secret, user)
	return err
}

// removeConfiguration removes a configuration that is not the domain's default. DefaultConfiguration is implied again.
func removeConfiguration(s *agree.State, b *PartRef) (any, error) {
	d, err := find(s, b.Domain)
	if err != nil {
		return nil, err
	}
	c, there, err := agree.Get[Configuration](s, keyConfig(b.Domain, b.Name))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "domain %s has no configuration %q of its own", d.Name,
			agree.Clip(b.Name, 64))
	}
	if d.Default == c.Name {
		return nil, agree.Refuse(agree.Conflict, "configuration %s is used: it is the default of %s", c.Name, d.Name)
	}
	if err := dropConfiguration(s, &c); err != nil {
		return nil, err
	}
	d.Configurations--
	if err := put(s, d); err != nil {
		return nil, err
	}
	return nil, s.Event(RemoveConfiguration, string(d.Name), "configuration=%s reason=%s", c.Name,
		agree.ClipReason(b.Reason))
}
