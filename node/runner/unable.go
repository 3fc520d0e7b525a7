package runner

import (
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
)

// Jobs that wait and that this node cannot crawl are looked at again after unableFor.
const unableFor = time.Minute

// unable are the waiting jobs that this node does not claim, because it cannot read what they ask for or lacks a
// program for it.
type unable struct {
	mu  sync.Mutex
	why map[uint64]inability
}

type inability struct {
	why string
	at  time.Time // when that was found
}

// known reports whether it was found a short time ago that this node cannot crawl the job.
func (u *unable) known(id uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	one, there := u.why[id]
	return there && time.Since(one.at) < unableFor
}

// note keeps why this node cannot crawl the job, and reports whether that is news.
func (u *unable) note(id uint64, why string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	news := u.why[id].why != why
	u.why[id] = inability{why, time.Now()}
	return news
}

// alerts says which jobs this node cannot crawl; those that were not found waiting for some time are forgotten.
func (u *unable) alerts() (all []alert.Alert) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, one := range u.why {
		if time.Since(one.at) > 2*unableFor {
			delete(u.why, id)
			continue
		}
		all = append(all, alert.New(alert.JobNotClaimed, alert.Number(id), "reason", one.why))
	}
	return all
}

// able reports whether this node can crawl a waiting job: its program can read what is asked for, and it has what is
// needed. Why it cannot is logged, and shown in its status.
func (c *Runner) able(v catalog.View, j *catalog.Job) bool {
	spec, err := v.Spec(j)
	if err == nil {
		err = c.cfg.Able(spec)
	}
	if err == nil {
		return true
	}
	if c.unable.note(j.ID, err.Error()) {
		c.log.Warn("job is not claimed by this node", "job", j.ID, "why", err)
	}
	return false
}
