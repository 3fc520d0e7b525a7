// Package runs is the subject of harvests: which configurations of domains a harvest has, when it runs next, and how
// far each of its runs is. Dates are made by who proposes them, for a schedule is text to the catalog. It is pure and
// deterministic.
package runs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/jobs"
)

// Level is the level of a cluster that keeps harvests.
const Level = 4

// Kind says what a harvest is made of.
type Kind string

// The kinds of harvests.
const (
	Selective Kind = "selective" // configurations, by a schedule
	Event     Kind = "event"     // the same, made of seeds for an occasion
	Snapshot  Kind = "snapshot"  // the default configurations of all domains of its collection, once
)

// Harvest is the definition of a harvest.
type Harvest struct {
	Number     uint64                 `json:"number"` // is given once; NetarchiveSuite's harvestid
	Kind       Kind                   `json:"kind"`
	Collection cluster.CollectionName `json:"collection"`
	Index      uint64                 `json:"index"`   // of the command that made it
	Version    uint64                 `json:"version"` // grows with each change of the definition, not with runs
	Created    agree.Time             `json:"created"`
	Changed    agree.Time             `json:"changed"`
	By         string                 `json:"by"` // who changed it last

	Asked

	Configurations int64      `json:"configurations,omitempty"`
	Active         bool       `json:"active,omitempty"`
	Since          agree.Time `json:"since,omitempty"`   // it was activated last
	Next           agree.Time `json:"next,omitempty"`    // when it is due, while it is active
	Runs           uint64     `json:"runs,omitempty"`    // number of the last run
	Skipped        uint64     `json:"skipped,omitempty"` // dates that passed without a run
	Ended          bool       `json:"ended,omitempty"`   // no date follows
	Error          string     `json:"error,omitempty"`   // why it was deactivated, if the system did it
	Detail         string     `json:"detail,omitempty"`  // of the error
	Removing       bool       `json:"removing,omitempty"`
}

// From is the time from which the harvest's dates are counted: its start, or when it was activated if that was later.
func (h *Harvest) From() agree.Time { return max(h.Since, h.Start) }

// JobChannel is the channel of the harvest's jobs.
func (h *Harvest) JobChannel() string {
	switch {
	case h.Channel != "":
		return h.Channel
	case h.Kind == Snapshot:
		return jobs.Snapshot
	}
	return jobs.Focused
}

// Asked is what is said of a harvest that does not follow from its runs.
type Asked struct {
	Name     string               `json:"name"`               // no other harvest has it
	Channel  string               `json:"channel,omitempty"`  // empty: the default of its kind
	Schedule string               `json:"schedule,omitempty"` // of selective and event harvests
	Start    agree.Time           `json:"start,omitempty"`    // no date is before
	Objects  *int64               `json:"objects,omitempty"`  // of a snapshot: the most of each domain; nil: no limit
	Bytes    *int64               `json:"bytes,omitempty"`    // the same
	MaxTime  int64                `json:"maxTime,omitempty"`  // of a snapshot's job, in seconds; 0: no limit
	Earlier  uint64               `json:"earlier,omitempty"`  // number of the snapshot that it continues
	Audience string               `json:"audience,omitempty"`
	Comments string               `json:"comments,omitempty"`
	Fields   []domains.FieldValue `json:"fields,omitempty"` // by name
}

// Configuration names a configuration of a domain.
type Configuration struct {
	Domain domains.Name `json:"domain"`
	Name   string       `json:"name"`
}

// State says how far the making of a run's jobs is.
type State string

// The states of runs.
const (
	Splitting State = "splitting" // its jobs are being made
	Made      State = "made"      // all of its jobs are made
	Failed    State = "failed"    // some of its jobs could not be made
)

// Run is one run of a harvest. The catalog index of its beginning says which configurations it has: those made before.
type Run struct {
	Harvest uint64     `json:"harvest"`
	Number  uint64     `json:"number"` // from 1
	Date    agree.Time `json:"date"`   // that was due
	Begun   agree.Time `json:"begun"`
	Index   uint64     `json:"index"` // of the command that began it
	There   int64      `json:"there"` // configurations at that moment; of a snapshot the domains of its collection
	State   State      `json:"state"`
	Ended   agree.Time `json:"ended,omitempty"` // the making of its jobs

	Definition Asked  `json:"definition"`         // what was said of the harvest when the run began
	Schedule   string `json:"schedule,omitempty"` // its text then

	Jobs           uint64           `json:"jobs,omitempty"`
	Configurations int64            `json:"configurations,omitempty"` // in its jobs
	LeftOut        map[string]int64 `json:"leftOut,omitempty"`        // configurations, by reason
	// their domain was in an open job of another run then
	Busy      int64           `json:"busy,omitempty"`
	Gone      int64           `json:"gone,omitempty"`      // were deleted while its jobs were made
	GoneNames []Configuration `json:"goneNames,omitempty"` // of the first of these
	Error     string          `json:"error,omitempty"`
	Detail    string          `json:"detail,omitempty"`
}

// Bounds of what is said of a harvest.
const (
	maxName     = 200
	maxAudience = 2000
	maxComments = 4000
	maxReasons  = 20 // for which configurations are left out of a run
	maxDetail   = 4000
	MaxGone     = 100 // names of configurations that were deleted
)
