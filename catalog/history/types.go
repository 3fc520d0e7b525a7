// Package history is the subject of what harvests brought: for each configuration of a domain the best history, from
// which the next harvest is planned, and for each domain the jobs that harvested it. It is made of the statistics of
// jobs that have ended, some at a time. It is pure and deterministic.
package history

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// Level is the level of a cluster that keeps histories.
const Level = 4

// Best is what the harvest brought from which most can be told about the next one of the same configuration.
type Best struct {
	Job       uint64     `json:"job"`
	At        agree.Time `json:"at"` // when the job ended
	Completed bool       `json:"completed,omitempty"`
	Objects   int64      `json:"objects"`
	Bytes     int64      `json:"bytes"`
}

// Earlier is how a configuration fared in a snapshot.
type Earlier struct {
	Job  uint64     `json:"job"`
	At   agree.Time `json:"at"`
	Stop string     `json:"stop"`

	// The configuration's own limits, as they were; nil: none.
	MaxObjects *int64 `json:"maxObjects,omitempty"`
	MaxBytes   *int64 `json:"maxBytes,omitempty"`
}

// Line is what one job brought for a domain.
type Line struct {
	Job      uint64 // its number
	Harvest  uint64 // 0: made by hand
	Run      uint64
	Name     string     // of the harvest, as the job has it
	Received agree.Time // when the job ended
	Cursor   string     // where it stands in the domain's history
	jobs.Statistic
}

// completed is the stop reason of a harvest that left nothing and met no limit.
const completed = "completed"

// better reports whether the harvest replaces the other one: a later completed one, else a completed one, else one with
// more objects. In whatever order many are compared, the same is left.
func (b *Best) better(than *Best) bool {
	switch {
	case b.Completed != than.Completed:
		return b.Completed
	case !b.Completed && b.Objects != than.Objects:
		return b.Objects > than.Objects
	case b.At != than.At:
		return b.At > than.At
	case b.Objects != than.Objects:
		return b.Objects > than.Objects
	case b.Bytes != than.Bytes:
		return b.Bytes > than.Bytes
	}
	return b.Job > than.Job
}
