package api

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// A deadline of a stop is agreed on. Before the level that knows of it, the crawl alone is told.
func TestADeadlineOfAStopIsKept(t *testing.T) {
	t.Parallel()
	for _, level := range []int{agreed.LevelOfParts - 1, catalog.Level} {
		b, open := clusterOf(t, level)
		c := open(localText)
		for id, within := range []time.Duration{0, time.Nanosecond, time.Minute} {
			job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
			if err != nil {
				t.Fatal(err)
			}
			b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
			b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
			b.orders = nil
			from := time.Now()
			job, err = c.Jobs().Stop(t.Context(), job.ID, "enough", within)
			if err != nil || job.ID != uint64(id+1) || job.Wish != wire.WishStop || job.WishReason != "enough" {
				t.Fatalf("level %d, %v: %+v %v", level, within, job, err)
			}
			if level < agreed.LevelOfParts {
				stop, _ := b.last.Act.(act.Stop)
				if told := slices.Equal(b.orders, []act.Kind{"stop"}); told != (within > 0) || told && stop.For != harvest.Duration(within) || !job.WishBy.IsZero() {
					t.Errorf("level %d, %v: orders %v %+v, cut off %v", level, within, b.orders, stop, job.WishBy)
				}
				continue
			}
			want := within
			if within == 0 {
				want = 10 * time.Minute
			}
			if off := job.WishBy.Sub(from.Add(want)); off < -time.Second || off > time.Minute || len(b.orders) > 0 {
				t.Errorf("level %d, %v: cut off %v later, orders %v", level, within, job.WishBy.Sub(from), b.orders)
			}
		}
	}
	_, open := clusterOf(t, catalog.Level)
	c := open(localText)
	if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
		t.Fatal(err)
	}
	for _, within := range []time.Duration{-time.Second, 365 * 24 * time.Hour} {
		if _, err := c.Jobs().Stop(t.Context(), 1, "", within); status(err) != http.StatusUnprocessableEntity && status(err) != http.StatusBadRequest {
			t.Errorf("a deadline of %v: %v", within, err)
		}
	}
}

// The jobs that run come from all nodes, and a node that does not answer is named.
func TestRunningJobsAreListed(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(localText)
	job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Harvest: "daily", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	got, err := c.Jobs().Running(t.Context())
	if err != nil || len(got.Jobs) != 1 || len(got.Silent) != 1 || time.Since(got.At) > time.Minute {
		t.Fatalf("%+v %v", got, err)
	}
	if one := got.Jobs[0]; one.ID != job.ID || one.Harvest != "daily" || one.Collection != "web" || one.NodeName != "north-1" || one.State != "PAUSED" || one.Reason != "lunch" || one.Progress.Done != 5 {
		t.Errorf("%+v", one)
	}
	if got.Silent[0] != (wire.SilentNode{Node: "south", Name: "south-1", Reason: "no answer"}) {
		t.Errorf("%+v", got.Silent)
	}
}
