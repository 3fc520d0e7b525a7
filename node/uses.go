package node

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// usesEvery is how often the access tokens that were used here for the first time on a day are told to the others, all
// in one command.
const usesEvery = 30 * time.Minute

// uses gathers which access tokens were used on this node, to the day. What was not told before the node ended is lost:
// it says when somebody was last here, and nothing depends on it.
type uses struct {
	view    func(func(catalog.View) error) error
	propose func(ctx context.Context, kind catalog.Kind, body any) error
	now     func() time.Time
	log     *slog.Logger

	mu   sync.Mutex
	days map[string]catalog.Time // the last day of each token, until it is told
}

// note says that a token was used just now.
func (u *uses) note(id string) {
	today := catalog.At(u.now()) / catalog.Day * catalog.Day
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.days == nil {
		u.days = map[string]catalog.Time{}
	}
	u.days[id] = today
}

// run tells of uses until ctx ends.
func (u *uses) run(ctx context.Context) error {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := u.tell(ctx); err != nil && ctx.Err() == nil {
			u.log.Debug("uses of access tokens are not told yet", "error", err)
		}
	}
}

// tell proposes the uses that the catalog does not know of. What could not be decided is told the next time.
func (u *uses) tell(ctx context.Context) error {
	due, err := u.due()
	if err != nil {
		return err
	}
	for day, tokens := range due {
		slices.Sort(tokens)
		for chunk := range slices.Chunk(tokens, catalog.MaxItems) {
			if err := u.propose(ctx, catalog.NoteUses, catalog.TokenUses{Day: day, Tokens: chunk}); err != nil {
				return err
			}
		}
	}
	return nil
}

// due returns the tokens to tell of by day, and forgets those that the catalog knows of.
func (u *uses) due() (map[catalog.Time][]string, error) {
	due := map[catalog.Time][]string{}
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.view(func(v catalog.View) error {
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
