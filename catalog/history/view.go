package history

import (
	"errors"
	"fmt"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// PendingHistory reports whether statistics of jobs that have ended are not in the history yet. Until they are, nothing
// is planned from it.
func (v View) PendingHistory() (bool, error) {
	some, err := jobs.NewView(v.Reader).Uncounted(1)
	return len(some) > 0, err
}

// Best returns the best history of a configuration; the zero value if it was never harvested.
func (v View) Best(domain, configuration string) (Best, error) {
	b, _, err := agree.Get[Best](v.Reader, keyBest(domain, configuration))
	return b, err
}

// Earlier returns how a configuration fared in the snapshot with the number; the zero value if it was not in it.
func (v View) Earlier(harvest uint64, domain, configuration string) (Earlier, error) {
	e, _, err := agree.Get[Earlier](v.Reader, keyIn(harvest, domain, configuration))
	return e, err
}

// OfDomain returns at most n lines of the domain's history, the newest first, behind the one with the cursor.
func (v View) OfDomain(domain, after string, n int) ([]Line, error) {
	tails, err := agree.Tails(v.Reader, prefixOfDomain(domain), after, n)
	if err != nil {
		return nil, err
	}
	out, in := make([]Line, 0, len(tails)), jobs.NewView(v.Reader)
	for _, tail := range tails {
		line, err := lineAt(in, tail)
		if err != nil {
			return nil, fmt.Errorf("catalog key %q: %w", prefixOfDomain(domain)+tail, err)
		}
		out = append(out, line)
	}
	return out, nil
}

// errKey reports a key that is not in its form.
var errKey = errors.New("want a time, a job and a number")

func lineAt(in jobs.View, tail string) (line Line, err error) {
	var before, job uint64
	var n int
	if _, err := fmt.Sscanf(tail, "%16x/%16x/%8x", &before, &job, &n); err != nil {
		return line, fmt.Errorf("%w: %w", errKey, err)
	}
	j, err := in.Job(endOfAll - job)
	if err != nil {
		return line, err
	}
	some, err := in.Statistics(&j, n, 1)
	if err == nil && len(some) == 0 {
		err = agree.ErrNotFound
	}
	if err != nil {
		return line, err
	}
	return Line{Job: j.ID, Harvest: j.Number, Run: j.Run, Name: j.Harvest, Received: j.Ended, Cursor: tail,
		Statistic: some[0]}, nil
}

// OfJob returns at most n statistics of a job that has ended, behind the first ones.
func (v View) OfJob(job uint64, after, n int) ([]jobs.Statistic, error) {
	in := jobs.NewView(v.Reader)
	j, err := in.Job(job)
	if err != nil {
		return nil, err
	}
	return in.Statistics(&j, after, n)
}
