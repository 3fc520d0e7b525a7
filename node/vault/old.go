package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/catalog"
	"holdfast/harvest"
)

// sealPage is how many old jobs are looked at for one command.
const sealPage = 100

// sealOld seals, on the leading node, the secrets of jobs from before level 2, which are in the catalog in clear. It
// continues where the walk has come to according to the catalog.
func (v *Vault) sealOld(ctx context.Context) error {
	for v.cfg.Agree.IsLeader() {
		step, due, err := v.nextOld()
		if err != nil || !due {
			return err
		}
		if err := v.decide(ctx, catalog.SealOldJobs, step); err != nil {
			return fmt.Errorf("seal the secrets of old jobs up to job %d: %w", step.To, err)
		}
	}
	return nil
}

// nextOld returns the next step of the walk: to the next job with secrets in clear, or over a page of jobs without.
func (v *Vault) nextOld() (step catalog.SealStep, due bool, err error) {
	var job *catalog.Job
	var open harvest.Job
	var secrets harvest.Secrets
	err = v.cfg.Agree.View(func(view catalog.View) error {
		walk, err := view.Sealing()
		if err != nil || walk.Done != 0 {
			return ignoreNotFound(err)
		}
		due, step = true, catalog.SealStep{After: walk.After, To: walk.Jobs}
		jobs, err := view.Jobs("", walk.After, sealPage)
		if err != nil {
			return err
		}
		for i := range jobs {
			if jobs[i].ID > walk.Jobs {
				return nil
			}
			if jobs[i].Secret != "" || jobs[i].Parts != nil {
				continue
			}
			spec, err := view.Spec(&jobs[i])
			if err != nil {
				return err
			}
			if open, secrets, err = spec.Part(); err != nil {
				return fmt.Errorf("part job %d from its secrets: %w", jobs[i].ID, err)
			}
			if len(secrets) > 0 {
				job, step.To = &jobs[i], jobs[i].ID
				return nil
			}
		}
		if len(jobs) == sealPage {
			step.To = jobs[len(jobs)-1].ID
		}
		return nil
	})
	if err != nil || job == nil {
		return step, due, err
	}
	sealed := &catalog.SealedJob{}
	if sealed.Spec, err = json.Marshal(open); err != nil {
		return step, due, fmt.Errorf("encode job %d: %w", job.ID, err)
	}
	if !endedForGood(job.State) {
		if sealed.Secret, err = v.seal(secrets); err != nil {
			return step, due, fmt.Errorf("seal the secrets of job %d: %w", job.ID, err)
		}
	}
	step.Job = sealed
	return step, due, nil
}

// purge rids this node's disk of the secrets that lay in the log and the state in clear, once the catalog has none
// left.
func (v *Vault) purge(ctx context.Context) error {
	var walk catalog.Sealing
	err := v.cfg.Agree.View(func(view catalog.View) (err error) {
		walk, err = view.Sealing()
		return ignoreNotFound(err)
	})
	if err != nil || walk.Done == 0 {
		return err
	}
	for range purgeTries {
		if err = v.cfg.Agree.Purge(ctx, walk.Done); !errors.Is(err, v.cfg.NotPurged) {
			return err
		}
		v.cfg.Log.Info("secrets from before level 2 are not all gone from this node's disk yet", "why", err)
		change := catalog.MemberChange{ID: v.cfg.Self} // changes nothing, but begins a file of the log
		if err := v.decide(ctx, catalog.UpdateMember, change); err != nil {
			return err
		}
	}
	return fmt.Errorf("rid this node's disk of secrets from before level 2: %w", err)
}

// purgeTries is how often the log is cut in one round.
const purgeTries = 3

// endedForGood reports whether a job in that state can never run again.
func endedForGood(state catalog.JobState) bool {
	return state == catalog.JobDone || state == catalog.JobFailedRejected || state == catalog.JobResubmitted
}
