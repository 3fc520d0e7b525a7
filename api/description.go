package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/harvest"
)

// The description states what the checks state: every formal condition is described by a pattern, a format or a
// length, so that a program knows beforehand what will be refused.

// Patterns that parameters and bodies are described by.
const (
	namePattern     = `^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`
	durationPattern = `^[-+]?(0|([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h)){1,6})$`
	numberPattern   = `^(|0|[1-9][0-9]{0,18})$`
	stampPattern    = `^(|[0-9]{1,14})$`
)

// patterns are those of parameters, by operation and name.
func patterns() map[string]string {
	return map[string]string{
		"file-list after": fileCursor, "job-list after": jobCursor, "trail-list after": eventCursor,
		"file-put name":     `^[A-Za-z0-9_~+,=@-][A-Za-z0-9._~+,=@-]{0,199}$`,
		"domain-list after": domainCursor, "domain-alias-list after": aliasCursor,
		"domain-ingest-bad after": lineCursor,
		"domain-history after":    historyCursor, "job-statistics after": statisticsCursor,
		"access-token-list after": tokenCursor, "audit-list after": auditCursor,
		"copy-list after": copyCursor, "ledger-list after": ledgerCursor,
		"node-sole-files after": soleCursor,
		"batch-list after":      batchCursor,
		"shard-list after":      `^(|[0-9a-f]{3})$`,
		"capture-list from":     stampPattern, "capture-list to": stampPattern, "capture-list closest": stampPattern,
		"channel-list after": listCursor, "template-list after": listCursor, "schedule-list after": listCursor,
		"trap-list after": listCursor, "harvest-list after": harvestCursor, "harvest-runs after": runCursor,
		"harvest-jobs after":           jobCursor,
		"job-list harvest":             numberPattern,
		"job-overlaps after":           overlapCursor,
		"harvest-configurations after": ofCursor, "harvest-seeds objects": limitPattern,
		"harvest-seeds bytes":          limitPattern,
		"file-put Holdfast-SHA256":     `^(|[0-9a-fA-F]{64})$`,
		"file-put Holdfast-Collection": `^(|[A-Za-z0-9_-][A-Za-z0-9._-]{0,63})$`,
	}
}

// describe encodes the description, indented, with a line's end.
func describe(o *huma.OpenAPI) []byte {
	compact, err := json.Marshal(o)
	if err != nil {
		panic(err) // the description is made of this package's types only
	}
	var whole map[string]any
	read := json.NewDecoder(bytes.NewReader(compact))
	read.UseNumber()
	if err := read.Decode(&whole); err != nil {
		panic(err)
	}
	d := refining{whole: whole, schemas: at(whole, "components", "schemas"), types: o.Components.Schemas,
		done: map[string]bool{}}
	d.refine()
	var out bytes.Buffer
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	write.SetIndent("", "  ")
	if err := write.Encode(whole); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// refining is an API's description on its way out.
type refining struct {
	whole   map[string]any
	schemas map[string]any
	types   huma.Registry
	done    map[string]bool // components that requests have
}

func (d *refining) refine() {
	for name := range d.schemas {
		if t := d.types.TypeFromRef("#/components/schemas/" + name); t != nil {
			durations(at(d.schemas, name), t)
		}
	}
	given := patterns()
	for _, path := range at(d.whole, "paths") {
		for _, operation := range path.(map[string]any) {
			op, ok := operation.(map[string]any)
			if !ok {
				continue
			}
			params, _ := op["parameters"].([]any)
			for _, p := range params {
				param := p.(map[string]any)
				if text, ok := given[text(op, "operationId")+" "+text(param, "name")]; ok {
					at(param, "schema")["pattern"] = text
				}
			}
			if tooLong := at(op, "responses", "431"); tooLong != nil { // from below the API
				words := map[string]any{"schema": map[string]any{"type": "string"}}
				tooLong["content"] = map[string]any{"text/plain": words}
			}
			for _, media := range at(op, "requestBody", "content") {
				d.mayBeNull(at(media.(map[string]any), "schema"))
			}
		}
	}
}

// mayBeNull describes that null, for a field of a request that may be left out, is as if it were.
func (d *refining) mayBeNull(schema map[string]any) {
	if ref := text(schema, "$ref"); ref != "" {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if !d.done[name] {
			d.done[name] = true
			d.mayBeNull(at(d.schemas, name))
		}
		return
	}
	if items := at(schema, "items"); items != nil {
		d.mayBeNull(items)
	}
	required := map[string]bool{}
	names, _ := schema["required"].([]any)
	for _, name := range names {
		required[name.(string)] = true
	}
	properties := at(schema, "properties")
	for name, p := range properties {
		property := p.(map[string]any)
		d.mayBeNull(property)
		if !required[name] {
			properties[name] = orNull(property)
		}
	}
}

// orNull returns the schema with null as a further allowed value.
func orNull(schema map[string]any) map[string]any {
	if text(schema, "$ref") != "" {
		return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
	}
	if kind := text(schema, "type"); kind != "" {
		schema["type"] = []any{kind, "null"}
		if values, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(values, nil)
		}
	}
	return schema
}

// durations describes the fields of a type, and of the types in it, that hold a length of time.
func durations(schema map[string]any, t reflect.Type) {
	if t == reflect.TypeFor[harvest.Patch]() { // described by the settings that it changes
		t = reflect.TypeFor[harvest.Settings]()
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if items := at(schema, "items"); items != nil {
			schema = items
		}
		t = t.Elem()
	}
	properties := at(schema, "properties")
	if t.Kind() != reflect.Struct || properties == nil {
		return
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			durations(schema, field.Type)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := at(properties, name)
		switch {
		case property == nil:
		case field.Type == reflect.TypeFor[harvest.Duration]() || field.Type == reflect.TypeFor[*harvest.Duration]():
			property["pattern"] = durationPattern
		default:
			durations(property, field.Type)
		}
	}
}

// at follows names into an object, nil where there is none.
func at(object map[string]any, names ...string) map[string]any {
	for _, name := range names {
		object, _ = object[name].(map[string]any)
	}
	return object
}

func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}
