package catalog

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"holdfast/alert"
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/notices"
	"holdfast/catalog/people"
	"holdfast/catalog/runs"
)

// AlertWhere returns the collections and places that an alert is about, as far as the catalog tells. One about what is
// not there any more, or about the whole cluster, is about none.
func AlertWhere(v View, of notices.Of) (Where, error) { return whereOf(v.ofFiles.Reader, of) }

func whereOf(r agree.Reader, of notices.Of) (where Where, err error) {
	var collection CollectionName
	number := func() uint64 { n, _ := strconv.ParseUint(of.Subject, 10, 64); return n }
	node := of.Node
	v := NewView(r)
	switch alert.Kind(of.Kind).About() {
	case alert.OfNode:
		node = of.Subject
	case alert.OfPlace:
		where.Places = append(where.Places, of.Subject)
	case alert.OfReplica:
		replica, err := v.Replica(ReplicaName(of.Subject))
		if err == nil {
			where.Places = append(where.Places, replica.Place)
		} else if !errors.Is(err, ErrNotFound) {
			return where, err
		}
	case alert.OfJob:
		var j Job
		j, err = v.Job(number())
		collection = j.Collection
	case alert.OfHarvest, alert.OfRun:
		of.Subject, _, _ = strings.Cut(of.Subject, "/")
		var h runs.Harvest
		h, err = RunsIn(v).Harvest(number())
		collection = h.Collection
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return where, err
	}
	if collection != "" {
		where.Collections = append(where.Collections, collection)
	}
	if node == "" || len(where.Places) > 0 {
		return where, nil
	}
	id, there, err := cluster.In(r).Named(node)
	if err != nil || !there {
		return where, err
	}
	place, err := People{people.NewView(r)}.PlaceOf(id)
	if err == nil && place != "" {
		where.Places = append(where.Places, place)
	}
	return where, err
}

// AcknowledgingAct returns what it is to acknowledge an alert, for May, and where.
func AcknowledgingAct(v View, of notices.Of) (Act, Where, error) {
	where, err := AlertWhere(v, of)
	return ackOf(of), where, err
}

func ackOf(of notices.Of) Act {
	if alert.Kind(of.Kind).Archivists() {
		return people.AcknowledgeWork
	}
	return people.AcknowledgeNode
}

// askedOfAlert answers with what the alert is about.
func askedOfAlert(r People, _ NodeID, c *Command) (people.Wanted, error) {
	var b notices.Of
	if json.Unmarshal(c.Body, &b) != nil {
		return people.Wanted{Act: people.AcknowledgeNode}, nil
	}
	where, err := whereOf(r.Reader, b)
	return people.Wanted{Act: ackOf(b), Where: where}, err
}

// askedOfAddress answers with the collections that an address is told of, and is to be told of. One without a
// collection is told of all. To reach the nodes' own network is an act of its own.
func askedOfAddress(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.KeepNotices}
	var b struct {
		Name    string          `json:"name"`
		Address notices.Address `json:"address"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	if b.Name == "" {
		b.Name = b.Address.Name
	}
	old, err := notices.NewView(r.Reader).Address(b.Name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return want, err
	}
	there := err == nil
	given := c.Kind == notices.Create || c.Kind == notices.Set
	if given {
		want.Where.Collections = append(want.Where.Collections, CollectionName(b.Address.Collection))
	}
	if there {
		want.Where.Collections = append(want.Where.Collections, CollectionName(old.Collection))
	}
	if given && NoticeReachesInside(&old, &b.Address) {
		return people.Wanted{Act: people.ReachInside}, nil
	}
	return want, nil
}

// NoticeReachesInside reports whether a change of an address lets notices reach the nodes' own network in a way in
// which they do not yet. old is empty for a new address.
func NoticeReachesInside(old, next *notices.Address) bool {
	return next.Inside && (!old.Inside || next.Sealed != nil)
}
