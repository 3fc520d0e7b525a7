package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
)

// valueVersion is the first byte of every stored value; JSON follows, or what is said beside the type.
const valueVersion = 1

// mark is the value of a key that says all by being there.
func mark() []byte { return []byte{valueVersion} }

// encodeValue appends the value as it is stored.
func encodeValue(out []byte, v any) ([]byte, error) {
	out, err := appendJSON(append(out, valueVersion), v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return out, nil
}

// decodeValue reads a stored value into an empty one.
func decodeValue[K string | []byte](key K, value []byte, into any) error {
	if len(value) < 2 || value[0] != valueVersion {
		return fmt.Errorf("catalog key %q: value of %d bytes is not of version %d", key, len(value), valueVersion)
	}
	if p, ok := into.(parser); ok && p.parse(value[1:]) {
		return nil
	}
	if err := json.Unmarshal(value[1:], into); err != nil {
		return fmt.Errorf("catalog key %q: %w", key, err)
	}
	return nil
}

// encodePlacement writes the version, the holder, a slash and the next node: layouts are read whole and often.
func encodePlacement(p Placement) []byte {
	out := make([]byte, 0, 2+len(p.Holder)+len(p.Next))
	out = append(append(out, valueVersion), p.Holder...)
	return append(append(out, '/'), p.Next...)
}

func decodePlacement(value []byte) (Placement, error) {
	if len(value) == 0 || value[0] != valueVersion {
		return Placement{}, fmt.Errorf("placement of %d bytes is not of version %d", len(value), valueVersion)
	}
	holder, next, ok := strings.Cut(string(value[1:]), "/")
	if !ok {
		return Placement{}, fmt.Errorf("placement %q lacks its slash", value[1:])
	}
	return Placement{Holder: NodeID(holder), Next: NodeID(next)}, nil
}

// get returns the value of key, and false when there is none.
func get[T any](r Reader, key string) (T, bool, error) {
	var out T
	value, err := r.Get([]byte(key))
	if err != nil || value == nil {
		return out, false, err
	}
	if err := decodeValue(key, value, &out); err != nil {
		return out, false, err
	}
	return out, true, nil
}

// has reports whether the key is there.
func has(r Reader, key string) (bool, error) {
	value, err := r.Get([]byte(key))
	return value != nil, err
}

// hasAny reports whether any key begins with the prefix.
func hasAny(r Reader, prefix string) (bool, error) {
	found := false
	err := r.Scan([]byte(prefix), nil, func([]byte, []byte) bool {
		found = true
		return false
	})
	return found, err
}

// list returns at most n values whose keys follow prefix+after; n of 0 or less means all.
func list[T any](r Reader, prefix, after string, n int) ([]T, error) {
	var out []T
	var failed error
	err := r.Scan([]byte(prefix), from(prefix, after), func(key, value []byte) bool {
		var v T
		if failed = decodeValue(key, value, &v); failed != nil {
			return false
		}
		out = append(out, v)
		return n <= 0 || len(out) < n
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// tails returns what follows the prefix in at most n keys after prefix+after; n of 0 or less means all.
func tails(r Reader, prefix, after string, n int) ([]string, error) {
	var out []string
	err := r.Scan([]byte(prefix), from(prefix, after), func(key, _ []byte) bool {
		out = append(out, string(key[len(prefix):]))
		return n <= 0 || len(out) < n
	})
	return out, err
}

// from returns the first key behind prefix+after; the prefix's start when after is empty.
func from(prefix, after string) []byte {
	if after == "" {
		return nil
	}
	return []byte(prefix + after + "\x00")
}
