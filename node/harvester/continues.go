package harvester

import (
	"slices"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

const (
	// lookBack is how many runs before a run are looked at for one that brought something.
	lookBack = 20
	// page is how many are read at a time.
	page = 500
)

// continued lists the jobs whose documents a job need not store again. Of a selective or event harvest they are those
// of the last run before that brought something: its lists name the originals of what it did not store itself. Of a
// snapshot they are those of all snapshots that it continues, and of the chain of snapshots before.
func continued(v catalog.View, job *catalog.Job, h *runs.Harvest) (ids []uint64, err error) {
	if h.Kind != runs.Snapshot {
		for run := job.Run; run > 1 && job.Run-run < lookBack && len(ids) == 0; run-- {
			if ids, err = ended(v, h.Number, run-1); err != nil {
				return nil, err
			}
		}
		return ids, nil
	}
	first, err := chain(v, h.Earlier, &ids)
	if err != nil {
		return nil, err
	}
	if first == 0 {
		first = h.Number
	}
	before, err := snapshotBefore(v, first, h)
	if err == nil && before != 0 {
		_, err = chain(v, before, &ids)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// chain adds the jobs of a snapshot and of those that it continues, and returns the number of the first of these.
func chain(v catalog.View, number uint64, ids *[]uint64) (first uint64, err error) {
	all, err := catalog.RunsIn(v).Snapshots(number)
	for _, first = range all {
		h, err := catalog.RunsIn(v).Harvest(first)
		if err != nil {
			return first, err
		}
		for run := uint64(1); run <= h.Runs; run++ {
			some, err := ended(v, first, run)
			if err != nil {
				return first, err
			}
			*ids = append(*ids, some...)
		}
	}
	return first, err
}

// snapshotBefore is the number of the last snapshot of the collection that has run and was defined before another one;
// 0 if there is none.
func snapshotBefore(v catalog.View, number uint64, of *runs.Harvest) (last uint64, err error) {
	view := catalog.RunsIn(v)
	for after := uint64(0); ; {
		some, err := view.Harvests(after, page)
		if err != nil || len(some) == 0 {
			return last, err
		}
		for i := range some {
			h := &some[i]
			if after = h.Number; after >= number {
				return last, nil
			}
			if h.Kind == runs.Snapshot && h.Collection == of.Collection && h.Runs > 0 && h.Number != of.Number {
				last = h.Number
			}
		}
	}
}

// ended lists the jobs of a run that have ended: their files are in the archive, or as much of them as there is.
func ended(v catalog.View, number, run uint64) (ids []uint64, err error) {
	for after := uint64(0); ; {
		some, err := v.JobsOfRun(number, run, after, page)
		if err != nil || len(some) == 0 {
			return ids, err
		}
		for i := range some {
			after = some[i].ID
			switch some[i].State {
			case jobs.JobDone, jobs.JobFailed, jobs.JobFailedRejected:
				ids = append(ids, after)
			}
		}
	}
}
