package web

import (
	"errors"
	"net/http"
	"strings"

	"holdfast/api/wire"
)

// refuse puts the API's refusal into the form, and returns the status of the answer.
func (f *form) refuse(err error) int {
	var own *formError
	if errors.As(err, &own) {
		f.blame(formFault{Field: f.field(own.field), Message: own.message, Detail: own.detail})
	}
	var answered *wire.Error
	switch {
	case errors.As(err, &answered):
	case own != nil:
		return http.StatusUnprocessableEntity
	default:
		answered = &wire.Error{Status: http.StatusServiceUnavailable, Code: wire.CodeUnavailable, Detail: err.Error()}
	}
	on := f.named(answered.Detail)
	message := ""
	switch {
	case answered.Code == wire.CodeNoQuorum:
		message = "web.fault-no-quorum"
	case answered.Status >= http.StatusInternalServerError:
		message = "web.perhaps-done"
	case answered.Code == wire.CodePending:
		message = "web.approval-waits"
	case answered.Status == http.StatusForbidden:
		message = "web.not-allowed"
	}
	if len(answered.Fields)+len(answered.Wrong) == 0 || message != "" {
		f.blame(formFault{Field: on, Message: message, Detail: answered.Detail})
	}
	known := map[string]bool{}
	for _, wrong := range answered.Wrong {
		known[wrong.Location+": "+wrong.Message] = true
		on, what := f.located(wrong.Location + ": " + wrong.Message)
		f.blame(formFault{Field: on, Said: saidOf(wrong), Detail: what})
	}
	for _, text := range answered.Fields {
		if !known[text] {
			on, what := f.located(text)
			f.blame(formFault{Field: on, Detail: what})
		}
	}
	if answered.Status < 400 {
		return http.StatusUnprocessableEntity
	}
	return answered.Status
}

// blame puts a fault on top and beside its field.
func (f *form) blame(fault formFault) {
	f.Faults = append(f.Faults, fault)
	if fault.Field != nil && (fault.Said != nil || fault.Detail != "") {
		fault.Field.Faults = append(fault.Field.Faults, fault)
	}
}

// saidOf is what the API found wrong with a field, in a message of ours; nil for what its English sentence alone says.
func saidOf(wrong wire.ProblemField) *said {
	with := func(key, name string) *said {
		value, given := wrong.Params[name]
		if !given {
			return nil
		}
		return &said{key, []any{name, value}}
	}
	switch wrong.Code {
	case wire.FieldRequired:
		return &said{Key: "web.fill-in"}
	case wire.FieldUnknown:
		return &said{Key: "web.field-unknown"}
	case wire.FieldType, wire.FieldFormat:
		return with("web.field-want", "want")
	case wire.FieldTooShort:
		return with("web.field-too-short", "min")
	case wire.FieldTooLong:
		return with("web.field-too-long", "max")
	case wire.FieldTooSmall:
		return with("web.field-too-small", "min")
	case wire.FieldTooLarge:
		return with("web.field-too-large", "max")
	case wire.FieldTooFew:
		return with("web.field-too-few", "min")
	case wire.FieldTooMany:
		return with("web.field-too-many", "max")
	case wire.FieldTwice:
		return &said{Key: "web.field-twice"}
	case wire.FieldNotOneOf, wire.FieldNotAllowed:
		return with("web.field-allowed", "allowed")
	}
	return nil
}

// located returns the field at the beginning of a text such as "body.name: too long", and what is wrong with it.
func (f *form) located(text string) (on *field, what string) {
	place, what, _ := strings.Cut(text, ": ")
	place = strings.TrimPrefix(strings.TrimPrefix(place, "body."), "query.")
	var found *field
	for _, one := range f.Fields {
		name := one.inWire()
		if place == name || strings.HasPrefix(place, name+".") || strings.HasPrefix(place, name+"[") {
			if found == nil || len(name) > len(found.inWire()) {
				found = one
			}
		}
	}
	if found == nil {
		return f.named(text), text
	}
	if place != found.inWire() { // a part of it, such as one of several lines
		what = strings.TrimPrefix(place, found.inWire()) + ": " + what
	}
	return found, what
}

// named returns the field that a refusal names, as in "not valid: max_hops: given -1, allowed: …".
func (f *form) named(text string) *field {
	for part := range strings.SplitSeq(text, ": ") {
		for _, one := range f.Fields {
			name := one.inWire()
			if part == name || strings.HasPrefix(part, name+"[") || strings.HasSuffix(name, "."+part) {
				return one
			}
		}
	}
	return nil
}
