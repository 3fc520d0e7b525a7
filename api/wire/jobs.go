package wire

import (
	"time"

	"holdfast/harvest"
)

// JobState is where a job stands.
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

// JobIndexKind is a kind of index of a set of jobs.
type JobIndexKind string

// The kinds of indexes of sets of jobs.
const (
	JobIndexCDX       JobIndexKind = "cdx"       // the lines of the metadata files' CDX
	JobIndexFull      JobIndexKind = "full"      // crawl.log and CDX together, duplicates where they are stored: CDXJ
	JobIndexDocuments JobIndexKind = "documents" // what later jobs are compared with: JSON
)

// JobIndex says of which jobs an index is.
type JobIndex struct {
	Jobs    []uint64 `json:"jobs"`    // that it has
	Missing []uint64 `json:"missing"` // that it was asked of: there is no metadata file of theirs that can be read now
	// Incomplete are those of Jobs of which the metadata file of an earlier attempt is lost.
	Incomplete []uint64 `json:"incomplete"`
	// Unmade are the first 100 runs of the harvest that it was asked of whose jobs are being made, or could not all
	// be made.
	Unmade []uint64 `json:"unmade"`
}

// JobStats is what an attempt of a job brought in.
type JobStats struct {
	Objects    int64  `json:"objects"` // documents that came; before level 4 also names of hosts, robots.txt, logins
	Bytes      int64  `json:"bytes"`   // of these, as received
	Failed     int64  `json:"failed"`
	Files      int    `json:"files"`      // files that entered the archive
	StopReason string `json:"stopReason"` // completed, object-limit, size-limit, time-limit, unfinished, …
}

// Job is one piece of a harvest run.
type Job struct {
	ID      uint64 `json:"id"`
	Harvest string `json:"harvest"`
	JobOrigin
	Collection string    `json:"collection"`
	Channel    string    `json:"channel,omitempty"`
	State      JobState  `json:"state" enum:"NEW,SUBMITTED,STARTED,DONE,FAILED,RESUBMITTED,FAILED_REJECTED"`
	Wish       Wish      `json:"wish,omitempty" enum:",pause,stop"`
	WishReason string    `json:"wishReason,omitempty"`
	WishBy     time.Time `json:"wishBy,omitzero" doc:"when a crawl that is to stop is cut off"`
	Attempt    int       `json:"attempt"`
	Node       string    `json:"node,omitempty"`
	NodeName   string    `json:"nodeName,omitempty"`
	Created    time.Time `json:"created"`
	Submitted  time.Time `json:"submitted,omitzero"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	Stats      JobStats  `json:"stats"`
	Reason     string    `json:"reason,omitempty" doc:"why the job failed, in a few words"`
	HarvestErr *JobError `json:"harvestError,omitempty" doc:"what went wrong in the crawl"`
	UploadErr  *JobError `json:"uploadError,omitempty" doc:"what went wrong when the files were brought into the archive"`
	Next       uint64    `json:"next,omitempty" doc:"the job that took over"`
	Seeds      []string  `json:"seeds" doc:"only in the answer about a single job; empty there if it has more than 10000"`
	Settings   *Settings `json:"settings,omitempty" doc:"only in the answer about a single job"`
	Note       string    `json:"note,omitempty" doc:"only in the answer about a single job, if it waits for a node that serves its channel, or a wish for it waits for its node"`
	Progress   *Progress `json:"progress,omitempty" doc:"only in the answer about a single running job whose node answers"`
}

// JobOrigin says of which run a job is.
type JobOrigin struct {
	HarvestID uint64 `json:"harvestid,omitempty" doc:"the harvest's number; none if the job was made by hand"`
	Run       uint64 `json:"run,omitempty" doc:"of the harvest"`
}

// JobError is an error of a job: in a few words, and all that is known.
type JobError struct {
	Short  string `json:"short"`
	Detail string `json:"detail,omitempty"`
}

// JobWish asks that a job pauses, runs on, or stops.
type JobWish struct {
	Wish   Wish             `json:"wish" enum:"run,pause,stop"`
	Reason string           `json:"reason,omitempty" maxLength:"500"`
	For    harvest.Duration `json:"for,omitempty" doc:"with stop: what is still in flight after this time is cut off; default: 10m"`
}

// JobRequest asks for a crawl.
type JobRequest struct {
	Harvest    string    `json:"harvest,omitempty" doc:"the harvest that the job belongs to; default: the job's name"`
	Collection string    `json:"collection,omitempty" doc:"collection; default: the cluster's first"`
	Channel    string    `json:"channel,omitempty" maxLength:"64" doc:"which nodes may take the job; default: FOCUSED"`
	Name       string    `json:"name" minLength:"1" maxLength:"100"`
	Seeds      []string  `json:"seeds" minItems:"1" maxItems:"10000"`
	Settings   *Settings `json:"settings,omitempty" doc:"the job's settings; a missing one has its default"`
}

// Settings are a job's crawl settings; in JSON, a missing setting has its default.
type Settings struct{ harvest.Settings }

// UnmarshalJSON reads settings over the defaults; an unknown key is refused with the nearest known one.
func (s *Settings) UnmarshalJSON(data []byte) error {
	settings, err := harvest.ParseSettings(data)
	s.Settings = settings
	return err
}

// Progress is the progress of a running crawl.
type Progress struct {
	Discovered int64   `json:"discovered" doc:"URIs found"`
	Queued     int64   `json:"queued"`
	Done       int64   `json:"done" doc:"URIs fetched successfully"`
	Failed     int64   `json:"failed"`
	Bytes      int64   `json:"bytes" doc:"bytes of content"`
	Rate       float64 `json:"rate" doc:"URIs a second"`
	Seconds    float64 `json:"seconds" doc:"since the attempt began"`
}

// RunningJobs are the jobs that run, with figures that their nodes gave for this answer.
type RunningJobs struct {
	At     time.Time    `json:"at" doc:"when the nodes were asked"`
	Jobs   []RunningJob `json:"jobs"`
	Silent []SilentNode `json:"silent" doc:"the nodes that did not answer; their jobs are listed without progress"`
}

// RunningJob is a job that runs.
type RunningJob struct {
	ID         uint64    `json:"id"`
	Harvest    string    `json:"harvest"`
	Collection string    `json:"collection"`
	Node       string    `json:"node"`
	NodeName   string    `json:"nodeName,omitempty"`
	State      string    `json:"state,omitempty" doc:"of the crawl: PREPARING, RUNNING, PAUSED, STOPPING or FINISHED; empty if the node does not answer"`
	Reason     string    `json:"reason,omitempty" doc:"of a pause or stop"`
	Progress   *Progress `json:"progress,omitempty"`
}

// SilentNode is a node that was asked and did not answer.
type SilentNode struct {
	Node   string `json:"node"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// JobDocument is one of the settings, reports and logs of a job that has ended.
type JobDocument struct {
	Folder string `json:"folder" enum:"settings,reports,logs"`
	Name   string `json:"name"`
	Type   string `json:"type" doc:"media type"`
	Size   int64  `json:"size" doc:"bytes"`
}

// JobOverlap is a domain of an unfinished job that other unfinished jobs crawl too.
type JobOverlap struct {
	Domain string   `json:"domain"`
	Jobs   []uint64 `json:"jobs" doc:"the numbers of the other jobs"`
}
