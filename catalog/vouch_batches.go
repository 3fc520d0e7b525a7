package catalog

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/batches"
	"holdfast/catalog/people"
)

// askedOfBatch answers with the collections that a batch reads; none means all.
func askedOfBatch(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.RunBatch}
	var b struct {
		ID        string `json:"id"`
		Selection struct {
			Collections []CollectionName `json:"collections"`
		} `json:"selection"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	if c.Kind == batches.Open {
		want.Where.Collections = b.Selection.Collections
		return want, nil
	}
	view := batches.NewView(r.Reader)
	one, err := view.Batch(b.ID)
	if errors.Is(err, ErrNotFound) {
		return want, nil
	}
	if err == nil {
		want.Where.Collections, err = view.Reach(&one)
	}
	return want, err
}
