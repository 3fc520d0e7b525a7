// Package jobs is the subject of harvesting: jobs, their states and attempts, and the secrets that were parted from
// their settings. It is pure and deterministic.
package jobs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/harvest"
)

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
	Objects    int64  `json:"objects"` // URIs fetched with success
	Bytes      int64  `json:"bytes"`   // bytes of content
	Failed     int64  `json:"failed"`
	Files      int    `json:"files"`      // files that entered the archive
	StopReason string `json:"stopReason"` // completed, object-limit, size-limit, time-limit, unfinished, …
}

// Job is one piece of a harvest run, given to one node at a time.
type Job struct {
	ID         uint64                 `json:"id"`
	Harvest    string                 `json:"harvest"` // the harvest definition's name
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Spec       harvest.Job            `json:"spec"`
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
	Secret     string                 `json:"secret,omitempty"` // that the spec refers to, while the job may run
}

// RecallNumber is the job's number: who asks again gets the job as it is by then.
func (j *Job) RecallNumber() uint64 { return j.ID }
