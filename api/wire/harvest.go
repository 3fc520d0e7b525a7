package wire

import (
	"time"

	"holdfast/harvest"
)

// HarvestState says how a harvest stands.
type HarvestState string

// The states of a harvest.
const (
	HarvestInactive  HarvestState = "inactive"
	HarvestWaiting   HarvestState = "waiting"   // for its next date
	HarvestSplitting HarvestState = "splitting" // the jobs of a run are being made
	HarvestBlocked   HarvestState = "blocked"   // it is due, and no node serves its channel
	HarvestFailed    HarvestState = "failed"    // the system deactivated it because of an error
	HarvestEnded     HarvestState = "ended"     // it has no further date
)

// Harvest is the definition of a harvest and how it stands.
type Harvest struct {
	Number     uint64       `json:"number" doc:"is given once"`
	Name       string       `json:"name"`
	Kind       string       `json:"kind" enum:"selective,event,snapshot"`
	Collection string       `json:"collection"`
	State      HarvestState `json:"state" enum:"inactive,waiting,splitting,blocked,failed,ended" doc:"waiting: for its next date; splitting: the jobs of a run are being made; blocked: it is due, and no node serves its channel; failed: it was deactivated because of an error; ended: it has no further date"`
	Version    uint64       `json:"version" doc:"grows with each change"`
	Created    time.Time    `json:"created"`
	Changed    time.Time    `json:"changed"`
	ChangedBy  string       `json:"changedBy,omitempty"`
	Channel    string       `json:"channel" doc:"which nodes take its jobs"`
	Schedule   string       `json:"schedule,omitempty" doc:"when it runs; snapshots run once"`
	Start      time.Time    `json:"start,omitzero" doc:"it does not run before"`
	Next       time.Time    `json:"next,omitzero" doc:"its next date, while it is active"`
	HarvestLimits
	Audience       string            `json:"audience,omitempty"`
	Comments       string            `json:"comments,omitempty"`
	Fields         map[string]string `json:"fields,omitempty" doc:"values of extended fields"`
	Missing        []string          `json:"missing,omitempty" doc:"mandatory fields without a value"`
	Configurations int64             `json:"configurations" doc:"how many it has; a snapshot has the default configurations of all domains of its collection"`
	Runs           uint64            `json:"runs" doc:"how often it has run"`
	Skipped        uint64            `json:"skipped" doc:"dates on which it did not run: nobody could begin a run, or it got another date when it was due"`
	Error          string            `json:"error,omitempty" doc:"why it was deactivated"`
	Detail         string            `json:"detail,omitempty" doc:"of the error"`
	LastRun        *HarvestRun       `json:"lastRun,omitempty"`
	Removing       bool              `json:"removing,omitempty" doc:"it is being deleted"`
}

// HarvestLimits is what is said of a snapshot alone.
type HarvestLimits struct {
	Objects   harvest.Limit    `json:"objects" doc:"of a snapshot: the most objects of each domain; null is no limit, 0 means that nothing may be fetched"`
	Bytes     harvest.Limit    `json:"bytes" doc:"of a snapshot: the most bytes of each domain; null is no limit, 0 means that nothing may be fetched"`
	MaxTime   harvest.Duration `json:"maxTime,omitzero" doc:"of a snapshot: the longest that a job may take; absent: no limit"`
	Continues uint64           `json:"continues,omitempty" doc:"number of the snapshot that it continues"`
}

