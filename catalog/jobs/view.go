package jobs

import "holdfast/catalog/agree"

// View answers questions about the subject; see agree.View.
type View struct{ Reader agree.Reader }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{Reader: r} }

// Job returns the job, or ErrNotFound.
func (v View) Job(id uint64) (Job, error) { return agree.Found(agree.Get[Job](v.Reader, keyJob(id))) }

// Jobs returns jobs of the state behind job after; of every state when state is empty.
func (v View) Jobs(state JobState, after uint64, n int) ([]Job, error) {
	behind := ""
	if after != 0 {
		behind = agree.Hex(after)
	}
	if state == "" {
		return agree.List[Job](v.Reader, PrefixJobs, behind, n)
	}
	ids, err := agree.Tails(v.Reader, prefixJobStates+string(state)+"/", behind, n)
	if err != nil {
		return nil, err
	}
	jobs := make([]Job, 0, len(ids))
	for _, id := range ids {
		j, err := agree.Found(agree.Get[Job](v.Reader, PrefixJobs+id))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Secret returns the secret, or ErrNotFound.
func (v View) Secret(id string) (Secret, error) {
	return agree.Found(agree.Get[Secret](v.Reader, keySecret(id)))
}

// Secrets returns at most n secrets behind the given id.
func (v View) Secrets(after string, n int) ([]Secret, error) {
	return agree.List[Secret](v.Reader, PrefixSecrets, after, n)
}

// Sealing returns the walk over the jobs from before level 2, or ErrNotFound when there were none.
func (v View) Sealing() (Sealing, error) {
	return agree.Found(agree.Get[Sealing](v.Reader, PrefixSealing))
}
