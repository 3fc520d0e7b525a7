package jobs

import (
	"fmt"

	"holdfast/catalog/agree"
)

// recallPart brings back a part of a job, behind those that are there.
func recallPart(s *agree.State, b *JobAddition) (any, error) {
	if err := agree.Rebuilding(s); err != nil {
		return nil, err
	}
	if err := b.Part.check(); err != nil {
		return nil, err
	}
	if b.Secret != nil || len(b.Uses) > 0 {
		return nil, agree.Refuse(agree.Invalid, "a part that is brought back has no secrets")
	}
	if b.ID == 0 || b.ID > lastNumber || b.Number < 1 || b.Number > maxParts {
		return nil, agree.Refuse(agree.Invalid, "part %d of job %d", b.Number, b.ID)
	}
	if there, err := agree.Has(s, keyJob(b.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "job %d is in the catalog", b.ID)
	}
	if b.Number > 1 {
		if there, err := agree.Has(s, keyPart(b.ID, b.Number-1)); err != nil || !there {
			return nil, agree.OrConflict(err, "job %d has no part %d", b.ID, b.Number-1)
		}
	}
	h := Parts{Of: b.ID, Count: b.Number - 1}
	return nil, h.add(s, &b.Part)
}

// recallJob brings back a job that had ended, with its number and its dates.
func recallJob(s *agree.State, b *Job) (any, error) {
	if err := agree.Rebuilding(s); err != nil {
		return nil, err
	}
	if err := checkMade(s, b.Harvest, b.Collection, b.Channel); err != nil {
		return nil, err
	}
	switch b.State {
	case JobDone, JobFailed, JobResubmitted, JobFailedRejected:
	default:
		return nil, agree.Refuse(agree.Invalid, "job %d is %s: only those that have ended are brought "+
			"back", b.ID,
			agree.Clip(string(b.State), 40))
	}
	if b.ID == 0 || b.ID > lastNumber || b.Parts == nil || len(b.AllSecrets()) > 0 || len(b.Spec) > 0 ||
		b.Attempt < 0 || b.Number > lastNumber || b.Run > lastNumber || len(b.Parts.Template) > maxTemplate {
		return nil, agree.Refuse(agree.Invalid, "job %d: want a number, parts, and no secrets", b.ID)
	}
	if err := agree.CheckTimes(b.Created, b.Submitted, b.Started, b.Ended); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyJob(b.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "job %d is in the catalog", b.ID)
	}
	parts, err := partsThere(s, b.ID, b.Parts)
	if err != nil {
		return nil, err
	}
	b.Parts, b.Statistics, b.WishBy, b.Next = parts, 0, 0, 0
	b.Reason, b.WishReason = agree.ClipReason(b.Reason), agree.ClipReason(b.WishReason)
	b.HarvestError, b.UploadError = b.HarvestError.clipped(), b.UploadError.clipped()
	if b.Number != 0 {
		run, _, err := agree.Get[Run](s, keyRun(b.Number, b.Run))
		if err != nil {
			return nil, err
		}
		run.Jobs, run.Last = run.Jobs+1, max(run.Last, b.ID)
		if err := s.Set(keyRun(b.Number, b.Run), run); err != nil {
			return nil, err
		}
	}
	if err := CountFrom(s, b.ID); err != nil {
		return nil, err
	}
	return nil, put(s, place{}, b)
}

// partsThere adds up the parts of a job that were brought back, as many as are meant.
func partsThere(s *agree.State, id uint64, meant *Parts) (*Parts, error) {
	h := &Parts{Of: id, Template: meant.Template}
	for h.Count < meant.Count {
		value, err := s.Get([]byte(keyPart(id, h.Count+1)))
		if err != nil {
			return nil, err
		}
		if value == nil {
			break
		}
		p, err := decodePart(value)
		if err != nil {
			return nil, fmt.Errorf("read part %d of job %d: %w", h.Count+1, id, err)
		}
		if h.Count == 0 && p.Kind != PartJob {
			break
		}
		h.count(&p, value)
	}
	if h.Count != meant.Count || h.Count == 0 {
		return nil, agree.Refuse(agree.Conflict, "job %d has %d of %d parts, or the first is not the text "+
			"of a job", id,
			h.Count, meant.Count)
	}
	return h, nil
}

// CountFrom has no job get the number, or one before it.
func CountFrom(s *agree.State, number uint64) error {
	if number > lastNumber {
		return agree.Refuse(agree.Invalid, "%d is the number of no job", number)
	}
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil || number <= last {
		return err
	}
	return s.Set(keyCount, number)
}
