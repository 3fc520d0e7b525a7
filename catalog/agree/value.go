package agree

import (
	"encoding/json"
	"fmt"
)

// ValueVersion is the first byte of every stored value; JSON follows, or what the type's comment says.
const ValueVersion = 1

// encodeValue appends the value as it is stored.
func encodeValue(out []byte, v any) ([]byte, error) {
	out, err := AppendJSON(append(out, ValueVersion), v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return out, nil
}

// DecodeValue reads a stored value into an empty one.
func DecodeValue[K string | []byte](key K, value []byte, into any) error {
	if len(value) < 2 || value[0] != ValueVersion {
		return fmt.Errorf("catalog key %q: value of %d bytes is not of version %d", key, len(value), ValueVersion)
	}
	if p, ok := into.(Parser); ok && p.ParseJSON(value[1:]) {
		return nil
	}
	if err := json.Unmarshal(value[1:], into); err != nil {
		return fmt.Errorf("catalog key %q: %w", key, err)
	}
	return nil
}

// Get returns the value of key, and false if there is none.
func Get[T any](r Reader, key string) (T, bool, error) {
	var out T
	value, err := r.Get([]byte(key))
	if err != nil || value == nil {
		return out, false, err
	}
	if err := DecodeValue(key, value, &out); err != nil {
		return out, false, err
	}
	return out, true, nil
}

// Has reports whether the key is there.
func Has(r Reader, key string) (bool, error) {
	value, err := r.Get([]byte(key))
	return value != nil, err
}

// HasAny reports whether any key begins with the prefix.
func HasAny(r Reader, prefix string) (bool, error) {
	found := false
	err := r.Scan([]byte(prefix), nil, func([]byte, []byte) bool {
		found = true
		return false
	})
	return found, err
}

// List returns at most n values whose keys follow prefix+after; n of 0 or less means all.
func List[T any](r Reader, prefix, after string, n int) ([]T, error) {
	var out []T
	var failed error
	err := r.Scan([]byte(prefix), From(prefix, after), func(key, value []byte) bool {
		var v T
		if failed = DecodeValue(key, value, &v); failed != nil {
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

// Tails returns what follows the prefix in at most n keys after prefix+after; n of 0 or less means all.
func Tails(r Reader, prefix, after string, n int) ([]string, error) {
	var out []string
	err := r.Scan([]byte(prefix), From(prefix, after), func(key, _ []byte) bool {
		out = append(out, string(key[len(prefix):]))
		return n <= 0 || len(out) < n
	})
	return out, err
}

// From returns the first key behind prefix+after; the prefix's start when after is empty.
func From(prefix, after string) []byte {
	if after == "" {
		return nil
	}
	return []byte(prefix + after + "\x00")
}

// Assign sets the target if a value is given; nil changes nothing.
func Assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
