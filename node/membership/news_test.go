package membership

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// A node tells its facts at the beginning, every ten seconds, and never because others tell theirs: the nodes would keep
// each other talking. It tells gossip of the members once, and again when they are others.
func TestWhenANodeTellsItsFacts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		self := memberOf("self")
		roster := NewRoster(Folder{}, disk.New(), self.ID, Known{Members: []catalog.Member{self, memberOf("other")}}, &links{},
			slog.New(slog.DiscardHandler))
		var mu sync.Mutex
		told, joined := 0, [][]string{}
		news := News{Self: self.ID, Roster: roster, Changed: NewChanges(), Log: slog.New(slog.DiscardHandler),
			Join: func(others []string) { mu.Lock(); defer mu.Unlock(); joined = append(joined, others) },
			Tell: func() error { // an error ends nothing
				mu.Lock()
				defer mu.Unlock()
				told++
				return errors.New("too large")
			}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- news.Run(ctx) }()
		synctest.Wait()
		expect := func(what string, times int, others ...[]string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if told != times || !slices.EqualFunc(joined, others, slices.Equal) {
				t.Errorf("%s: told %d times, want %d; joined %v, want %v", what, told, times, joined, others)
			}
		}
		first := []string{string(memberOf("other").ID)}
		expect("begun", 1, first)
		for range 3 {
			news.Changed.Tell()
			synctest.Wait()
		}
		expect("others told something", 1, first)
		roster.set(Known{Members: []catalog.Member{self}})
		news.Changed.Tell()
		synctest.Wait()
		expect("the other was removed", 1, first, nil)
		time.Sleep(2*factsEvery + time.Second)
		synctest.Wait()
		expect("twenty seconds later", 3, first, nil)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
