package agree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// Read reads a command of the log, and its body too when that is of a frequent kind and in the form in which
// the programs write it.
func (t *Table) Read(data []byte) (c Command, body any, err error) {
	if t.parse(&c, data) {
		if body := t.body(&c); body != nil {
			return c, body, nil
		}
	}
	c = Command{}
	err = DecodeStrict(data, &c)
	return c, nil, err
}

// parse reads a command, but leaves its body unread: whether that is JSON at all is for the body's own parser to say.
func (t *Table) parse(k *Command, text []byte) bool {
	c, out := NewScanner(text), Command{}
	c.Must(`{"v":`)
	out.Version = c.Number()
	c.Must(`,"k":`)
	out.Kind = t.kind(c.Quoted())
	c.Must(`,"at":`)
	out.At = c.Time()
	out.Actor = c.Optional(`,"actor":`)
	out.Node = NodeID(c.Optional(`,"node":`))
	if c.Skip(`,"boot":`) {
		out.Boot = c.Uint()
	}
	if c.Skip(`,"seq":`) {
		out.Seq = c.Uint()
	}
	c.Must(`,"body":`)
	out.Body = c.Tail()
	if c.Done() {
		*k = out
	}
	return c.Done()
}

// kind returns the kind; the known ones cost no memory.
func (t *Table) kind(text []byte) Kind {
	if r := t.rules[Kind(text)]; r != nil {
		return r.Kind
	}
	return Kind(text)
}

// DecodeStrict reads one JSON value, and refuses fields that are not known and what follows the value.
func DecodeStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return agreedWording(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// agreedWording is the error with the catalog's types named alike by all programs. The answer to a command is
// remembered in the state, and an error of encoding/json names a Go type by its package: which package that is may
// differ between the programs of two members.
func agreedWording(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	text, ends := strings.CutSuffix(err.Error(), wrong.Type.String())
	if !ends {
		return err
	}
	return errors.New(text + typeName(wrong.Type))
}

// typeName is the name of a type as it is when all of the catalog's types are in package catalog.
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		if strings.HasPrefix(t.PkgPath(), "holdfast/catalog/") {
			return "catalog." + t.Name()
		}
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + typeName(t.Elem())
	}
	return t.String()
}
