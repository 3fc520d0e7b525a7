package catalog

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// unlessUsed has the rules refuse what would take from a harvest what it uses: domains, channels and schedules do not
// know of harvests.
func unlessUsed(rules []agree.Rule) []agree.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		switch r := &rules[i]; r.Kind {
		case domains.Remove:
			r.Do = agree.Unless(func(s *agree.State, b *domains.Ref) error { return runs.Unused(s, b.Name, "") }, r.Do)
		case domains.RemoveConfiguration:
			r.Do = agree.Unless(configurationUsed, r.Do)
		case domains.Set:
			r.Do = agree.Unless(collectionUsed, r.Do)
		case harvests.DeleteChannel:
			r.Do = agree.Unless(func(s *agree.State, b *harvests.Ref) error { return runs.ChannelUnused(s, b.Name) },
				r.Do)
		case harvests.DeleteSchedule:
			r.Do = agree.Unless(func(s *agree.State, b *harvests.Ref) error { return runs.ScheduleUnused(s, b.Name) },
				r.Do)
		}
	}
	return rules
}

// configurationUsed refuses to remove a configuration that a harvest has. The default one is implied again.
func configurationUsed(s *agree.State, b *domains.PartRef) error {
	if b.Name == domains.DefaultConfiguration {
		return nil
	}
	return runs.Unused(s, b.Domain, b.Name)
}

// collectionUsed refuses to move a domain away from the collection of the harvests that have it.
func collectionUsed(s *agree.State, b *domains.Change) error {
	if b.Collection == nil {
		return nil
	}
	d, err := domains.NewView(s).Domain(b.Name)
	if err != nil || d.Collection == *b.Collection {
		if err == agree.ErrNotFound {
			err = nil // the handler refuses it
		}
		return err
	}
	return runs.Unused(s, b.Name, "")
}
