package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// LevelOfSums is the level of a cluster that adds up what runs of harvests brought.
const LevelOfSums = 5

// Sum is what the jobs of a run brought that are done. Jobs that failed are not in it: what they brought comes again
// when they are resubmitted.
type Sum struct {
	Jobs           uint64     `json:"jobs"` // that are in it
	Configurations int64      `json:"configurations"`
	Objects        int64      `json:"objects"`
	Bytes          int64      `json:"bytes"`
	Limited        int64      `json:"limited,omitempty"` // met a limit, and were harvested completely before
	Silent         int64      `json:"silent,omitempty"`  // brought nothing, and did before
	At             agree.Time `json:"at"`                // when the last of its jobs ended
}

func (s *Sum) add(x *jobs.Statistic) {
	s.Objects = plus(s.Objects, x.Objects)
	s.Bytes = plus(s.Bytes, x.Bytes)
}

// plus adds figures that are not negative, up to the largest there is.
func plus(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// compare counts a configuration, and whether it brought less than its best harvest before.
func (s *Sum) compare(had *Best, x *jobs.Statistic) {
	s.Configurations++
	switch {
	case x.Objects == 0 && had.Objects > 0:
		s.Silent++
	case strings.HasSuffix(x.Stop, "-limit") && had.Completed:
		s.Limited++
	}
}

// addUp adds what a chunk of a job's statistics brought to the sum of its run; last says that it is the job's last one.
func addUp(s *agree.State, j *jobs.Job, brought Sum, last bool) error {
	if s.Cluster.Level < LevelOfSums || j.Number == 0 || j.State != jobs.JobDone || j.UploadError != nil {
		return nil
	}
	key := keySum(j.Number, j.Run)
	sum, there, err := agree.Get[Sum](s, key)
	if err != nil {
		return err
	}
	sum.Configurations += brought.Configurations
	sum.Objects = plus(sum.Objects, brought.Objects)
	sum.Bytes = plus(sum.Bytes, brought.Bytes)
	sum.Limited += brought.Limited
	sum.Silent += brought.Silent
	if last {
		if there && sum.Jobs > 0 {
			s.Delete(keyLast(sum.At, j.Number, j.Run))
		}
		sum.Jobs++
		sum.At = max(sum.At, j.Ended)
		s.Mark(keyLast(sum.At, j.Number, j.Run))
	}
	return s.Set(key, sum)
}

// Sum returns what a run brought; whole reports whether that is all of it: its jobs are made, all are done, and none is
// from before LevelOfSums.
func (v View) Sum(harvest, run uint64) (sum Sum, whole bool, err error) {
	sum, there, err := agree.Get[Sum](v.Reader, keySum(harvest, run))
	if err != nil || !there {
		return sum, false, err
	}
	r, err := runs.NewView(v.Reader).Run(harvest, run)
	if errors.Is(err, agree.ErrNotFound) {
		return sum, false, nil // jobs may name any run
	}
	return sum, err == nil && r.State == runs.Made && sum.Jobs == r.Jobs, err
}

// RunRef names a run.
type RunRef struct{ Harvest, Run uint64 }

// LastRuns returns at most n runs of which a job was done since the time, the latest first.
func (v View) LastRuns(since agree.Time, n int) (out []RunRef, err error) {
	tails, err := agree.Tails(v.Reader, prefixLast, "", n)
	for _, tail := range tails {
		var left uint64
		var of RunRef
		if _, err := fmt.Sscanf(tail, "%16x/%16x/%16x", &left, &of.Harvest, &of.Run); err != nil {
			return out, fmt.Errorf("catalog key %q: %w: %w", prefixLast+tail, errKey, err)
		}
		if agree.Time(endOfAll-left) < since {
			break
		}
		out = append(out, of)
	}
	return out, err
}

// Usual is what runs of a harvest usually bring.
type Usual struct {
	Runs           int // from which it is told
	Objects, Bytes int64
}

// What is usual is told from the last runs that are whole, from at least a few.
const (
	UsualOf    = 5
	usualLeast = 3
	usualLook  = 20 // runs that are looked at for these
)

// Usual returns the medians of the last UsualOf runs before one that are whole, of the last twenty; false if there are
// fewer than three, from which nothing can be told.
func (v View) Usual(harvest, before uint64) (Usual, bool, error) {
	var objects, bytes []int64
	for run := before; run > 1 && before-run < usualLook && len(objects) < UsualOf; {
		run--
		sum, whole, err := v.Sum(harvest, run)
		if err != nil {
			return Usual{}, false, err
		}
		if whole {
			objects, bytes = append(objects, sum.Objects), append(bytes, sum.Bytes)
		}
	}
	if len(objects) < usualLeast {
		return Usual{}, false, nil
	}
	return Usual{Runs: len(objects), Objects: median(objects), Bytes: median(bytes)}, true, nil
}

// median is the value in the middle; of an even number the mean of both.
func median(all []int64) int64 {
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	return low + (high-low)/2
}

// Differs reports whether a run brought under half or over three times what is usual, in objects or bytes.
func (u Usual) Differs(of Sum) bool { return far(of.Objects, u.Objects) || far(of.Bytes, u.Bytes) }

func far(is, usual int64) bool {
	return float64(is) < float64(usual)/2 || float64(is) > 3*float64(usual)
}
