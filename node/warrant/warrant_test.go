package warrant

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// A request in an API's name carries the token of who asks, and a node of level 1 is sent none.
func TestWhichTokenARequestCarries(t *testing.T) {
	level := 1
	w := Warrants{Own: func() (string, error) { return "own", nil }, View: func(see func(catalog.View) error) error {
		return see(catalog.NewView(levelOnly{level}))
	}}
	if token, err := w.Of(t.Context()); err != nil || token != "" {
		t.Errorf("level 1: %q, %v", token, err)
	}
	if _, err := w.Check("another", "", Deed{Act: catalog.KeepPeople}); err != nil {
		t.Errorf("level 1: %v", err)
	}
	level = 2
	if token, err := w.Of(context.Background()); err != nil || token != "own" {
		t.Errorf("level 2: %q, %v", token, err)
	}
	if e := open([]byte(` {"act":"list"}`)); e.Warrant != "" || !strings.Contains(string(e.About), "list") {
		t.Errorf("%+v", e)
	}
}

// levelOnly is a catalog that knows its level alone.
type levelOnly struct{ level int }

func (l levelOnly) Get(key []byte) ([]byte, error) {
	if string(key) != catalog.PrefixCluster {
		return nil, nil
	}
	return fmt.Appendf([]byte{1}, `{"id":"c","name":"c","epoch":1,"level":%d,"founded":0}`, l.level), nil
}

func (levelOnly) Scan(_, _ []byte, _ func(key, value []byte) bool) error { return nil }

// A node that does not know the cluster's agreed state yet, and so not its level, does nothing in anybody's name.
func TestNothingIsAllowedBeforeTheLevelIsKnown(t *testing.T) {
	w := Warrants{Self: "self", Now: time.Now, View: func(see func(catalog.View) error) error { return see(catalog.NewView(nothing{})) }}
	for _, text := range []string{"", api.NewToken().String()} {
		if _, err := w.Check("another", text, Deed{Act: catalog.Look}); wire.ReasonOf(err) != CodeForbidden {
			t.Errorf("with the token %q: %v", text, err)
		}
	}
}

// nothing is the state of a node that was told none.
type nothing struct{}

func (nothing) Get([]byte) ([]byte, error) { return nil, nil }

func (nothing) Scan(_, _ []byte, _ func(key, value []byte) bool) error { return nil }
