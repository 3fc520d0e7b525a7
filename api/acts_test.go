package api

import (
	"reflect"
	"testing"

	"holdfast/catalog"
	"holdfast/harvest/act"
)

// Whatever the Go client is given arrives at the crawl as it was given: in the query if the act only looks, else in the
// body, and then in the name of who asked.
func TestActsArriveAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	_, _ = b.furnish()
	c := open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator}))
	for _, given := range acts(t) {
		if freeze, ok := given.(act.Freeze); ok {
			freeze.Queue = "a" // the only one that this crawl has
			given = freeze
		}
		if events, ok := given.(act.Events); ok {
			events.After = "5"
			given = events
		}
		if _, err := c.Jobs().Act(t.Context(), 1, given); err != nil {
			t.Errorf("%s: %v", given.Kind(), err)
			continue
		}
		b.mu.Lock()
		got := b.last
		b.mu.Unlock()
		if want := (act.Order{Act: given, By: got.By}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s arrived as %+v, given %+v", given.Kind(), got, want)
		}
		if (got.By == "") != got.Reads() {
			t.Errorf("%s is by %q", given.Kind(), got.By)
		}
	}
}
