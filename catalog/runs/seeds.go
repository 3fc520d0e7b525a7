package runs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
)

// SeedsAddition gives an event harvest seeds: each domain gets them in a list, with a configuration that the harvest
// has. The template and the limits are those of configurations that are not there yet.
type SeedsAddition struct {
	Number   uint64            `json:"number"`
	Template string            `json:"template"`
	Objects  *int64            `json:"objects,omitempty"`
	Bytes    *int64            `json:"bytes,omitempty"`
	Domains  []domains.Seeding `json:"domains"`
}

// SeedsAdded is the answer to a SeedsAddition.
type SeedsAdded struct {
	Domains        int64 `json:"domains"`        // that were made
	Configurations int64 `json:"configurations"` // that the harvest did not have
}

// addSeeds gives an event harvest seeds. What is there already changes nothing.
func addSeeds(s *agree.State, b *SeedsAddition) (any, error) {
	if err := agree.CheckItems(len(b.Domains)); err != nil {
		return nil, err
	}
	h, err := find(s, b.Number)
	if err != nil {
		return nil, err
	}
	if h.Kind != Event {
		return nil, agree.Refuse(agree.Conflict,
			"harvest %d is a %s harvest: seeds are given in bulk to event harvests", h.Number, h.Kind)
	}
	o := domains.Occasion{Collection: h.Collection, Template: b.Template, Objects: b.Objects, Bytes: b.Bytes}
	if err := o.Check(); err != nil {
		return nil, err
	}
	var added SeedsAdded
	seeds := 0
	for i := range b.Domains {
		d := &b.Domains[i]
		made, err := o.Seed(s, d)
		if err != nil {
			return nil, err
		}
		if made {
			added.Domains++
		}
		seeds += d.Items
		c := Configuration{d.Domain, d.Name}
		there, err := agree.Has(s, keyConfig(h.Number, c))
		if err != nil {
			return nil, err
		}
		if !there {
			s.Mark(keyConfig(h.Number, c))
			s.Mark(keyOf(c, h.Number))
			added.Configurations++
		}
	}
	if added.Configurations > 0 {
		h.Configurations += added.Configurations
		if err := changed(s, h.Next, h); err != nil {
			return nil, err
		}
	}
	return &added, s.Event(AddSeeds, h.Name, "number=%d seeds=%d domains=%d made=%d", h.Number, seeds, len(b.Domains),
		added.Domains)
}
