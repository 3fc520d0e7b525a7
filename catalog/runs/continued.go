package runs

import "holdfast/catalog/jobs"

const (
	// longestChain is how many snapshots that continue one another are looked at.
	longestChain = 100
	// jobsPage is how many jobs are read at a time.
	jobsPage = 500
)

// Snapshots lists a snapshot and those that it continues, the last one first; none for 0.
func (v View) Snapshots(number uint64) (all []uint64, err error) {
	for number != 0 && len(all) < longestChain {
		h, err := v.Harvest(number)
		if err != nil {
			return nil, err
		}
		all = append(all, number)
		number = h.Earlier
	}
	return all, nil
}

// Unfinished is the number of a snapshot, among one and those that it continues, of which jobs are being made or have
// not ended; 0 if there is none. What it harvests is not known before, and no jobs are made of what continues it.
func (v View) Unfinished(number uint64) (uint64, error) {
	all, err := v.Snapshots(number)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		h, err := v.Harvest(one)
		if err != nil {
			return 0, err
		}
		for run := uint64(1); run <= h.Runs; run++ {
			if works, err := v.underWay(one, run); err != nil || works {
				return one, err
			}
		}
	}
	return 0, nil
}

// underWay reports whether jobs of a run are being made or have not ended.
func (v View) underWay(number, run uint64) (bool, error) {
	r, err := v.Run(number, run)
	if err != nil || r.State == Splitting {
		return err == nil, err
	}
	in := jobs.NewView(v.Reader)
	for after := uint64(0); ; {
		some, err := in.JobsOfRun(number, run, after, jobsPage)
		if err != nil || len(some) == 0 {
			return false, err
		}
		for i := range some {
			after = some[i].ID
			switch some[i].State {
			case jobs.JobNew, jobs.JobSubmitted, jobs.JobStarted:
				return true, nil
			}
		}
	}
}
