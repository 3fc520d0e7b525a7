package wire

import (
	"time"

	"holdfast/harvest"
)

// Statistic is what a job brought for a configuration of a domain. The last one of a job may have no domain: it sums up
// what counted for other domains.
type Statistic struct {
	Domain        string `json:"domain,omitempty"`
	Configuration string `json:"configuration,omitempty"`
	Objects       int64  `json:"objects" doc:"documents that came, without DNS, robots.txt and logins"`
	Bytes         int64  `json:"bytes" doc:"as received"`
	Stop          string `json:"stop,omitempty" doc:"why its harvest ended: completed, object-limit, size-limit, config-object-limit, config-size-limit, time-limit or unfinished"`

	MaxObjects harvest.Limit `json:"maxObjects,omitzero" doc:"the configuration's own limit, as it was; none: no limit"`
	MaxBytes   harvest.Limit `json:"maxBytes,omitzero" doc:"the configuration's own limit, as it was; none: no limit"`

	Best *BestHarvest `json:"best,omitempty" doc:"of a job's statistics: the best harvest of the configuration by now, from which the next one is planned, if it is another job's"`
}

// BestHarvest is the harvest of a configuration that was completed last, or else the one with most objects.
type BestHarvest struct {
	Job       uint64    `json:"job"`
	Received  time.Time `json:"received" doc:"when the job ended"`
	Completed bool      `json:"completed" doc:"it left nothing and met no limit"`
	Objects   int64     `json:"objects"`
	Bytes     int64     `json:"bytes"`
}

// DomainHistory is what one job brought for a domain.
type DomainHistory struct {
	Job       uint64    `json:"job"`
	HarvestID uint64    `json:"harvestid,omitempty" doc:"the number of the harvest; none: the job was made by hand"`
	Run       uint64    `json:"run,omitempty" doc:"of the harvest"`
	Harvest   string    `json:"harvest" doc:"the name of the harvest"`
	Received  time.Time `json:"received" doc:"when the job ended"`
	Statistic
}
