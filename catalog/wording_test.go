package catalog_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog"
)

var update = flag.Bool("update-wording", false, "write testdata/wording.golden: a command that is added adds lines; nothing else should need it")

// TestWordingOfWrongTypes sends every command with each of its fields of a wrong type. What it is answered is remembered in the
// state of every member, and names Go types: members whose programs have these types elsewhere have to name them alike.
func TestWordingOfWrongTypes(t *testing.T) {
	c := emptyCluster(t)
	c.raiseTo(t, catalog.Level)
	var out strings.Builder
	for kind, body := range catalog.Bodies() {
		level, known := catalog.LevelOf(kind)
		fmt.Fprintf(&out, "%s of level %d %t\n", kind, level, known)
		for _, wrong := range wrongBodies(body) {
			data := fmt.Sprintf(`{"v":1,"k":%q,"at":%d,"actor":"test","body":%s}`, kind, c.now, wrong)
			res, err := catalog.Apply(c, c.index+1, []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if res.Refusal == nil || res.Refusal.Code != catalog.Invalid {
				t.Fatalf("%s is answered %+v", data, res)
			}
			fmt.Fprintf(&out, "\t%s\n\t\t%s\n", wrong, res.Refusal.Message)
		}
	}
	for _, wrong := range wrongBodies(reflect.TypeFor[catalog.Command]()) {
		res, err := catalog.Apply(c, c.index+1, []byte(wrong))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n\t%v\n", wrong, res.Refusal)
	}
	const file = "testdata/wording.golden"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		was, is := strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")
		i := 0
		for i < min(len(was), len(is))-1 && was[i] == is[i] {
			i++
		}
		t.Errorf("line %d was %q, is %q; %d lines were %d. A command was added: go test ./catalog -update-wording, and look "+
			"at what changed", i+1, was[i], is[i], len(is), len(was))
	}
}

// wrongBodies returns a text for each place in a value of the type at which something of a wrong type stands.
func wrongBodies(of reflect.Type) []string {
	if of == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
		return []string{`5`, `"x"`}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return wrongBodies(of.Elem())
	case reflect.Struct:
		out := []string{`5`, `[]`}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if of.Field(i).Anonymous && name == "" {
				out = append(out, wrongBodies(of.Field(i).Type)[2:]...) // its fields stand in this struct
				continue
			}
			for _, wrong := range wrongBodies(of.Field(i).Type) {
				out = append(out, fmt.Sprintf(`{%q:%s}`, name, wrong))
			}
		}
		return out
	case reflect.Slice:
		out := []string{`5`}
		if of.Elem().Kind() != reflect.Uint8 {
			for _, wrong := range wrongBodies(of.Elem()) {
				out = append(out, `[`+wrong+`]`)
			}
		}
		return out
	case reflect.String:
		return []string{`5`, `{}`}
	case reflect.Bool:
		return []string{`"x"`}
	default:
		return []string{`"x"`, `1.5`, `123456789012345678901234567890`}
	}
}
