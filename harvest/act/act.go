// Package act has the acts on a crawl. Each is a struct with what it needs: its JSON is the body of the API's request
// (the query, if it only looks) and the order that goes between nodes, and its tags say what is checked. Whoever adds
// an act adds a struct with its Kind to one file of this package, and names it in that file's list.
package act

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"holdfast/harvest"
)

// Kind is the name of an act, in orders and in the API's paths.
type Kind string

// Act is one act on a crawl: one of this package's structs.
type Act interface {
	Kind() Kind
}

// Look is an act that changes nothing.
type Look interface {
	Act
	looks()
}

// Past is a Look that only reads what a crawl wrote into its folder. It can be answered after the crawl's end too.
type Past interface {
	Look
	kept()
}

type look struct{}

func (look) looks() {}

type past struct{ look }

func (past) kept() {}

// All returns every act, without values: those that look at a crawl, those that change its course, and those that
// change its queues and URIs.
func All() []Act { return slices.Concat(looks(), courses(), queueing()) }

// named returns the act of a kind, without values.
func named(kind Kind) (Act, bool) {
	for _, a := range All() {
		if a.Kind() == kind {
			return a, true
		}
	}
	return nil, false
}

// Order is an act, given by somebody, as it goes between nodes and to a crawl in a folder. In JSON, the act's fields
// stand beside "act", its kind, and "by".
type Order struct {
	Act Act
	By  string // who gives it; empty where the receiver knows that
}

// unknown is an act that this program does not have, as a newer one may send it.
type unknown struct{ kind Kind }

func (u unknown) Kind() Kind { return u.kind }

func (u unknown) check() error {
	var known []string
	for _, a := range All() {
		known = append(known, string(a.Kind()))
	}
	return harvest.Refused("act", string(u.kind), strings.Join(known, ", "))
}

// head is what all orders have in JSON.
type head struct {
	Act Kind   `json:"act"`
	By  string `json:"by,omitempty"`
}

// Kind returns the kind of the order's act, or "".
func (o Order) Kind() Kind {
	if o.Act == nil {
		return ""
	}
	return o.Act.Kind()
}

// Reads reports whether the order changes nothing.
func (o Order) Reads() bool {
	_, reads := o.Act.(Look)
	return reads
}

// Kept reports whether the order can be answered from the folder of a crawl that has ended.
func (o Order) Kept() bool {
	_, kept := o.Act.(Past)
	return kept
}

// MarshalJSON writes the order as one object.
func (o Order) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(head{o.Kind(), o.By})
	if err != nil || o.Act == nil {
		return text, err
	}
	fields, err := json.Marshal(o.Act)
	if err != nil {
		return nil, fmt.Errorf("write an order to %s: %w", o.Kind(), err)
	}
	if bytes.Equal(fields, []byte("{}")) {
		return text, nil
	}
	return slices.Concat(text[:len(text)-1], []byte(","), fields[1:]), nil
}

// UnmarshalJSON reads an order. Fields that its act does not have are ignored; an act that this program does not have
// is refused by Check.
func (o *Order) UnmarshalJSON(text []byte) error {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	o.By = h.By
	kind, known := named(h.Act)
	if !known {
		o.Act = unknown{h.Act}
		return nil
	}
	given := reflect.New(reflect.TypeOf(kind))
	if err := json.Unmarshal(text, given.Interface()); err != nil {
		return err
	}
	o.Act, _ = given.Elem().Interface().(Act)
	return nil
}

// Query returns the fields of an act that are given, as the query of a request.
func Query(a Act) url.Values {
	query := url.Values{}
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("query"); name != "" && !v.Field(i).IsZero() {
			query.Set(name, fmt.Sprint(v.Field(i).Interface()))
		}
	}
	return query
}
