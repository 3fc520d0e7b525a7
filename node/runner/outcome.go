package runner

import (
	"encoding/json"
	"io"
	"path/filepath"

	"holdfast/catalog"
	"holdfast/crawler"
)

// outcomeFile is where a job's settings say how its attempt ended, for who has the metadata file and no catalog.
const outcomeFile = "outcome.json"

// outcome is what is in it.
type outcome struct {
	catalog.JobEnd
	Started catalog.Time `json:"started,omitempty"`
}

// keepOutcome writes down how a crawl ended, beside what it was made from. What becomes of its files is not known yet.
func (c *Runner) keepOutcome(r *Attempt, summary crawler.Summary, failed error) error {
	level, err := levelOf(c.cfg.Agreement)
	if err != nil {
		return err
	}
	var started catalog.Time // the attempt's note may be from before its start
	err = c.cfg.Agreement.View(func(v catalog.View) error {
		job, err := v.Job(r.Job.ID)
		if err == nil && job.Attempt == r.Job.Attempt {
			started = job.Started
		}
		return err
	})
	if err != nil {
		return err
	}
	end := catalog.JobEnd{ID: r.Job.ID, Node: c.cfg.Self, Attempt: r.Job.Attempt, Stats: statsOf(summary, level)}
	blame(&end, level, failed, nil)
	return c.cfg.Disk.WriteFile(filepath.Join(r.Dir, "settings", outcomeFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(outcome{end, started})
	})
}
