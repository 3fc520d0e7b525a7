package duty

import (
	"cmp"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// Harvests are the harvests whose date has come, the first date first.
type Harvests struct {
	Due     []runs.Harvest // a run of each can begin
	Waiting []runs.Harvest // no member that crawls serves the channel of their jobs
}

// HarvestsDue lists the harvests whose date has come. Those with a run whose jobs are being made are left out: the
// next run begins when they are made.
func HarvestsDue(view catalog.View, now time.Time) (out Harvests, err error) {
	v := catalog.RunsIn(view)
	all, err := v.Due(catalog.At(now), 0)
	if err != nil || len(all) == 0 {
		return out, err
	}
	open, err := v.OpenRuns()
	if err != nil {
		return out, err
	}
	busy := make(map[uint64]bool, len(open))
	for i := range open {
		busy[open[i].Harvest] = true
	}
	served := map[string]bool{}
	for i := range all {
		h := &all[i]
		if busy[h.Number] {
			continue
		}
		channel := h.JobChannel()
		serves, known := served[channel]
		if !known {
			if serves, err = view.Serving(channel); err != nil {
				return out, err
			}
			served[channel] = serves
		}
		if serves {
			out.Due = append(out.Due, *h)
		} else {
			out.Waiting = append(out.Waiting, *h)
		}
	}
	return out, nil
}

// submitMost is how many jobs of a channel are submitted at once.
const submitMost = 1000

// Submits lists the new jobs of harvests that are to be submitted now, the oldest first, so that at most the given
// number wait in each channel. It reads no more of them than it lists. Jobs made by hand are submitted by who made
// them.
func Submits(view catalog.View, waiting int) (out []catalog.JobRef, err error) {
	reader := catalog.JobsIn(view).Reader
	channels, err := jobs.NewChannels(reader)
	if err != nil {
		return nil, err
	}
	for _, channel := range channels {
		n, err := view.WaitingIn(channel)
		if err != nil {
			return nil, err
		}
		if n >= waiting {
			continue
		}
		ids, err := jobs.NewIn(reader, channel, min(waiting-n, submitMost))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			out = append(out, catalog.JobRef{ID: id})
		}
	}
	slices.SortFunc(out, func(a, b catalog.JobRef) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
