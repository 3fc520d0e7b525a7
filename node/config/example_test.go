package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestTheExampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../cluster.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Parse("cluster.example.toml", string(text))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := Defaults(), whole.Settings; !reflect.DeepEqual(want, got) {
		t.Errorf("the example's settings differ from the defaults:\n%+v\n%+v", got, want)
	}
	top, _, _ := strings.Cut(string(text), "\n[[replica]]")
	for _, key := range keysOf("") {
		if key != "files" && key != "replica" && key != "node" && lineOf(top, key, "") == 0 {
			t.Errorf("the example does not show %q", key)
		}
	}
}
