package steward

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/duty"
)

const (
	// trustAfter is how long the time has to pass evenly before bytes are released because of it.
	trustAfter = 10 * time.Minute
	// unevenly is by how much the time may differ from what has passed since.
	unevenly = time.Minute
	// expiredAtOnce is how many removed files become tombstones by one command, and expireRounds how many such commands
	// there are in one round.
	expiredAtOnce = 20
	expireRounds  = 10
)

// steadiness tells whether the time can be relied on: one that has just jumped cannot.
type steadiness struct {
	since time.Time // by this machine's steady clock
	then  time.Time // what the time was
}

// holds notes the time, and reports whether it has passed evenly for long enough, at a machine whose clock agreed with
// the other members' all along.
func (d *steadiness) holds(now, steady time.Time, unsure bool) bool {
	if unsure {
		*d = steadiness{}
		return false
	}
	passed := steady.Sub(d.since)
	if d.since.IsZero() || (now.Sub(d.then)-passed).Abs() > unevenly {
		*d = steadiness{since: steady, then: now}
		return false
	}
	return passed >= trustAfter
}

// expireFiles makes tombstones of removed files whose time to be restored is over; what is left is done in the next
// round.
func (s *Steward) expireFiles(ctx context.Context) error {
	now := s.cfg.Now()
	if !s.steady.holds(now, time.Now(), s.cfg.Unsure()) {
		return nil
	}
	var last []catalog.FileName
	for range expireRounds {
		var due []catalog.FileName
		err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
			due, err = duty.RemovalsDue(v, now, expiredAtOnce)
			return err
		})
		if err != nil {
			return fmt.Errorf("find removed files to release: %w", err)
		}
		if len(due) == 0 || slices.Equal(due, last) { // refused, or the state here is behind
			return nil
		}
		last = due
		s.cfg.Log.Info("the copies of removed files are released", "files", len(due), "first", due[0])
		if err := s.propose(ctx, files.ExpireFiles, files.Expiry{Files: due}); err != nil {
			return err
		}
	}
	return nil
}
