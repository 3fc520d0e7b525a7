package act

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"holdfast/harvest"
)

// Orders go between nodes and come from older programs: how each act is written there does not change. The file has every
// act with all that it reads.
func TestActsAreOrdersAsEver(t *testing.T) {
	text, err := os.ReadFile("testdata/orders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[harvest.Act]bool{}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		line = strings.TrimSpace(line)
		var o harvest.Order
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		given, err := Of(o)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if v := reflect.ValueOf(given); v.Type().NumField() > 0 {
			each(v, func(field reflect.Value, name string) {
				if field.IsZero() {
					t.Errorf("%s: the act has no %s", line, name)
				}
			})
		}
		if again, err := json.Marshal(Order(given, "anna")); err != nil || string(again) != line {
			t.Errorf("written as\n%s, want\n%s (%v)", again, line, err)
		}
		if _, looks := given.(Look); looks != o.Reads() {
			t.Errorf("%s: looks is %t", line, looks)
		}
		seen[o.Act] = true
	}
	for _, kind := range kinds() {
		if !seen[kind.Kind()] {
			t.Errorf("%s is not in the file", kind.Kind())
		}
	}
}

func TestAnOrderOfAnUnknownActIsRefused(t *testing.T) {
	for _, o := range []harvest.Order{{Act: "dance"}, {}, {Act: harvest.ActExplain}, {Act: harvest.ActKill}} {
		if given, err := Of(o); !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("%+v: %v %v", o, given, err)
		}
	}
}
