package steward

import (
	"context"
	"fmt"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/duty"
)

// batchPatience is how long a node that drives a batch may not be heard before another node drives it. What was done is
// done again then, and a driver that was only cut off is not believed any more.
const batchPatience = 2 * time.Minute

// releaseBatches takes batches from drivers that are lost.
func (s *Steward) releaseBatches(ctx context.Context, since time.Time) error {
	now := time.Now()
	var lost []batches.Holder
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		lost, err = duty.LostBatches(v, s.contacts(since, now), now, batchPatience)
		return err
	})
	if err != nil {
		return fmt.Errorf("find batches whose driver is lost: %w", err)
	}
	for _, h := range lost {
		s.cfg.Log.Warn("batch lost the node that drove it", "batch", h.ID, "node", h.Node)
		if err := s.propose(ctx, batches.Release, h); err != nil {
			return err
		}
	}
	return nil
}
