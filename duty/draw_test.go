package duty

import (
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestDrawDue draws first at once, then each month; a draw that a wrong clock put into the future does not hold for ever.
func TestDrawDue(t *testing.T) {
	w := newNewswire(t)
	due := func(after time.Duration) uint64 {
		n, err := DrawDue(w.view(), catalog.At(w.now.Add(after)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := due(0); n != 1 {
		t.Fatalf("the first draw is %d", n)
	}
	w.do(files.DrawLots, files.Drawing{Node: nodeID("north-1"), Number: 1})
	for after, want := range map[time.Duration]uint64{0: 0, 29 * 24 * time.Hour: 0, 31 * 24 * time.Hour: 2, -time.Second: 0, -time.Hour: 2} {
		if n := due(after); n != want {
			t.Errorf("%v later, draw %d is due, want %d", after, n, want)
		}
	}
}
