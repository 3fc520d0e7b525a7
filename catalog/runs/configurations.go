package runs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
)

// addConfigurations gives a selective or event harvest configurations. Those that it has already change nothing.
func addConfigurations(s *agree.State, b *Listing) (any, error) {
	h, err := listed(s, b)
	if err != nil {
		return nil, err
	}
	v := domains.NewView(s)
	for _, c := range b.Configurations {
		d, there, err := notFound(v.Domain(c.Domain))
		if err != nil || !there {
			return nil, agree.OrNotFound(err, "no domain %q", agree.Clip(string(c.Domain), 253))
		}
		if d.Removing {
			return nil, agree.Refuse(agree.Conflict, "domain %s is being removed", d.Name)
		}
		if d.Collection != h.Collection {
			return nil, agree.Refuse(agree.Conflict, "domain %s is of collection %s, harvest %d of %s", d.Name,
				d.Collection, h.Number, h.Collection)
		}
		if _, there, err := notFound(v.Configuration(c.Domain, c.Name)); err != nil ||
			!there && c.Name != domains.DefaultConfiguration {
			return nil, agree.OrNotFound(err, "domain %s has no configuration %q", d.Name, agree.Clip(c.Name, 64))
		}
		key := keyConfig(h.Number, c)
		if there, err := agree.Has(s, key); err != nil || there {
			if err != nil {
				return nil, err
			}
			continue
		}
		s.Mark(key)
		s.Mark(keyOf(c, h.Number))
		h.Configurations++
	}
	if err := changed(s, h.Next, h); err != nil {
		return nil, err
	}
	return h, s.Event(AddConfigurations, h.Name, "number=%d asked=%d configurations=%d", h.Number,
		len(b.Configurations), h.Configurations)
}

// removeConfigurations takes configurations from a harvest. Those that it does not have change nothing.
func removeConfigurations(s *agree.State, b *Listing) (any, error) {
	h, err := listed(s, b)
	if err != nil {
		return nil, err
	}
	for _, c := range b.Configurations {
		if there, err := agree.Has(s, keyConfig(h.Number, c)); err != nil {
			return nil, err
		} else if there {
			h.drop(s, c)
		}
	}
	if h.Active && h.Configurations == 0 {
		return nil, agree.Refuse(agree.Conflict, "harvest %d is active and would have no configurations: "+
			"deactivate it first", h.Number)
	}
	if err := changed(s, h.Next, h); err != nil {
		return nil, err
	}
	return h, s.Event(RemoveConfigurations, h.Name, "number=%d asked=%d configurations=%d", h.Number,
		len(b.Configurations), h.Configurations)
}

// listed returns the harvest whose configurations are changed.
func listed(s *agree.State, b *Listing) (*Harvest, error) {
	if err := agree.CheckItems(len(b.Configurations)); err != nil {
		return nil, err
	}
	h, err := find(s, b.Number)
	if err != nil {
		return nil, err
	}
	if h.Kind == Snapshot {
		return nil, agree.Refuse(agree.Invalid, "a snapshot has the default configurations of all domains, and no "+
			"others")
	}
	return h, nil
}

// drop takes a configuration that the harvest has.
func (h *Harvest) drop(s *agree.State, c Configuration) {
	s.Delete(keyConfig(h.Number, c))
	s.Delete(keyOf(c, h.Number))
	h.Configurations--
}

// forget deletes a harvest that has no configurations any more.
func (h *Harvest) forget(s *agree.State) {
	domains.UseFields(s, domains.OfHarvests, agree.Hex(h.Number), h.Fields, nil)
	s.Delete(keyName(h.Name))
	s.Delete(keyIn(h.Collection, h.Number))
	s.Delete(keyHarvest(h.Number))
}

// Unused refuses while a harvest has the configuration; of all configurations of the domain if none is named.
func Unused(r agree.Reader, domain domains.Name, configuration string) error {
	prefix := prefixOfDomain(domain)
	if configuration != "" {
		prefix = prefixOfConfig(Configuration{domain, configuration})
	}
	return unused(r, prefix, "domain "+string(domain))
}

// ChannelUnused refuses while a harvest has the channel.
func ChannelUnused(r agree.Reader, name string) error {
	return unused(r, prefixUsesOf(useChannel, name), "channel "+name)
}

// ScheduleUnused refuses while a harvest has the schedule.
func ScheduleUnused(r agree.Reader, name string) error {
	return unused(r, prefixUsesOf(useSchedule, name), "schedule "+name)
}

// NoneOf refuses while the collection has harvests.
func NoneOf(r agree.Reader, of cluster.CollectionName) error {
	return unused(r, prefixInside(of), "collection "+string(of))
}

func unused(r agree.Reader, prefix, what string) error {
	tails, err := agree.Tails(r, prefix, "", 1)
	if err != nil || len(tails) == 0 {
		return err
	}
	number, err := numberAtEnd(tails[0])
	if err != nil {
		return err
	}
	return agree.Refuse(agree.Conflict, "%s is used by harvest %d", what, number)
}
