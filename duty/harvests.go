package duty

import (
	"time"

	"holdfast/catalog"
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

// submitPage is how many new jobs are read at a time, and submitMost how many are submitted at once.
const (
	submitPage = 100
	submitMost = 1000
)

// Submits lists the new jobs of harvests that are to be submitted now, the oldest first, so that at most the given
// number wait in each channel. Jobs made by hand are submitted by who made them.
func Submits(view catalog.View, waiting int) (out []catalog.JobRef, err error) {
	in := map[string]int{}
	for after := uint64(0); ; {
		page, err := view.Jobs(catalog.JobNew, after, submitPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			j := &page[i]
			if after = j.ID; j.Number == 0 || j.Wish != catalog.WishRun {
				continue
			}
			n, known := in[j.Channel]
			if !known {
				if n, err = view.WaitingIn(j.Channel); err != nil {
					return nil, err
				}
			}
			if in[j.Channel] = n; n >= waiting {
				continue
			}
			in[j.Channel]++
			out = append(out, catalog.JobRef{ID: j.ID})
		}
		if len(page) < submitPage || len(out) >= submitMost {
			return out, nil
		}
	}
}
