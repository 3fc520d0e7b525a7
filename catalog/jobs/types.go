// Package jobs is the subject of harvesting: jobs, their states and attempts, and the secrets that were parted from
// their settings. It is pure and deterministic.
package jobs

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfParts is the level from which on a job is a head and parts, and what it crawls is text to the catalog.
const LevelOfParts = 4

// JobState is a job's state, NetarchiveSuite's words.
type JobState string

// The states of a job.
const (
	JobNew            JobState = "NEW"
	JobSubmitted      JobState = "SUBMITTED"
	JobStarted        JobState = "STARTED"
	JobDone           JobState = "DONE"
	JobFailed         JobState = "FAILED"
	JobResubmitted    JobState = "RESUBMITTED"
	JobFailedRejected JobState = "FAILED_REJECTED"
)

// JobWish is what somebody wants of a running job.
type JobWish string

// The wishes.
const (
	WishRun   JobWish = ""
	WishPause JobWish = "pause"
	WishStop  JobWish = "stop"
)

// JobStats counts what an attempt of a job harvested.
type JobStats struct {
	Objects    int64  `json:"objects"` // documents that came; before level 4 also names of hosts, robots.txt, logins
	Bytes      int64  `json:"bytes"`   // of these, as received
	Failed     int64  `json:"failed"`
	Files      int    `json:"files"`      // files that entered the archive
	StopReason string `json:"stopReason"` // completed, object-limit, size-limit, time-limit, unfinished, …
}

// Job is one piece of a harvest run, given to one node at a time. From level 4 on it is a head: what it crawls
// stands in its parts, which never change. Before, it stands in Spec.
type Job struct {
	ID         uint64                 `json:"id"`
	Harvest    string                 `json:"harvest"` // the harvest definition's name
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Spec       json.RawMessage        `json:"spec,omitempty"` // a harvest.Job; none when there are Parts
	State      JobState               `json:"state"`
	Wish       JobWish                `json:"wish,omitempty"`
	WishReason string                 `json:"wishReason,omitempty"`
	Attempt    int                    `json:"attempt"` // 0 before the first claim
	Node       agree.NodeID           `json:"node,omitempty"`
	Created    agree.Time             `json:"created"`
	Submitted  agree.Time             `json:"submitted,omitempty"`
	Started    agree.Time             `json:"started,omitempty"`
	Ended      agree.Time             `json:"ended,omitempty"`
	Stats      JobStats               `json:"stats"`
	Reason     string                 `json:"reason,omitempty"` // of a failure
	Next       uint64                 `json:"next,omitempty"`   // the job that took over when RESUBMITTED
	Secret     string                 `json:"secret,omitempty"` // that the text refers to, while the job may run

	// Since level 4.
	Number       uint64     `json:"harvestid,omitempty"` // of the harvest definition; 0 when it was made by hand
	Run          uint64     `json:"run,omitempty"`       // of the harvest
	Parts        *Parts     `json:"parts,omitempty"`
	WishBy       agree.Time `json:"wishBy,omitempty"` // when a job that is to stop is cut off
	HarvestError *Fault     `json:"harvestError,omitempty"`
	UploadError  *Fault     `json:"uploadError,omitempty"`
	Statistics   int        `json:"statistics,omitempty"` // chunks of statistics of its attempt, once it has ended
}

// Parts says where the parts of a job are, and what is in them.
type Parts struct {
	Of             uint64       `json:"of"`    // the job that they were made for: this or an earlier one
	Count          int          `json:"count"` // they are numbered from 1
	Configurations int          `json:"configurations,omitempty"`
	Seeds          int          `json:"seeds,omitempty"`
	Bytes          int64        `json:"bytes"`              // of all texts
	Sum            agree.Digest `json:"sum"`                // of all parts, in their order
	Secrets        []string     `json:"secrets,omitempty"`  // that parts refer to, while the job may run
	Template       string       `json:"template,omitempty"` // of the settings, and its version, as default@3
}

// Fault is an error of a job: in a few words, and all that is known.
type Fault struct {
	Short  string `json:"short"`
	Detail string `json:"detail,omitempty"`
}

// Limits on a fault's texts.
const (
	maxShort  = 200
	maxDetail = 4000
)

// clipped returns the fault within its limits, nil when it says nothing.
func (f *Fault) clipped() *Fault {
	if f == nil || f.Short == "" && f.Detail == "" {
		return nil
	}
	return &Fault{Short: agree.Clip(f.Short, maxShort), Detail: agree.Clip(f.Detail, maxDetail)}
}

// Why says in a few words what is wrong with the job, and nothing when nothing is.
func (j *Job) Why() string {
	var all []string
	for _, f := range []*Fault{j.HarvestError, j.UploadError} {
		if f != nil {
			all = append(all, f.Short)
		}
	}
	if len(all) == 0 {
		return j.Reason
	}
	return strings.Join(all, "; ")
}

// AllSecrets names the secrets that the job's text refers to.
func (j *Job) AllSecrets() (all []string) {
	if j.Secret != "" {
		all = append(all, j.Secret)
	}
	if j.Parts != nil {
		all = append(all, j.Parts.Secrets...)
	}
	return slices.Clip(all)
}

// busy reports whether an attempt of the job may be under way.
func (j *Job) busy() bool { return j.State == JobSubmitted || j.State == JobStarted }

// RecallNumber is the job's number: who asks again gets the job as it is by then.
func (j *Job) RecallNumber() uint64 { return j.ID }
