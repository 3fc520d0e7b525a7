package steward

import (
	"context"
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/duty"
)

// historySteps is how many chunks of statistics are brought into the history in one round, and lostOnes of how many
// attempts the statistics are removed.
const (
	historySteps = 40
	lostOnes     = 10
)

// keepHistory brings the statistics of jobs that have ended into the history of their domains; what is left is done in
// the next round.
func (s *Steward) keepHistory(ctx context.Context) error {
	var steps []history.Step
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		steps, err = duty.HistorySteps(v, historySteps)
		return err
	})
	if err != nil {
		return fmt.Errorf("find statistics to keep: %w", err)
	}
	for _, step := range steps {
		if err := s.propose(ctx, history.Keep, step); err != nil {
			return err
		}
	}
	return nil
}

// dropStatistics removes the statistics of attempts that were lost.
func (s *Steward) dropStatistics(ctx context.Context) error {
	var lost []jobs.JobRef
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) { lost, err = v.LostStatistics(lostOnes); return err })
	if err != nil {
		return fmt.Errorf("find statistics that are no longer used: %w", err)
	}
	for _, attempt := range lost {
		if err := s.propose(ctx, jobs.DropStatistics, attempt); err != nil {
			return err
		}
	}
	return nil
}
