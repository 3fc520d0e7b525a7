package duty

import (
	"holdfast/catalog"
	"holdfast/catalog/history"
)

// HistorySteps lists at most n steps that bring the statistics of jobs that have ended into the history, in the order
// in which they are to be proposed.
func HistorySteps(view catalog.View, n int) (out []history.Step, err error) {
	due, err := view.Uncounted(n)
	if err != nil {
		return nil, err
	}
	for _, c := range due {
		job, err := view.Job(c.Job)
		if err != nil {
			return nil, err
		}
		for after := c.After; after < job.Statistics && len(out) < n; after++ {
			out = append(out, history.Step{Job: c.Job, After: after})
		}
	}
	return out, nil
}
