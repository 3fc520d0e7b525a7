package harvest

import (
	"reflect"
)

// Described is what the tags of the struct T say about its settings, which are not those of a crawl: see Setting.
// It is never changed.
type Described[T any] struct{ all []setting }

// Describe reads the tags of T.
func Describe[T any]() Described[T] { return Described[T]{describe(reflect.TypeFor[T]())} }

// Reference describes every setting, in the order of T.
func (d Described[T]) Reference() []Setting { return referenceOf(d.all) }

// Defaults are the settings where nothing was said.
func (d Described[T]) Defaults() (v T) {
	for _, one := range d.all {
		if one.given.IsValid() {
			reflect.ValueOf(&v).Elem().FieldByIndex(one.index).Set(copied(one.given))
		}
	}
	return v
}

// Parse reads the settings of what from JSON: a missing one has its default, and an unknown key is refused with the
// nearest known one. The error wraps ErrInvalid. The values are not checked yet.
func (d Described[T]) Parse(data []byte, what string) (T, error) {
	v := d.Defaults()
	err := DecodeStrict(data, what, &v)
	return v, err
}

// Check holds the settings against the limits that their tags name.
func (d Described[T]) Check(v T) error {
	for _, one := range d.all {
		if err := one.check(reflect.ValueOf(&v).Elem().FieldByIndex(one.index)); err != nil {
			return err
		}
	}
	return nil
}
