package warrant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// days is a catalog that knows on which days tokens were used.
type days struct {
	level int
	used  map[string]catalog.Time
}

func (d days) Get(key []byte) ([]byte, error) {
	if string(key) == catalog.PrefixCluster {
		return levelOnly{d.level}.Get(key)
	}
	if at, ok := d.used[string(key)]; ok {
		return fmt.Appendf([]byte{1}, "%d", at), nil
	}
	return nil, nil
}

func (days) Scan(_, _ []byte, _ func(key, value []byte) bool) error { return nil }

// However often tokens are used, one command a day names all of them.
func TestUsesAreToldOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agreed := days{level: 2, used: map[string]catalog.Time{}}
		var told [][]string
		fail := true
		u := &Uses{Now: time.Now, Log: slog.New(slog.DiscardHandler),
			View: func(see func(catalog.View) error) error { return see(catalog.NewView(agreed)) },
			Propose: func(_ context.Context, kind catalog.Kind, body any) error {
				uses := body.(catalog.TokenUses)
				told = append(told, uses.Tokens)
				if fail {
					return errors.New("nobody decides")
				}
				for _, id := range uses.Tokens {
					agreed.used["used/"+id] = uses.Day
				}
				return nil
			}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- u.Run(ctx) }()
		pass := func(want int) {
			t.Helper()
			for range 20 {
				u.Note("b")
				u.Note("a")
				time.Sleep(time.Minute)
			}
			time.Sleep(usesEvery - 20*time.Minute)
			synctest.Wait()
			if len(told) != want {
				t.Errorf("told %d times, want %d: %v", len(told), want, told)
			}
		}
		pass(0) // below level 3
		agreed.level = 3
		pass(1)
		fail = false
		pass(2) // again what failed, and no more
		for range 10 {
			pass(2)
		}
		time.Sleep(24 * time.Hour)
		pass(3)
		if !slices.Equal(told[2], []string{"a", "b"}) {
			t.Errorf("%v", told)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
