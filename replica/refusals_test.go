package replica

import (
	"slices"
	"testing"
	"time"

	"holdfast/catalog"
)

func TestRefusedReleasesRest(t *testing.T) {
	t.Parallel()
	var r refusals
	now := time.Unix(1_000_000, 0)
	names := []catalog.FileName{"a", "b"}
	for _, want := range []time.Duration{firstRefusal, 2 * firstRefusal, 4 * firstRefusal} {
		r.note("a", now)
		ready, again := r.ready(names, now)
		if !slices.Equal(ready, names[1:]) || again != want {
			t.Errorf("ready %v, again in %v, want b and %v", ready, again, want)
		}
		now = now.Add(want)
		if ready, again := r.ready(names, now); !slices.Equal(ready, names) || again != 0 {
			t.Errorf("when the pause is over: ready %v, again in %v", ready, again)
		}
	}
	for range 20 {
		r.note("a", now)
	}
	if _, again := r.ready(names, now); again != longestRefusal {
		t.Errorf("rests %v, want %v", again, longestRefusal)
	}
	r.forget("a")
	if ready, _ := r.ready(names, now); !slices.Equal(ready, names) {
		t.Errorf("forgotten, and ready are %v", ready)
	}
}
