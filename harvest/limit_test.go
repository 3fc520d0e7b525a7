package harvest

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestLimit(t *testing.T) {
	none, zero, ten := Limit{}, AtMost(0), AtMost(10)
	for _, tt := range []struct{ a, b, least Limit }{{none, none, none}, {none, ten, ten}, {ten, none, ten}, {ten, zero, zero}, {zero, none, zero}} {
		if got := tt.a.Least(tt.b); got != tt.least {
			t.Errorf("least of %s and %s: %s", tt.a, tt.b, got)
		}
	}
	if !none.Above(ten) || ten.Above(none) || none.Above(none) || !ten.Above(zero) || ten.Above(ten) {
		t.Error("limits are not compared as they should be")
	}
	if none.Nothing() || !zero.Nothing() || ten.Nothing() {
		t.Error("a limit of 0, and no other, means nothing")
	}
	type both struct {
		A Limit `json:"a,omitzero"`
		B Limit `json:"b"`
	}
	for _, text := range []string{`{"b":null}`, `{"a":0,"b":1000000000}`} {
		var v both
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(v); err != nil || string(again) != text {
			t.Errorf("%s was written as %s (%v)", text, again, err)
		}
	}
	for _, text := range []string{`-1`, `1.5`, `"5"`, `2000000000000000000`, `true`} {
		var l Limit
		if err := json.Unmarshal([]byte(text), &l); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
