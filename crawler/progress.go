package crawler

import (
	"time"

	"holdfast/crawler/control"
	"holdfast/crawler/frontier"
)

// State is the state of a crawl, in Heritrix's terms.
type State = control.State

// The states of a crawl.
const (
	Preparing = control.Preparing
	Running   = control.Running
	Paused    = control.Paused
	Stopping  = control.Stopping
	Finished  = control.Finished
)

// Why a crawl ended by itself.
const (
	reasonObjects = "object-limit"
	reasonBytes   = "size-limit"
	reasonTime    = "time-limit"
)

// Progress is the live figures of a crawl.
type Progress struct {
	frontier.Counters
	URIsPerSecond float64 // finished, over the whole time it ran
	Elapsed       time.Duration
	State         State
	Reason        string // of a pause or stop
}

// Progress returns the figures now.
func (c *Crawl) Progress() Progress {
	at := c.course.Standing()
	p := Progress{Counters: c.frontier.Counters(), Elapsed: at.Elapsed, State: at.State, Reason: at.Reason}
	if s := p.Elapsed.Seconds(); s > 0 {
		p.URIsPerSecond = float64(p.Finished) / s
	}
	return p
}

// Pause lets URIs in flight end and begins no more, until Resume. A pause is not idleness: no limit of time runs on.
func (c *Crawl) Pause(reason string) {
	c.course.Pause(control.ForRunner, control.Hold{Reason: reason}, 0)
}

// Resume ends what Pause began. A pause by an operator's order, or because the disk is full, continues.
func (c *Crawl) Resume() { c.course.Resume(control.ForRunner, "") }

// Stop lets URIs in flight end and ends the crawl; Run then returns. The first reason counts.
func (c *Crawl) Stop(reason string) { c.course.Stop(reason, 0, "") }

// StopWithin is Stop, and what is in flight after that time is cut off.
func (c *Crawl) StopWithin(reason string, within time.Duration) { c.course.Stop(reason, within, "") }
