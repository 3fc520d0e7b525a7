package replica

import (
	"bytes"
	"context"
	"errors"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// awayEvery is how often a node looks whether its disks are there, for the others to know.
const awayEvery = 15 * time.Second

// absences tell the catalog which shards of this node lie on disks that are away: their copies count as before, and
// everybody is to know that nobody can read them.
type absences struct {
	*agreed
	*holdings
}

func (a *absences) run(ctx context.Context) error {
	if a.sums != nil {
		return nil
	}
	for {
		if err := a.tell(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("it could not be told which shards are on disks that are away", "err", err)
		}
		if err := sleep(ctx, awayEvery); err != nil {
			return err
		}
	}
}

// tell tells the catalog, if it does not say so already.
func (a *absences) tell(ctx context.Context) error {
	is := files.Away{Node: a.cfg.Self}
	gone := map[*root]bool{}
	for _, r := range a.store.roots {
		gone[r] = r.mounted() != nil
	}
	for n := range catalog.Shard(catalog.Shards) {
		if gone[a.store.shards.on(n)] {
			is.Add(n)
		}
	}
	level, err := a.level()
	if err != nil || level < files.LevelOfAway {
		return err
	}
	var said files.Away
	known := false
	err = a.catalog.View(func(v catalog.View) (err error) {
		if _, err = v.Member(a.cfg.Self); errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if known = err == nil; known {
			said, err = v.AwayOf(a.cfg.Self)
		}
		return err
	})
	if err != nil || !known || bytes.Equal(said.Shards, is.Shards) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	res, err := a.catalog.Propose(ctx, files.NoteAway, is, string(a.cfg.Self))
	if err == nil && res.Refusal != nil {
		err = res.Refusal
	}
	return err
}
