package crawler

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/crawler/plan"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// When the window of a sheet begins or ends, queues are treated otherwise at once, also one that is at work; so they
// are after a restart.
func TestWindowsOfSheetsReachTheQueues(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxHops, job.Settings.Workers = 1, 8
	job.Settings.Sheets = []harvest.Sheet{{Name: "night", From: "22:00", Until: "06:00", Settings: patch("host_valence", 4, "total_budget", 1000, "precedence", 1)}}
	dir := t.TempDir()
	var clock atomic.Pointer[time.Time]
	set := func(hour int) { clock.Store(new(time.Date(2026, 3, 4, hour, 0, 0, 0, time.UTC))) }
	open := func() *live {
		c, err := newAt(Config{Dir: dir, Job: job, Node: "node1"}, func() time.Time { return *clock.Load() })
		if err != nil {
			t.Fatal(err)
		}
		return begin(t, c)
	}
	set(21)
	l := open()
	shown := func() string {
		q := l.obey(act.Queues{}).Queues[0]
		return fmt.Sprint(q.InFlight, " ", q.Total, " ", q.Precedence)
	}
	reaches := func(want string) {
		t.Helper()
		until(t, "in flight, total budget and precedence are "+want, func() bool { return shown() == want })
	}
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	reaches("1 0 3")
	set(22)
	reaches("4 1000 1")
	set(6)
	last := ""
	until(t, "total budget and precedence are those of the day", func() bool { // what is in flight ends first
		if now := shown(); now != last {
			t.Log(now)
			last = now
		}
		return strings.HasSuffix(last, " 0 3")
	})
	until(t, "one is fetched at a time", func() bool {
		if shown() == "1 0 3" {
			return true
		}
		select {
		case gate <- struct{}{}:
		default:
		}
		return false
	})
	l.obey(act.Stop{For: harvest.Duration(time.Millisecond)})
	l.end()
	set(23)
	l = open()
	reaches("1 1000 1") // one slot, until it is known how long it has to rest
	close(gate)
	l.end()
}

// A window that opens between the treatment of the queues as the crawl begins and the first look at the clock after it
// reaches the queues: it is not missed until it closes.
func TestWindowOpensBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	job := newJob("http://127.0.0.1/")
	job.Settings.Sheets = []harvest.Sheet{{Name: "night", From: "22:00", Until: "06:00", Settings: patch("precedence", 7)}}
	var night atomic.Bool
	c, err := newAt(Config{Dir: t.TempDir(), Job: job, Node: "node1"}, func() time.Time {
		if night.Load() {
			return time.Date(2026, 3, 4, 22, 0, 0, 0, time.UTC)
		}
		return time.Date(2026, 3, 4, 21, 0, 0, 0, time.UTC)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.treatment.Apply(t.Context()); err != nil { // as Run does
		t.Fatal(err)
	}
	night.Store(true)
	done, watched := make(chan struct{}), make(chan error)
	go func() { watched <- c.watchWindows(t.Context(), done) }()
	until(t, "the queues are treated as at night", func() bool {
		known, err := c.frontier.Value(plan.ValuePolicy)
		return err == nil && strings.Contains(string(known), `["night"]`)
	})
	close(done)
	if err := errors.Join(<-watched, c.close()); err != nil {
		t.Error(err)
	}
}
