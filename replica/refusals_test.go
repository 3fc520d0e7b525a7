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

// resting are duties of which a release rests, and a shard that is to be left.
type resting struct {
	Duties
	released catalog.FileName
	left     catalog.Shard
}

func (d resting) Releases(after catalog.FileName, _ int) ([]catalog.FileName, error) {
	if after != "" {
		return nil, nil
	}
	return []catalog.FileName{d.released}, nil
}

func (d resting) Moves() (Moves, error) { return Moves{Out: []catalog.Shard{d.left}}, nil }

// TestARefusalHoldsUpNoShard has a release rest for minutes, and something of a shard that is to be left in use: the
// shard is looked at again as soon as without the refusal.
func TestARefusalHoldsUpNoShard(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	n := c.node("north-1")
	n.put("left.warc", 1, 1000)
	was := n.r.releases
	own := &releases{agreed: was.agreed, holdings: was.holdings, pending: was.pending, leaving: was.leaving,
		duties: resting{released: "refused.warc", left: catalog.FileName("left.warc").Shard()}}
	own.store.loose.add("left.warc")
	end, _ := own.pending.try("left.warc")
	if end == nil {
		t.Fatal("somebody else is at it")
	}
	defer end()
	for range 20 {
		own.refused.note("refused.warc", time.Now())
	}
	if again, err := own.releaseAll(t.Context()); err != nil || again != 10*time.Second {
		t.Errorf("the shard is left in %v, %v", again, err)
	}
}
