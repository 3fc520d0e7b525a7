package scope

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// headers is a map of CEL over the head of a response, which can be asked but not listed.
type headers struct {
	get func(name string) string
}

func (h headers) value(key ref.Val) (string, bool) {
	name, ok := key.Value().(string)
	if !ok || h.get == nil {
		return "", ok
	}
	return h.get(name), true
}

// Get returns a header's value, "" if there is none.
func (h headers) Get(key ref.Val) ref.Val {
	v, ok := h.value(key)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	return types.String(v)
}

// Find is Get.
func (h headers) Find(key ref.Val) (ref.Val, bool) {
	v, ok := h.value(key)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return types.String(v), true
}

// Contains tells whether there is such a header.
func (h headers) Contains(key ref.Val) ref.Val {
	v, ok := h.value(key)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	return types.Bool(v != "")
}

// Size is 0, as the head cannot be listed.
func (h headers) Size() ref.Val { return types.Int(0) }

// Iterator lists nothing.
func (h headers) Iterator() traits.Iterator {
	return types.NewStringStringMap(types.DefaultTypeAdapter, nil).Iterator()
}

// ConvertToNative gives nothing away.
func (h headers) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("headers cannot be a %v", to)
}

// ConvertToType answers the map itself, or its type.
func (h headers) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case types.MapType:
		return h
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("headers cannot be a %s", to.TypeName())
}

// Equal is false: no two heads are compared.
func (h headers) Equal(ref.Val) ref.Val { return types.False }

// Type is map.
func (h headers) Type() ref.Type { return types.MapType }

// Value is the map itself.
func (h headers) Value() any { return h }
