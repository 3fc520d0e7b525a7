package warrant

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// usesEvery is how often the access tokens that were used here for the first time on a day are told to the others, all
// in one command.
const usesEvery = 30 * time.Minute

// Uses gathers which access tokens were used on this node, to the day. What was not told before the node ended is lost:
// it says when somebody was last here, and nothing depends on it.
type Uses struct {
	View    func(func(catalog.View) error) error
	Propose func(ctx context.Context, kind catalog.Kind, body any) error
	Now     func() time.Time
	Log     *slog.Logger

	mu   sync.Mutex
	days map[string]catalog.Time // the last day of each token, until it is told
}

// Note says that a token was used just now.
func (u *Uses) Note(id string) {
	today := catalog.At(u.Now()) / catalog.Day * catalog.Day
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.days == nil {
		u.days = map[string]catalog.Time{}
	}
	u.days[id] = today
}

// Run reports uses until ctx ends.
func (u *Uses) Run(ctx context.Context) error {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := u.tell(ctx); err != nil && ctx.Err() == nil {
			u.Log.Debug("uses of access tokens are not told yet", "error", err)
		}
	}
}

// tell proposes the uses that the catalog does not know of. What could not be decided is told the next time.
func (u *Uses) tell(ctx context.Context) error {
	due, err := u.due()
	if err != nil {
		return err
	}
	for day, tokens := range due {
		slices.Sort(tokens)
		for chunk := range slices.Chunk(tokens, catalog.MaxItems) {
			if err := u.Propose(ctx, catalog.NoteUses, catalog.TokenUses{Day: day, Tokens: chunk}); err != nil {
				return err
			}
		}
	}
	return nil
}

// due returns the tokens to report, by day, and forgets those that the catalog knows.
func (u *Uses) due() (map[catalog.Time][]string, error) {
	due := map[catalog.Time][]string{}
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err != nil || cluster.Level < catalog.LevelOfPeople {
			return ignoreNotFound(err)
		}
		for id, day := range u.days {
			known, err := catalog.PeopleIn(v).Used(id)
			if err != nil {
				return err
			}
			if known >= day {
				delete(u.days, id)
				continue
			}
			due[day] = append(due[day], id)
		}
		return nil
	})
	return due, err
}

// ignoreNotFound is nil for what the catalog does not have.
func ignoreNotFound(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}
