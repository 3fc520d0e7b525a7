package agree

// Memory is a Reader that keeps what was made of the keys with a prefix for as long as none of them is written.
type Memory interface {
	// Remember returns what make returned the last time if no key with the prefix was written since, else what it
	// returns now. make reads only keys with the prefix, and gives one kind of value for each prefix. Several may have
	// the value: it must not be changed. An error is not kept.
	Remember(prefix string, make func() (any, error)) (any, error)
}

// Remember is the Remember of a Reader that is a Memory; with another one, make is called each time.
func Remember[T any](r Reader, prefix string, make func() (T, error)) (T, error) {
	m, ok := r.(Memory)
	if !ok {
		return make()
	}
	value, err := m.Remember(prefix, func() (any, error) { return make() })
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}
