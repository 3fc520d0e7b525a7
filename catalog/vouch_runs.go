package catalog

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/people"
	"holdfast/catalog/runs"
)

// askedOfHarvest answers with the collection that a harvest is of.
func askedOfHarvest(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.KeepHarvest}
	var b struct {
		Number     uint64         `json:"number"`
		Collection CollectionName `json:"collection"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	if c.Kind != runs.Create {
		h, err := runs.NewView(r.Reader).Harvest(b.Number)
		if errors.Is(err, ErrNotFound) {
			return want, nil
		}
		if err != nil {
			return want, err
		}
		b.Collection = h.Collection
	}
	want.Where.Collections = append(want.Where.Collections, b.Collection)
	return want, nil
}
