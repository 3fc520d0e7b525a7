package metadata

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/cdx"
	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/internal/disk"
)

// JobIndexes make indexes of sets of jobs for the API.
type JobIndexes struct {
	Lines     *jobset.Cache // of what jobs recorded
	Documents *dedup.Cache
	Extractor Extractor
}

// Records selects records of a job, of those that the gate lets pass.
func (i JobIndexes) Records(ctx context.Context, job uint64, url, kind *regexp.Regexp,
	gate cdx.Gate) (api.JobIndex, error) {
	found, err := i.Extractor.Open(ctx, job, Selection{URL: url, Type: kind, Gate: gate})
	switch {
	case errors.Is(err, jobset.ErrNone):
		err = fmt.Errorf("%w: no metadata file of job %d can be read now", api.ErrNotFound, job)
	case errors.Is(err, disk.ErrFull):
		err = fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Open makes an index of those of the jobs whose metadata files are in the archive, or finds the one made before.
func (i JobIndexes) Open(ctx context.Context, kind wire.JobIndexKind, jobs []uint64) (index api.JobIndex,
	of wire.JobIndex, err error) {
	switch kind {
	case wire.JobIndexDocuments:
		index, of.Jobs, err = i.Documents.Open(ctx, jobs)
	case wire.JobIndexFull:
		index, of.Jobs, err = i.Lines.Open(ctx, jobset.Full, jobs)
	default:
		index, of.Jobs, err = i.Lines.Open(ctx, jobset.CDX, jobs)
	}
	if errors.Is(err, disk.ErrFull) {
		err = fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	if err != nil {
		return nil, of, err
	}
	if kind != wire.JobIndexDocuments { // these are those of the last attempt
		for _, job := range of.Jobs {
			lost, err := i.Extractor.Jobs.Lost(job)
			if err != nil {
				return nil, of, errors.Join(err, index.Close())
			}
			if len(lost) > 0 {
				of.Incomplete = append(of.Incomplete, job)
			}
		}
	}
	return index, of, nil
}