// HarvestRequest makes a harvest.
type HarvestRequest struct {
	Name       string            `json:"name" minLength:"1" maxLength:"200" doc:"no other harvest may have it"`
	Kind       string            `json:"kind" enum:"selective,event,snapshot"`
	Collection string            `json:"collection,omitempty" maxLength:"64" doc:"default: the cluster's first"`
	Channel    string            `json:"channel,omitempty" maxLength:"64" doc:"default: the default channel for harvests of its kind"`
	Schedule   string            `json:"schedule,omitempty" maxLength:"64" doc:"when it runs; needed unless it is a snapshot"`
	Start      time.Time         `json:"start,omitzero" doc:"it does not run before"`
	Objects    *int64            `json:"objects,omitempty" minimum:"0" doc:"of a snapshot: the most objects of each domain"`
	Bytes      *int64            `json:"bytes,omitempty" minimum:"0" doc:"of a snapshot: the most bytes of each domain"`
	MaxTime    harvest.Duration  `json:"maxTime,omitzero" doc:"of a snapshot: the longest that a job may take"`
	Continues  uint64            `json:"continues,omitempty" doc:"of a snapshot: number of the snapshot that it continues"`
	Audience   string            `json:"audience,omitempty" maxLength:"2000"`
	Comments   string            `json:"comments,omitempty" maxLength:"4000"`
	Fields     map[string]string `json:"fields,omitempty" doc:"values of extended fields"`
}

