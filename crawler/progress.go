package crawler

import (
	"time"

	"holdfast/crawler/frontier"
)

// State is where a crawl stands, in Heritrix's words.
type State string

// The states of a crawl.
const (
	Preparing State = "PREPARING"
	Running   State = "RUNNING"
	Paused    State = "PAUSED"
	Stopping  State = "STOPPING"
	Finished  State = "FINISHED"
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
	counters := c.frontier.Counters()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := Progress{Counters: counters, Elapsed: c.running(), State: c.state, Reason: c.reason}
	if s := p.Elapsed.Seconds(); s > 0 {
		p.URIsPerSecond = float64(p.Finished) / s
	}
	return p
}

// Pause lets URIs in flight end and begins no more, until Resume.
func (c *Crawl) Pause(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Running || c.state == Preparing {
		c.setState(Paused)
		c.reason = reason
		c.frontier.Pause()
	}
}

// Resume ends a pause.
func (c *Crawl) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Paused {
		return
	}
	c.setState(Preparing)
	if c.ran {
		c.setState(Running)
	}
	c.reason = ""
	c.frontier.Resume()
}

// Stop lets URIs in flight end and ends the crawl; Run then returns. The first reason counts.
func (c *Crawl) Stop(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Stopping || c.state == Finished {
		return
	}
	c.setState(Stopping)
	c.reason = reason
	c.frontier.Stop()
}

// setState changes the state and keeps the clock of running time. The caller holds mu.
func (c *Crawl) setState(s State) {
	c.elapsed, c.since = c.running(), time.Time{}
	if s == Running || s == Stopping {
		c.since = time.Now()
	}
	c.state = s
}

// running is how long the crawl has run. The caller holds mu.
func (c *Crawl) running() time.Duration {
	if c.since.IsZero() {
		return c.elapsed
	}
	return c.elapsed + time.Since(c.since)
}

// checkLimits stops a crawl that has all it may have.
func (c *Crawl) checkLimits() {
	s := c.base()
	if s.MaxObjects > 0 && c.objects.Load() >= s.MaxObjects {
		c.Stop(reasonObjects)
	}
	if s.MaxBytes > 0 && c.frontier.Counters().Bytes >= s.MaxBytes {
		c.Stop(reasonBytes)
	}
}

// watchTime stops the crawl when its time is over.
func (c *Crawl) watchTime(done <-chan struct{}) {
	limit := c.base().MaxTime.Std()
	for limit > 0 {
		c.mu.Lock()
		left := limit - c.running()
		c.mu.Unlock()
		if left <= 0 {
			c.Stop(reasonTime)
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			return
		}
	}
}
