package jobs

import "holdfast/catalog/agree"

// Sealing is the walk over the jobs from before level 2, whose secrets lay in the catalog in clear.
type Sealing struct {
	Jobs  uint64 `json:"jobs"`           // the number of the last of them
	After uint64 `json:"after"`          // the walk has come to this one
	Done  uint64 `json:"done,omitempty"` // the command of the log with which the last secret was gone from the catalog
}

// BeginSealing begins the walk over the jobs that there are.
func BeginSealing(s *agree.State) error {
	last, there, err := agree.Get[uint64](s, keyCount)
	if err != nil || !there {
		return err
	}
	return s.Set(PrefixSealing, Sealing{Jobs: last})
}

// sealNewJob lets a walk that is under way see the new job, too: it may be made of one that the walk has not come to.
func sealNewJob(s *agree.State, id uint64) error {
	w, there, err := agree.Get[Sealing](s, PrefixSealing)
	if err != nil || !there || w.Done != 0 {
		return err
	}
	w.Jobs = id
	return s.Set(PrefixSealing, w)
}

// sealStep takes the walk one step on.
func sealStep(s *agree.State, b *SealStep) (any, error) {
	w, there, err := agree.Get[Sealing](s, PrefixSealing)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no secrets of old jobs are to be sealed")
	}
	if w.Done != 0 || b.After != w.After || b.To <= w.After {
		return nil, agree.Refuse(agree.Conflict, "the walk has come to job %d", w.After)
	}
	if b.Job != nil {
		if err := sealJob(s, b.To, b.Job); err != nil {
			return nil, err
		}
	}
	w.After = min(b.To, w.Jobs)
	if w.After == w.Jobs {
		w.Done = s.Index
	}
	return nil, s.Set(PrefixSealing, w)
}

// sealJob puts the spec without secrets in the place of the job's.
func sealJob(s *agree.State, id uint64, b *SealedJob) error {
	j, err := find(s, id)
	if err != nil {
		return err
	}
	if j.Secret != "" {
		return agree.Refuse(agree.Conflict, "the secrets of job %d are sealed already", id)
	}
	if j.Parts != nil {
		return agree.Refuse(agree.Conflict, "job %d has never had secrets in clear", id)
	}
	j.Spec = b.Spec
	if s.Cluster.Level < LevelOfParts {
		if j.Spec, err = readSpec(b.Spec); err != nil {
			return err
		}
	}
	ended := j.State == JobDone || j.State == JobFailedRejected || j.State == JobResubmitted
	switch {
	case b.Secret == nil && !ended:
		return agree.Refuse(agree.Unsafe, "job %d is %s: its secrets are needed", id, j.State)
	case b.Secret != nil && !ended:
		if err = j.keepSecret(s, b.Secret); err != nil {
			return err
		}
	}
	return put(s, j.place(), j)
}
