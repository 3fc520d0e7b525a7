package lookup

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

func TestADoubtEndsByAnAnswerOrByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDoubts()
		d.Add("north")
		d.Add("south")
		d.Clear("south")
		if !d.Has("north") || d.Has("south") || d.Has("third") {
			t.Fatal("who did not answer is doubted, and nobody else")
		}
		if got := d.last([]catalog.NodeID{"north", "south", "third"}); !slices.Equal(got, []catalog.NodeID{"south", "third", "north"}) {
			t.Fatalf("asked in the order %v", got)
		}
		<-time.After(doubtTime)
		if d.Has("north") {
			t.Fatal("the doubt outlives its time")
		}
	})
}
