//go:build !race

package crawler

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/harvest"
)

// A crawl that ends while many queues are treated otherwise does not wait for the rest of them: they are when it is
// opened again.
func TestEndWhileQueuesAreTreated(t *testing.T) {
	t.Parallel()
	job := newJob()
	for i := range 10_000 { // more than one commit takes in
		job.Seeds = append(job.Seeds, fmt.Sprintf("http://127.0.%d.%d/", i/250, i%250+1))
	}
	job.Settings.Sheets = []harvest.Sheet{{Name: "night", From: "22:00", Until: "06:00", Settings: patch("precedence", 7)}}
	dir := t.TempDir()
	day, night := time.Date(2026, 3, 4, 21, 0, 0, 0, time.UTC), time.Date(2026, 3, 4, 22, 0, 0, 0, time.UTC)
	looked, ending := make(chan struct{}), make(chan struct{})
	var dusk atomic.Bool
	c, err := newAt(Config{Dir: dir, Job: job, Node: "node1"}, func() time.Time {
		if !dusk.Load() {
			return day
		}
		select {
		case looked <- struct{}{}:
		case <-ending:
		}
		<-ending
		return night
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Pause("none is to be fetched")
	l := begin(t, c)
	end := sync.OnceFunc(func() { close(ending) })
	t.Cleanup(end)
	until(t, "the queues are treated as by day", func() bool { return c.treatment.Applied() })
	dusk.Store(true)
	<-looked
	l.Stop("over")
	until(t, "no orders are taken", l.orders.Gate.Closed)
	end()
	if sum := l.end(); sum.Reason != "over" || sum.Counters.Queued != int64(len(job.Seeds)) {
		t.Errorf("%+v", sum)
	}
	if c, err = newAt(Config{Dir: dir, Job: job, Node: "node1"}, func() time.Time { return night }); err != nil {
		t.Fatal(err)
	}
	c.Pause("none is to be fetched")
	l = begin(t, c)
	until(t, "all queues are treated as at night", func() bool {
		left := 0
		if err := l.frontier.Nonempty(t.Context(), func(q frontier.QueueInfo) bool {
			if q.Precedence != 7 {
				left++
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	l.Stop("over")
	l.end()
}
