package catalog_test

import (
	"encoding/json"
	"math"
	"reflect"

	"pgregory.net/rapid"

	"holdfast/catalog"
)

// anything draws a command of any kind that there is. Its fields go by their types, so that a kind that is added is
// tried without a line here; what chance would hardly ever reach has a function of its own.
func (h hostile) anything() (catalog.Kind, any) {
	var kinds []catalog.Kind
	bodies := map[catalog.Kind]reflect.Type{}
	for kind, body := range catalog.Bodies() {
		kinds = append(kinds, kind)
		bodies[kind] = body
	}
	kind := pick(h, "any", kinds...)
	return kind, h.value(bodies[kind], 0).Interface()
}

// value draws a value of a type.
func (h hostile) value(of reflect.Type, depth int) reflect.Value {
	v := reflect.New(of).Elem()
	if known := h.known(of); known != nil {
		v.Set(reflect.ValueOf(known))
		return v
	}
	if depth > 5 {
		return v
	}
	switch of.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(h.t, "there") {
			v.Set(h.value(of.Elem(), depth+1).Addr())
		}
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(h.value(of.Field(i).Type, depth+1))
			}
		}
	case reflect.Slice:
		for range rapid.IntRange(0, 2).Draw(h.t, "items") {
			v.Set(reflect.Append(v, h.value(of.Elem(), depth+1)))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		for range rapid.IntRange(0, 2).Draw(h.t, "entries") {
			v.SetMapIndex(h.value(of.Key(), depth+1), h.value(of.Elem(), depth+1))
		}
	case reflect.String:
		v.SetString(pick(h, "word", "", "a", "a", "b", "north-1", "a.org", "a/b", h.text()))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(h.t, "yes"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := pick[int64](h, "number", 0, 1, 1, 2, -1, math.MaxInt64, math.MinInt64)
		v.SetInt(n >> (64 - of.Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := pick[uint64](h, "number", 0, 1, 1, 2, math.MaxUint64)
		v.SetUint(n >> (64 - of.Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(pick(h, "number", 0, 1.5, -1, math.MaxFloat32))
	}
	return v
}

// known draws a value of a type that has plausible ones, and is nil for others.
func (h hostile) known(of reflect.Type) any {
	switch of {
	case reflect.TypeFor[catalog.NodeID]():
		return h.node()
	case reflect.TypeFor[catalog.FileName]():
		return h.file()
	case reflect.TypeFor[catalog.Shard]():
		return h.shard()
	case reflect.TypeFor[catalog.ReplicaName]():
		return h.replica()
	case reflect.TypeFor[catalog.Digest]():
		return h.digest(h.file())
	case reflect.TypeFor[catalog.Time]():
		return h.time()
	case reflect.TypeFor[json.RawMessage]():
		return pick(h, "json", json.RawMessage(`{}`), json.RawMessage(`null`), json.RawMessage(`[{}]`))
	}
	return nil
}
