package catalog

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/domains"
	"holdfast/catalog/people"
)

// askedOfDomain answers with the collection of the domain, and the one that it is to be of.
func askedOfDomain(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.KeepDomain}
	var b struct {
		Name       domains.Name   `json:"name"`
		Domain     domains.Name   `json:"domain"`
		Collection CollectionName `json:"collection"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	if c.Kind != domains.Create && c.Kind != domains.BeginIngest {
		if b.Domain == "" {
			b.Domain = b.Name
		}
		d, err := domains.NewView(r.Reader).Domain(b.Domain)
		if errors.Is(err, ErrNotFound) {
			return want, nil
		}
		if err != nil {
			return want, err
		}
		want.Where.Collections = append(want.Where.Collections, d.Collection)
		if b.Collection == "" {
			return want, nil
		}
	}
	want.Where.Collections = append(want.Where.Collections, b.Collection)
	return want, nil
}

// askedOfIngest answers with the collection that a list of domains is brought into.
func askedOfIngest(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.KeepDomain}
	var b struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	i, err := domains.NewView(r.Reader).Ingest(b.ID)
	if errors.Is(err, ErrNotFound) {
		return want, nil
	}
	want.Where.Collections = []CollectionName{i.Collection}
	return want, err
}
