package steward

import (
	"context"
	"fmt"
	"time"

	"holdfast/catalog"
)

// clockPatience is how long a leader sees the catalog's clock far ahead before it sets it back: by then this machine's
// own clock has been compared with the others', and set after a start.
const clockPatience = 10 * time.Minute

// clockDuty is the leader's duty towards the catalog's clock.
type clockDuty struct {
	since time.Time // when the clock was first seen far ahead
}

// due returns the change to propose when the catalog's clock has been far ahead of now for long enough.
func (d *clockDuty) due(clock catalog.Time, now, steady time.Time) (catalog.ClockChange, bool) {
	ahead := clock - catalog.At(now)
	if ahead <= catalog.ClockMost {
		d.since = time.Time{}
		return catalog.ClockChange{}, false
	}
	if d.since.IsZero() {
		d.since = steady
	}
	return catalog.ClockChange{Ahead: int64(ahead)}, steady.Sub(d.since) >= clockPatience
}

// keepClock sets the catalog's clock back when a wrong clock has put it far ahead. A cluster of level 1 cannot: there,
// what waits for a stamp to pass goes by this node's own pauses.
func (s *Steward) keepClock(ctx context.Context) error {
	var clock catalog.Time
	var cluster catalog.Cluster
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		if cluster, err = v.Cluster(); err == nil {
			clock, err = v.Clock()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the catalog's clock: %w", err)
	}
	if s.cfg.Unsure() {
		s.clock = clockDuty{}
		return nil
	}
	change, due := s.clock.due(clock, s.cfg.Now(), time.Now())
	if !due || cluster.Level < 2 {
		return nil
	}
	s.cfg.Log.Error("the catalog's clock is ahead of the members' clocks: it is set back",
		"ahead", time.Duration(change.Ahead)*time.Millisecond)
	s.clock = clockDuty{}
	return s.propose(ctx, catalog.SetClock, change)
}
