package history

import (
	"errors"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Keep, Level: Level, Do: agree.With(keep)},
}

// Keep brings a chunk of the statistics of a job that has ended into the history. It is for the leader.
const Keep agree.Kind = "history.keep" // Step

// Step names the job, and how many chunks of it are in the history. It is refused if that number has
// changed; the caller then tries again.
type Step struct {
	Job   uint64 `json:"job"`
	After int    `json:"after,omitempty"`
}

func keep(s *agree.State, b *Step) (any, error) {
	v := jobs.NewView(s)
	c, there, err := notFound(v.UncountedJob(b.Job))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no statistics of job %d are to come into the history", b.Job)
	}
	if c.After != b.After {
		return nil, agree.Refuse(agree.Conflict, "%d chunks of job %d are in the history", c.After, b.Job)
	}
	j, err := v.Job(b.Job)
	if err != nil {
		return nil, err
	}
	some, err := v.Chunk(&j, c.After+1)
	if err != nil {
		return nil, err
	}
	snapshot, err := ofSnapshot(s, &j)
	if err != nil {
		return nil, err
	}
	var brought Sum
	for i := range some {
		if some[i].Domain != "" {
			had, err := keepOne(s, &j, c.After*jobs.StatisticsInChunk+i, &some[i], snapshot)
			if err != nil {
				return nil, err
			}
			brought.compare(&had, &some[i])
		}
		brought.add(&some[i])
	}
	if err := addUp(s, &j, brought, c.After+1 == j.Statistics); err != nil {
		return nil, err
	}
	return nil, jobs.CountNext(s, &j, c)
}

// ofSnapshot reports whether the job is one of a snapshot.
func ofSnapshot(s *agree.State, j *jobs.Job) (bool, error) {
	if j.Number == 0 {
		return false, nil
	}
	h, there, err := notFound(runs.NewView(s).Harvest(j.Number))
	return there && h.Kind == runs.Snapshot, err
}

// keepOne writes a line of a job into the history of its domain, and returns the best harvest of the configuration
// before. A line that is there already changes nothing.
func keepOne(s *agree.State, j *jobs.Job, n int, x *jobs.Statistic, snapshot bool) (had Best, err error) {
	s.Mark(prefixOfDomain(x.Domain) + tailOf(j.Ended, j.ID, n))
	// What did not enter the archive was not completed, whatever the crawl says.
	stored := j.UploadError == nil && j.State != jobs.JobFailedRejected
	is := Best{Job: j.ID, At: j.Ended, Completed: x.Stop == completed && stored, Objects: x.Objects, Bytes: x.Bytes}
	had, there, err := agree.Get[Best](s, keyBest(x.Domain, x.Name))
	if err != nil {
		return had, err
	}
	if !there || is.better(&had) {
		if err := s.Set(keyBest(x.Domain, x.Name), is); err != nil {
			return had, err
		}
	}
	if !snapshot || !stored {
		return had, nil
	}
	key := keyIn(j.Number, x.Domain, x.Name)
	before, there, err := agree.Get[Earlier](s, key)
	if err != nil || there && (before.At > j.Ended || before.At == j.Ended && before.Job > j.ID) {
		return had, err // a job that took over from another ends later
	}
	return had, s.Set(key, Earlier{Job: j.ID, At: j.Ended, Stop: x.Stop, MaxObjects: x.MaxObjects,
		MaxBytes: x.MaxBytes})
}

// notFound turns agree.ErrNotFound into false.
func notFound[T any](value T, err error) (T, bool, error) {
	if errors.Is(err, agree.ErrNotFound) {
		return value, false, nil
	}
	return value, err == nil, err
}
