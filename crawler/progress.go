package crawler

import (
	"context"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
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

// holder is on whose behalf a crawl is paused. Each has a pause of its own, and the crawl goes on when there is none.
type holder int

const (
	forOperator holder = iota // an order
	forRunner                 // whoever runs the crawl: Pause and Resume
	forDisk
	holders
)

// hold is a pause.
type hold struct{ reason, by string }

// Pause lets URIs in flight end and begins no more, until Resume. A pause is not idleness: no limit of time runs on.
func (c *Crawl) Pause(reason string) { c.pause(forRunner, hold{reason: reason}, 0) }

// pause pauses; with a length of time, an operator's pause ends by itself after that.
func (c *Crawl) pause(who holder, why hold, length time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Running && c.state != Preparing && c.state != Paused {
		return
	}
	if c.state != Paused {
		c.note(report.NotePaused, why.reason)
		c.setState(Paused)
		c.frontier.Pause()
	}
	c.holds[who] = &why
	var deadline *time.Time
	if who == forOperator {
		deadline = c.setAlarm(length, func() { c.resume(who, "", &why) })
	}
	c.reason = c.whyPaused().reason
	c.publish(events.Event{Kind: events.Paused, Reason: why.reason, By: why.by, Deadline: deadline})
}

// whyPaused is the first of the pauses, nil if there is none. The caller holds mu.
func (c *Crawl) whyPaused() *hold {
	for _, h := range c.holds {
		if h != nil {
			return h
		}
	}
	return nil
}

// setAlarm has act called after a length of time, if there is one, instead of what was to be called before. It returns when that
// will be. The caller holds mu.
func (c *Crawl) setAlarm(length time.Duration, act func()) *time.Time {
	if c.alarm != nil {
		c.alarm.Stop()
	}
	c.alarm, c.until = nil, time.Time{}
	if length <= 0 {
		return nil
	}
	c.alarm = time.AfterFunc(length, act)
	c.until = time.Now().Add(length)
	until := c.until
	return &until
}

// Resume ends what Pause began. A pause by an operator's order, or for want of room on the disk, goes on.
func (c *Crawl) Resume() { c.resume(forRunner, "", nil) }

// resume ends the pause of who, if there is one; and only if it is this one, unless that is nil.
func (c *Crawl) resume(who holder, by string, only *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.holds[who]; c.state != Paused || h == nil || only != nil && only != h {
		return
	}
	c.holds[who] = nil
	if who == forOperator {
		c.setAlarm(0, nil)
	}
	if h := c.whyPaused(); h != nil {
		c.reason = h.reason
		c.publish(events.Event{Kind: events.Paused, Reason: h.reason, By: h.by})
		return
	}
	c.setState(Preparing)
	if c.ran {
		c.setState(Running)
	}
	c.reason = ""
	c.frontier.Resume()
	c.note(report.NoteRunning, "Running")
	c.publish(events.Event{Kind: events.Resumed, By: by})
}

// Stop lets URIs in flight end and ends the crawl; Run then returns. The first reason counts.
func (c *Crawl) Stop(reason string) { c.stopFor(reason, 0, "") }

// stopFor stops; with a length of time, what is still in flight after that is cut off, to be fetched when the crawl is opened again. A
// crawl that stops already may be given another length.
func (c *Crawl) stopFor(reason string, length time.Duration, by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Finished || c.state == Stopping && length <= 0 {
		return
	}
	deadline := c.setAlarm(length, func() { c.cutOff() })
	if c.state == Stopping {
		return
	}
	c.setState(Stopping)
	c.reason = reason
	c.frontier.Stop()
	c.note(report.NoteEnding, report.ExitStatus(reason, false))
	c.publish(events.Event{Kind: events.Stopping, Reason: reason, By: by, Deadline: deadline})
}

// cutOff ends what is in flight.
func (c *Crawl) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		c.cut(context.Canceled)
	}
}

// publish tells whoever listens what happened.
func (c *Crawl) publish(e events.Event) {
	if c.events != nil {
		c.events.Publish(e)
	}
}

// note writes a change of state into the progress log.
func (c *Crawl) note(change, message string) {
	if c.logs != nil {
		c.logs.Progress.Add(func(b []byte) []byte { return report.AppendNote(b, time.Now(), change, message) })
	}
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