// HarvestChange changes a harvest; what is not given stays.
type HarvestChange struct {
	Version   *uint64           `json:"version,omitempty" doc:"refuse the change if the harvest has another version by now"`
	Name      *string           `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Channel   *string           `json:"channel,omitempty" maxLength:"64" doc:"empty: the default channel for harvests of its kind"`
	Schedule  *string           `json:"schedule,omitempty" maxLength:"64"`
	Start     *time.Time        `json:"start,omitempty"`
	Objects   *int64            `json:"objects,omitempty" minimum:"0"`
	Bytes     *int64            `json:"bytes,omitempty" minimum:"0"`
	MaxTime   *harvest.Duration `json:"maxTime,omitempty"`
	Continues *uint64           `json:"continues,omitempty" minimum:"1"`
	Clear     []string          `json:"clear,omitempty" enum:"start,objects,bytes,maxTime,continues" maxItems:"5" doc:"what is to be taken away"`
	Audience  *string           `json:"audience,omitempty" maxLength:"2000"`
	Comments  *string           `json:"comments,omitempty" maxLength:"4000"`
	Fields    map[string]string `json:"fields,omitempty" doc:"new values of extended fields; an empty one takes the value away"`
}

// HarvestCopying asks for a copy of a harvest.
type HarvestCopying struct {
	Name string `json:"name" minLength:"1" maxLength:"200" doc:"name of the copy"`
}

// HarvestActivation activates a harvest.
type HarvestActivation struct {
	Version *uint64 `json:"version,omitempty" doc:"refuse it if the harvest has another version by now"`
}

// HarvestConfiguration is a configuration of a domain that a harvest has.
type HarvestConfiguration struct {
	Domain        string `json:"domain" minLength:"1" maxLength:"300"`
	Configuration string `json:"configuration,omitempty" maxLength:"64" doc:"default in a request: the domain's default configuration"`
}

// HarvestConfigurations are configurations that a harvest is to have, or not any more.
type HarvestConfigurations struct {
	Configurations []HarvestConfiguration `json:"configurations" minItems:"1" maxItems:"100" nullable:"false"`
}

// HarvestRun is one run of a harvest: its jobs are made of the configurations that there were when it began.
type HarvestRun struct {
	Number         uint64                 `json:"number" doc:"from 1"`
	State          string                 `json:"state" enum:"splitting,made,failed" doc:"splitting: its jobs are being made; made: all are; failed: some could not be made"`
	Date           time.Time              `json:"date" doc:"on which it was due"`
	Begun          time.Time              `json:"begun"`
	Ended          time.Time              `json:"ended,omitzero" doc:"the making of its jobs"`
	Jobs           uint64                 `json:"jobs"`
	Configurations int64                  `json:"configurations" doc:"in its jobs"`
	LeftOut        map[string]int64       `json:"leftOut,omitempty" doc:"how many configurations were left out, by reason"`
	Busy           int64                  `json:"busy,omitempty" doc:"configurations whose domain was in a job of another run that had not ended when the jobs were made"`
	There          int64                  `json:"there" doc:"configurations that the harvest had when the run began; of a snapshot, domains of its collection"`
	Gone           int64                  `json:"gone,omitempty" doc:"configurations that were removed before they were in a job"`
	GoneNames      []HarvestConfiguration `json:"goneNames,omitempty" doc:"the first 100 of these"`
	Waits          string                 `json:"waits,omitempty" doc:"what has to happen before its jobs can be made; this is no error"`
	Error          string                 `json:"error,omitempty" doc:"why some of its jobs could not be made"`
	Detail         string                 `json:"detail,omitempty" doc:"of the error"`
	Brought        *RunBrought            `json:"brought,omitempty" doc:"what its jobs brought that are done; missing before the first of them is, and of runs from before level 5"`
}

// RunBrought is what the jobs of a run brought that are done.
type RunBrought struct {
	Whole          bool      `json:"whole" doc:"all of its jobs are done; else jobs run, wait or failed"`
	Jobs           uint64    `json:"jobs" doc:"that are done"`
	Configurations int64     `json:"configurations" doc:"in these jobs"`
	Objects        int64     `json:"objects"`
	Bytes          int64     `json:"bytes"`
	Limited        int64     `json:"limited,omitempty" doc:"configurations that met a limit and were harvested completely before"`
	Silent         int64     `json:"silent,omitempty" doc:"configurations that brought nothing and brought something before"`
	Usual          *RunUsual `json:"usual,omitempty" doc:"what the last five whole runs before brought; missing if there are fewer than three"`
}

// RunUsual is what runs of a harvest usually bring.
type RunUsual struct {
	Runs    int   `json:"runs" doc:"from which it is told"`
	Objects int64 `json:"objects" doc:"the median"`
	Bytes   int64 `json:"bytes" doc:"the median"`
	Differs bool  `json:"differs" doc:"the run is whole and brought under half or over three times of one of these"`
}

// HarvestSettings say how harvests are split into jobs.
type HarvestSettings struct {
	Version  uint64 `json:"version" doc:"grows with each change; 0: nothing was changed"`
	Settings any    `json:"settings"`
}

// HarvestSeeds is what became of seeds that were given to an event harvest.
type HarvestSeeds struct {
	Lines          int64     `json:"lines" doc:"that were read, without empty ones and comments"`
	Seeds          int64     `json:"seeds" doc:"that were added to lists"`
	Known          int64     `json:"known" doc:"seeds that their lists had"`
	Domains        int64     `json:"domains" doc:"that were made"`
	Configurations int64     `json:"configurations" doc:"that the harvest did not have"`
	Bad            int64     `json:"bad" doc:"lines that could not be used"`
	BadLines       []BadLine `json:"badLines,omitempty" doc:"these lines"`
	Reason         string    `json:"reason,omitempty" doc:"why the rest of the list was not read"`
}

// HarvestPreview is what a harvest would do if a run began now.
type HarvestPreview struct {
	Jobs           int64            `json:"jobs" doc:"how many would be made"`
	Configurations int64            `json:"configurations" doc:"in all jobs"`
	Expected       int64            `json:"expected" doc:"objects that are expected of all jobs"`
	LeftOut        map[string]int64 `json:"leftOut,omitempty" doc:"how many configurations would be left out, by reason"`
	Busy           int64            `json:"busy" doc:"configurations whose domain is in an open job already"`
	BusyDomains    []string         `json:"busyDomains,omitempty" doc:"the first of these domains"`
	Channel        string           `json:"channel"`
	Served         bool             `json:"served" doc:"a node that crawls serves the channel"`
	Error          string           `json:"error,omitempty" doc:"why no jobs could be made; the rest is what was found until then"`
	First          []PreviewedJob   `json:"first" doc:"the first 1000 jobs"`
}

// PreviewedJob is a job that a harvest would make.
type PreviewedJob struct {
	Template       string        `json:"template" doc:"and its version"`
	Overlay        string        `json:"overlay,omitempty" doc:"stands for the settings that are laid over the template; jobs with the same have the same"`
	Bytes          harvest.Limit `json:"bytes" doc:"limit on bytes of each configuration"`
	Configurations int           `json:"configurations"`
	Expected       int64         `json:"expected" doc:"objects"`
}
