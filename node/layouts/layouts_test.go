package layouts

import (
	"testing"

	"holdfast/api/wire"
)

// TestTimeOfLinks has what a node takes and gives share its limits; without one, the time is not known.
func TestTimeOfLinks(t *testing.T) {
	t.Parallel()
	limits := map[string][2]int64{"a": {0, 100}, "b": {50, 0}, "c": {0, 0}}
	p := Plans{Limits: func(name string) (int64, int64) { return limits[name][0], limits[name][1] }}
	link := func(from, to string, bytes int64) wire.LayoutLink {
		return wire.LayoutLink{From: from, FromName: from, To: to, ToName: to, Bytes: bytes}
	}
	links := []wire.LayoutLink{link("a", "b", 1000), link("a", "c", 9000), link("c", "b", 500), link("c", "a", 1), link("", "b", 50), link("a", "", 50), link("a", "b", 0)}
	p.time(links)
	for i, want := range [][2]int64{{50, 101}, {100, 101}, {50, 31}, {0, 0}, {0, 0}, {0, 0}, {0, 0}} {
		if got := [2]int64{links[i].Rate, links[i].Seconds}; got != want {
			t.Errorf("%s to %s: rate and seconds %v, want %v", links[i].From, links[i].To, got, want)
		}
	}
}
